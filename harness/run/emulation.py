"""One run from start to end: build, connect, send, watch, tear down. What it was worth is judged elsewhere."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from controllers.settings import make_flags
from harness.network import (
    CONTROLLER_ADDRESS,
    COUNTERS_MS,
    HYSTART,
    Children,
    Fabric,
    FabricOptions,
    Tcp,
    permit,
    require_rack_off,
    shaping,
)
from harness.network.cpulimit import HostGroups
from harness.run.controller import PORT, START_S, Controller
from harness.run.observation import (
    SAMPLES,
    Observation,
    Outage,
    ProcessorWatch,
    Say,
    measure_clock_offset,
    read_tcp_counters,
)
from harness.run.trace import watch
from harness.run.traffic import LOOK_S, LastingFlows, Traffic, Transfers, compute_unsent_bytes
from hedera.schemes import find_scheme as find_scheme
from record.errors import RunFailed
from record.files import name_owner
from record.spec import (
    KNOWN_TO_ALL,
    LINUX_INITIAL_WINDOW,
    LINUX_MIN_RTO_MS,
    SIGNALS,
    Disturbance,
    RunSpec,
    find_lasting,
)
from topos.links import Fault, find_links_down, list_cables, list_moments
from topos.network import NonBlocking, PlannedNetwork
from traffic.programs import sample_command

# It took 0.5 s at most in 6,946 kept runs of k = 4, and 11.8 s in one of k = 16, whose 320 switches call at once.
READY_DEADLINE = 15.0
"""Seconds the controller has to connect every switch and confirm its rules."""

# How long set-up takes, some 11 s, differs by microseconds between two machines, as their folders hold other files, and
# TCP multiplies microseconds. So the steps that matter begin at round moments of the guest's clock, whatever came
# before: one seed is one result. Counting has the coarser grid, so that its moment stays the same when a change of the
# code makes set-up a second longer.
READY_EVERY_S = 5.0
"""In virtual time counting begins at a multiple of this, in seconds of the guest's clock, once the network is ready and
its receivers listen."""
START_EVERY_S = 1.0
"""Switches connect, and traffic starts, at a multiple of this."""
SETTLE_S = 0.1
"""Between each such moment and what came before lies at least so much."""
# In a guest each look is calls of a kernel, which cost more than packets do, so runs without failures look less often
# (`harness.run.traffic.LOOK_S`).
LOOK_FOR_FAULTS_S = 0.05
"""A run with failures looks so often whether it is time for one."""
LAST_READING_S = 0.5
"""After the traffic the controller reads once more where the last flows went, which takes it so long."""


class Emulation:
    """One run: `carry_out` does everything once.

    What is seen of it goes into ``observation``. Its tools write into ``raw``, and have their sockets and databases in
    ``sockets``. ``run_as``: the user and group of the controller; None: ours. ``later_spec``: asked for the run's own
    spec when its network is ready.
    """

    def __init__(
        self,
        spec: RunSpec,
        observation: Observation,
        raw: Path,
        sockets: Path,
        say: Say,
        run_as: tuple[int, int] | None = None,
        later_spec: Callable[[], RunSpec] | None = None,
    ) -> None:
        self.spec = spec
        self.workload = spec.workload()
        self.observation = observation
        self._raw = raw
        self._sockets = sockets
        self._say = say
        self._run_as = run_as
        self._later_spec = later_spec
        # `shape_of` is what the spec asks for, and what the judge goes by, on a machine that cannot ask this kernel.
        # What this kernel can do of it is known only here: one that the user compiled of an older source has no eports.
        self._shape = shaping.as_kernel_can(shaping.shape_of(spec))

    def carry_out(self) -> None:
        """Build the network, send the traffic, tear it down. RunFailed says what went wrong."""
        spec, observation = self.spec, self.observation
        # What this kernel lacks is said before anything is built.
        shaping.require_shape(self._shape)
        if not spec.rack:
            require_rack_off(os.uname().release, of_guests=spec.time == "virtual")
        if not spec.hystart:
            HYSTART.write_text("0")  # in a guest, which `RunSpec` sees to
        groups = None if spec.host_cpu is None else HostGroups(name_owner(), spec.host_cpu, self._sockets)
        # The block is left in the opposite order: namespaces are released, processes are ended, then the kernel's list
        # of algorithms is as it was.
        with (
            permit(spec.congestion_control, self._sockets),
            Children() as children,
            Fabric(spec.network(), self._make_options(), self._sockets, children) as fabric,
        ):
            controller = self._start(fabric, children)
            # A guest that several runs share stops here, with its network ready. Each copy goes on with a run of its
            # own.
            if self._later_spec is not None:
                self.spec = spec = self._later_spec()
                self.workload = spec.workload()
            traffic: Traffic
            if (matrix := find_lasting(self.workload)) is None:
                traffic = Transfers(fabric, self.workload, spec, self._raw, children, groups)
            else:
                traffic = LastingFlows(fabric, matrix, spec, self._raw, children, groups)
            self._send(fabric, controller, traffic, children)
            if groups is not None:
                observation.throttled_s = groups.throttled_s()
                observation.environment |= groups.read_back()
            # The controller says itself which platform it is on. What `auto` chose might not be what runs.
            version = controller.find("start")[0]["platform_version"]
            observation.environment |= {"platform": spec.platform, "platform_version": version}
            clock = time.monotonic()
        observation.timing["teardown_s"] = time.monotonic() - clock
        observation.flows = traffic.flows
        # Files are read when all programs have ended and nothing writes any longer. What they tell of a flow says more
        # than that its client hung.
        observation.unfinished = traffic.collect() or observation.unfinished
        observation.troubles = traffic.troubles
        observation.collective = traffic.collective
        observation.clock_moved_s = measure_clock_offset() - observation.clock_offset
        observation.events, observation.log_bytes = controller.events, controller.log_bytes
        observation.restarts = controller.restarts

    def _make_options(self) -> FabricOptions:
        spec = self.spec
        # Programs of traffic that comes and goes set this for each of their own sockets (`harness.hosts.connections`).
        unsent = None if find_lasting(self.workload) is None else compute_unsent_bytes(spec.link_mbps)
        # Routes are changed only where the spec differs from Linux's own values, so that other runs have a stock route.
        min_rto_ms = None if spec.min_rto_ms == LINUX_MIN_RTO_MS else spec.min_rto_ms
        window = None if spec.initial_window == LINUX_INITIAL_WINDOW else spec.initial_window
        tcp = Tcp(
            spec.congestion_control, unsent, spec.sack, spec.rack, spec.tail_loss_probes, min_rto_ms, window,
            one_by_one=spec.pacer is not None,
        )  # fmt: skip
        # Processors of a slow machine are not to be spent on counters. In virtual time Open vSwitch renews them four
        # times between two readings, so that a reading is never of one long ago: a quarter of the period, in ms.
        counters_ms = min(COUNTERS_MS, round(spec.reading_s * 250)) if spec.time == "virtual" else COUNTERS_MS
        # Hosts that know all others' addresses need none to be asked for, but that grows with the square of their
        # number.
        matrix, pairs = self.workload.matrix, None
        if matrix is not None and spec.network().num_hosts > KNOWN_TO_ALL:
            pairs = frozenset(zip(matrix.src.tolist(), matrix.dst.tolist(), strict=True))
        return FabricOptions(self._shape, tcp, spec.controller_delay_ms or 0.0, counters_ms, pairs)

    def _start(self, fabric: Fabric, children: Children) -> Controller:
        """Controller and network, side by side, until every switch is connected and every port limited."""
        clock = time.monotonic()
        self._say("building")
        spec = self.spec
        options = {
            **make_flags(spec),
            "scheme": find_scheme(spec.scheme).absolute,  # the controller stands in another folder
        }
        rows = spec.topo.rows() if isinstance(spec.topo, PlannedNetwork) else None
        # The controller takes seconds to start, so it starts while the network is built.
        controller = Controller(
            spec.platform,
            CONTROLLER_ADDRESS,
            fabric.control_namespace,
            options,
            self._raw,
            children,
            self._run_as,
            rows,
        )
        fabric.build()
        # Label and controller are tied together: what runs has to say itself that it is what was asked for.
        started = controller.wait_for("start", START_S)
        if (started["scheme"], started["platform"]) != (options["scheme"], spec.platform):
            raise RunFailed(
                f"asked for {spec.scheme} on {spec.platform}, but {started['scheme']} on {started['platform']} runs"
            )
        # Not before the controller listens: a switch that is refused tries again only after a second, and which of them
        # came first would be chance.
        if spec.time == "virtual":
            wait_for_moment(START_EVERY_S)
        fabric.connect(PORT)
        self.observation.timing["build_s"] = time.monotonic() - clock
        ready = controller.wait_for("ready", READY_DEADLINE)
        if ready["switches"] != fabric.topo.num_switches:
            raise RunFailed(f"the controller counts {ready['switches']} switches, not {fabric.topo.num_switches}")
        # Packets that were lost until now, while the network was set up, are no run's: asking begins to count anew.
        fabric.lost_packets()
        self.observation.timing["ready_s"] = time.monotonic() - clock
        return controller

    def _send(self, fabric: Fabric, controller: Controller, traffic: Traffic, children: Children) -> None:
        spec, observation = self.spec, self.observation
        # What receives is ready before anything is sent, because a connection for which nobody listens is refused.
        traffic.listen()
        if spec.time == "virtual":
            wait_for_moment(READY_EVERY_S)
        # bwm-ng is there before the traffic, so that its first second is sampled, too.
        counting = sample_command(fabric.not_ports(), self._raw / SAMPLES)
        children.spawn("bwm-ng", counting, namespace=fabric.open_vswitch.namespace)
        # The kernel counts from the making of a namespace on. What it counted until here is taken off at the end.
        tcp_before = read_tcp_counters(fabric)
        observation.clock_offset = measure_clock_offset()
        with ProcessorWatch() as processors, watch(fabric, spec, self._raw) as trace:
            clock = time.monotonic()
            self._say("sending")
            if spec.time == "virtual":
                wait_for_moment(START_EVERY_S)
            observation.begin = traffic.start()
            if trace is not None:
                trace.begin = observation.begin
            faults = LinkFaults(fabric, spec.faults, observation.begin)
            disturber = ControllerFaults(spec.disturbances, controller)

            def tick() -> None:
                faults.tick()
                disturber.tick(time.time() - observation.begin)
                controller.supervise()

            something_fails = spec.faults or spec.disturbances
            observation.unfinished = traffic.wait(tick, LOOK_FOR_FAULTS_S if something_fails else LOOK_S)
            observation.outages = faults.outages
            self.observation.timing["traffic_s"] = time.monotonic() - clock
        self._say("finishing")
        # Who has died is asked before programs are ended below, and TCP's counters are read while they still belong to
        # the traffic alone.
        observation.cpu_times, observation.cpu_idle = processors.times, processors.idle_percent
        observation.controller_lost = controller.lost
        # Clients end by themselves, and why a controller was lost is told already.
        reported = ("client", *(("controller",) if controller.lost else ()))
        observation.dead_programs = [name for name in children.dead() if not name.startswith(reported)]
        tcp_after = read_tcp_counters(fabric)
        tcp_after.subtract(tcp_before)
        observation.tcp = dict(tcp_after)
        traffic.hang_up()
        children.end(children.named("bwm-ng"))
        # Flows that the switches place by themselves are known to the controller only when it reads their counters. It
        # gets the time for one more reading.
        if spec.new_flows == "switch":
            time.sleep(spec.reading_s + LAST_READING_S)
        controller.read()
        # Limits are looked at once more: links that had lost theirs during the run would make wonderful results.
        fabric.verify()
        observation.drops = fabric.queue_drops()
        if spec.phantom or spec.pacer:
            observation.hull = fabric.marked_and_paced()
        # A cable out of service loses packets; that is not the machine's fault.
        observation.lost_packets = {} if spec.fail else fabric.lost_packets()


def wait_for_moment(every_s: float) -> None:
    """Sleep until a whole number of ``every_s`` of a guest's clock: what follows does not depend on the microseconds
    that came before, which differ by what the machine's folders hold."""
    up_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    time.sleep(every_s * math.ceil((up_s + SETTLE_S) / every_s) - up_s)


