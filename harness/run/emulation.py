"""One run from start to end: build, connect, send, watch, tear down. What it was worth is judged elsewhere."""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from controllers.settings import flags_of
from harness.errors import RunFailed
from harness.network import shaping
from harness.network.bunching import bunched
from harness.network.congestion import permitted
from harness.network.cpulimit import HostGroups
from harness.network.fabric import CONTROLLER_ADDRESS, Fabric, FabricOptions
from harness.network.grace_periods import EXPEDITED
from harness.network.machine import instances_for
from harness.network.processes import Children
from harness.run import tcp_counters
from harness.run.controller import PORT, START_S, Controller
from harness.run.disturbance import Disturber
from harness.run.injection import Injector
from harness.run.observation import Observation, Say
from harness.run.programs import Programs
from harness.run.ranks import Ranks
from harness.run.round_trips import RoundTrips
from harness.run.senders import Senders, unsent_bytes
from harness.run.spec import LINUX_MIN_RTO_MS, RunSpec, lasting
from harness.run.transfers import Transfers
from harness.run.watch import ClockWatch, ProcessorWatch, clock_offset
from hedera.schemes import scheme as find_scheme
from results.temporary import owner_name
from topos.network import Network
from traffic.bwmng import parse_samples, sample_command

READY_DEADLINE = 15.0
"""Seconds the controller has to connect every switch and confirm its rules."""

LAST_READ_S = 0.5
"""After the end of the traffic the controller reads once more where the last flows went: that takes it so long."""