class LinkFaults:
    """Breaks the network as ``--fail`` asks for it, and mends it: call `tick` often while the traffic
    runs, which began at ``begin`` (seconds since the epoch).

    ``outages`` says what was out of service from when on, as it happened. The control network has none of the
    fat-tree's cables, and nothing happens to it.
    """

    def __init__(self, fabric: Fabric, faults: Sequence[Fault], begin: float) -> None:
        self._fabric = fabric
        self._faults = faults
        self._begin = begin
        self._left = list_moments(faults) if not isinstance(fabric.topo, NonBlocking) else []
        self.outages: list[Outage] = []

    def tick(self) -> None:
        tree = self._fabric.topo
        while self._left and time.time() - self._begin >= self._left[0]:
            before = self.outages[-1].links if self.outages else frozenset()
            now = find_links_down(self._faults, tree, self._left.pop(0))
            t = time.time() - self._begin
            self._fabric.set_cables(list_cables(tree, now - before), up=False)
            self._fabric.set_cables(list_cables(tree, before - now), up=True)
            self.outages.append(Outage(t, now))


class ControllerFaults:
    """Does what is due to the controller that runs then; call `tick` often with the seconds since the start."""

    def __init__(self, disturbances: Sequence[Disturbance], controller: Controller) -> None:
        self._left = list(disturbances)
        self._controller = controller

    def tick(self, t: float) -> None:
        # The whole group of processes gets the signal: a controller may have been started by others (`confined`), and
        # these must not outlive it. One that has ended already cannot be disturbed.
        while self._left and t >= self._left[0].at:
            number = SIGNALS[self._left.pop(0).how]
            if self._controller.process.poll() is None:
                os.killpg(self._controller.process.pid, number)