class Emulation:
    """One run: `carry_out` does everything once.

    Its tools write into ``raw``, and have their sockets and databases in ``sockets``.
    """

    def __init__(self, spec: RunSpec, raw: Path, sockets: Path, say: Say) -> None:
        self.spec = spec
        self.workload = spec.workload()
        self.seen = Observation()
        self.timing: dict[str, float] = {}
        self.environment: dict[str, Any] = {}
        self._raw = raw
        self._sockets = sockets
        self._say = say

    def carry_out(self) -> None:
        """Build the network, send the traffic, tear it down. RunFailed says what went wrong."""
        topo = self.spec.network()
        if self.spec.marks:
            shaping.require_marking()
        share = 4 / self.spec.k**3
        with (
            ClockWatch() as clock_watch,
            bunched(self._sockets, self.spec.datapath) as self.seen.bunches,
            permitted(self.spec.congestion_control, self._sockets),
            HostGroups(owner_name(), share, self._sockets) as groups,
            ExitStack() as teardown,
            Children() as children,
            Fabric(topo, self._options(topo), self._sockets, children) as fabric,
        ):
            controller = self._start(fabric, children)
            with_all = (self.spec, self._raw, children, groups)
            matrix = lasting(self.workload)
            senders: Senders | Programs
            if matrix is not None:
                senders = Senders(fabric, matrix, *with_all)
            elif self.workload.graph is not None:
                senders = Ranks(fabric, self.workload, *with_all)
            else:
                senders = Transfers(fabric, self.workload, *with_all)
            self._send(fabric, controller, senders, children)
            self.seen.throttled_s = groups.throttled_s()
            clock = time.monotonic()
            teardown.enter_context(EXPEDITED.changed_where_allowed("1", self._sockets))
        self.seen.clock_set_s = clock_watch.set_s
        self.timing["teardown_s"] = time.monotonic() - clock
        self.environment = {
            "datapath": self.spec.datapath,
            "openvswitch_instances": fabric.options.instances,
            "limiter": fabric.options.shape.limiter,
            "platform": self.spec.platform,
            "platform_version": controller.find("start")[0]["platform_version"],
            "host_cpu_limit": share if groups.applied else None,
            "host_cpu_limit_reason": groups.reason,
        }
        self.seen.flows = senders.flows
        self.seen.unfinished = senders.collect() or self.seen.unfinished
        self.seen.troubles = senders.troubles
        self.seen.collective = senders.collective if isinstance(senders, Programs) else None
        self.seen.clock_offset = clock_offset()
        self.seen.events = controller.events
        self.seen.restarts = controller.restarts

    def _options(self, topo: Network) -> FabricOptions:
        spec = self.spec
        shape = shaping.of_run(spec, bunches=self.seen.bunches)
        lasts = lasting(self.workload) is not None
        return FabricOptions(
            self.spec.datapath,
            instances_for(self.spec.datapath, topo),
            shape,
            spec.congestion_control,
            unsent_bytes(spec.link_mbps) if lasts else None,
            spec.controller_delay_ms or 0.0,
            spec.sack,
            None if spec.min_rto_ms == LINUX_MIN_RTO_MS else spec.min_rto_ms,
        )

    def _start(self, fabric: Fabric, children: Children) -> Controller:
        """Controller and network, side by side, until every switch is connected and every port limited."""
        clock = time.monotonic()
        self._say("building")
        spec = self.spec
        options = {
            **flags_of(spec),
            "scheme": find_scheme(spec.scheme).absolute,  # the controller stands in another folder
        }
        controller = Controller(
            self.spec.platform, CONTROLLER_ADDRESS, fabric.control.pid, options, self._raw, children
        )
        fabric.build()
        started = controller.wait_for("start", START_S)
        if (started["scheme"], started["platform"]) != (options["scheme"], spec.platform):
            raise RunFailed(
                f"asked for {spec.scheme} on {spec.platform}, but {started['scheme']} on {started['platform']} runs"
            )
        fabric.connect(PORT)
        self.timing["build_s"] = time.monotonic() - clock
        ready = controller.wait_for("ready", READY_DEADLINE)
        if ready["switches"] != fabric.topo.num_switches:
            raise RunFailed(f"the controller counts {ready['switches']} switches, not {fabric.topo.num_switches}")
        fabric.make_room()
        self.timing["ready_s"] = time.monotonic() - clock
        return controller

    def _send(self, fabric: Fabric, controller: Controller, senders: Senders | Programs, children: Children) -> None:
        """The traffic, and everything that watches it."""
        senders.listen()
        outputs = []
        for instance in fabric.instances:
            output = self._raw / f"bwm-ng-{instance.number}.csv"
            outputs.append(output)
            children.spawn("bwm-ng", sample_command(fabric.interfaces_of(instance), output), namespace=instance.pid)
        forwarding = {f"ovs-vswitchd {i.number}": i.switchd.pid for i in fabric.instances}
        tcp_before = tcp_counters.of_hosts(fabric)
        round_trips = RoundTrips(fabric) if isinstance(senders, Senders) else None
        with ProcessorWatch(forwarding) as processors, round_trips or nullcontext():
            clock = time.monotonic()
            self._say("sending")
            self.seen.begin = senders.start()
            faults = Injector(fabric, self.spec.faults, self.seen.begin)
            disturber = Disturber(self.spec.disturbances, controller)

            def tick() -> None:
                faults.tick()
                disturber.tick(time.time() - self.seen.begin)
                controller.supervise()

            self.seen.unfinished = senders.wait(tick)
            disturber.finish()
            self.seen.outages = faults.outages
            self.timing["traffic_s"] = time.monotonic() - clock
        self._say("finishing")
        self.seen.cpu_times, self.seen.cpu_idle = processors.times, processors.idle_percent
        self.seen.cpu_waiting = processors.waiting_percent
        self.seen.looks = round_trips.looks if round_trips else []
        self.seen.lost = controller.lost
        said = ("client", "sender", "rank", *(("controller",) if controller.lost else ()))
        self.seen.dead = [name for name in children.dead() if not name.startswith(said)]
        self.seen.tcp = tcp_counters.of_hosts(fabric)
        self.seen.tcp.subtract(tcp_before)
        senders.hang_up()
        children.end(children.named("bwm-ng"))
        if self.spec.new_flows == "switch":
            time.sleep(self.spec.interval_s + LAST_READ_S)
        controller.read()
        fabric.verify()
        self.seen.drops = fabric.queue_drops()
        # A cable out of service loses packets; that is not the machine's fault.
        self.seen.lost_packets = {} if self.spec.fail else fabric.lost()
        for output in outputs:
            try:
                self.seen.series.update(parse_samples(output.read_text(errors="replace")))
            except (OSError, ValueError) as error:
                raise RunFailed(f"what bwm-ng wrote cannot be used: {error}") from None
