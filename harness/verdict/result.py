"""From what was observed of a run to its result: rates, paths, prediction, what scheduling cost, verdict."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from statistics import median

import msgspec
import numpy as np
from numpy.typing import NDArray

from harness.run import Event, Observation, read_observation
from harness.verdict.flows import MeasuredFlow, Window, count_acknowledgement_streams
from harness.verdict.measured_run import LONG_FLOW_S, MeasuredRun, Recovery
from harness.verdict.rules import Evidence, FullLinkRates, find_doubted_links, find_full_links, judge, list_placed_links
from record.errors import TRACEBACK, RunFailed, describe_error, to_one_line
from record.run import SCHEMA, Cpu, Disagreement, Rates, Restart, Run, Settings, Timing, mean_over
from record.spec import RunSpec
from topos.links import link_rates, list_sending_ports
from topos.network import Network
from traffic.programs import Series

COUNTED = ("processor_s", "packet_ins", "packet_outs", "flow_mods", "statistics_requests", "statistics_bytes")
"""What a controller counts of its own work."""
OF_ONE_RUN = ("scheme", "traffic", "trial", "seed")
"""Fields of a spec that differ between the runs of a sweep. They stand beside the settings in run.json."""


def make_unmeasured_run(spec: RunSpec) -> Run:
    """A run of which nothing is known yet but what it was asked to be."""
    standing = spec.workload().standing
    return Run(
        schema=SCHEMA,
        scheme=spec.scheme,
        traffic=spec.traffic,
        trial=spec.trial,
        seed=spec.seed,
        started=datetime.now(timezone.utc).replace(microsecond=0),
        capacity_mbps=spec.capacity_mbps,
        window_s=spec.window_s,
        spec=Settings(**{name: value for name, value in spec.as_json().items() if name not in OF_ONE_RUN}),
        matrix=tuple(zip(standing.src.tolist(), standing.dst.tolist(), strict=True)),
        bisection_mbps=None,
        verdict="invalid",
        reasons=(),
        flows=(),
    )


def make_failed_run(spec: RunSpec, *reasons: str) -> Run:
    return msgspec.structs.replace(
        make_unmeasured_run(spec), reasons=tuple(to_one_line(reason, most=1000) for reason in reasons)
    )


def judge_files(spec: RunSpec, folder: Path) -> Run:
    """The result of a run whose files, as the guest or root's process left them, are in ``folder``. ValueError, one
    sentence, where what was seen cannot be read."""
    observation = read_observation(folder)
    if observation.failed is not None:
        run = make_failed_run(spec, observation.failed)
    else:
        try:
            run = make_result(spec, observation)
        except Exception as error:  # noqa: BLE001, a run that cannot be judged does not count
            (folder / TRACEBACK).write_text("".join(traceback.format_exception(error)))
            run = make_failed_run(spec, describe_error(error))
    timing = Timing(**{name: round(value, 3) for name, value in observation.timing.items()})
    return msgspec.structs.replace(run, started=observation.started, timing=timing, environment=observation.environment)


def make_result(spec: RunSpec, observation: Observation) -> Run:
    """The result of a run by what was observed of it. Raises RunFailed when a host was not sampled."""
    measured = MeasuredRun(spec, observation)
    topo, flows, window = measured.topo, measured.flows, measured.window
    counters = Counters(topo, observation.series, observation.begin)
    # The log is a user's controller's, which may say anything: a core that is not there would be an index out of range
    # below.
    _check_cores(topo, observation.events)
    recovery = Recovery(topo, spec, observation.outages, flows)
    ports = counters.means(window)
    if measured.has_lasting_flows:
        full = find_full_links(topo, spec, flows, observation.outages, counters.sent)
    else:
        # Where flows come and go hardly a link is full from the beginning to the end of the window.
        full = FullLinkRates(window, {}, f"flows come and go, and none of them has to take {LONG_FLOW_S:g} s")

    def average_total(window: Window) -> float:
        return mean_over(counters.times, counters.total_mbps, window)

    evidence = Evidence(
        spec=spec,
        port_mbps=ports,
        measured_mbps=counters.received_mbps(window),
        counted_mbps=counters.received_mbps(counters.span),
        payload_mbps=sum(flow.mean_mbps(counters.span) for flow in flows),
        predicted_mbps=measured.fair.total_mbps,
        full=full,
        placed_links=list_placed_links(topo, spec, flows, window, ports),
        # A flow that had no path cannot be blamed for what it did not send.
        unfinished_flows=[flow for flow in observation.unfinished if flow.split(" (")[0] not in recovery.cut_off],
        lost_packets=None if spec.fail else observation.lost_packets,
        window=window,
        dead_processes=observation.dead_programs,
        overhead_mbps=measured.handshakes_mbps(counters.span) + measured.repeated_mbps + measured.reordering_mbps,
        spread_mbps=measured.spread_mbps(ports),
        progress=measured.progress,
        rounds=measured.rounds_done,
        relative_rates=dict(zip(list_sending_ports(topo), link_rates(topo).tolist(), strict=True)),
    )
    judgement = judge(evidence, _list_doubts(observation, measured))
    if observation.controller_lost is None and (why_too_short := measured.why_too_short):
        judgement = replace(judgement, verdict="invalid", reasons=(why_too_short,))
    return msgspec.structs.replace(
        make_unmeasured_run(spec),
        window_s=spec.window_s if measured.has_lasting_flows else (round(window[0], 3), round(window[1], 3)),
        bisection_mbps=round(evidence.measured_mbps, 3),
        maxmin_mbps=round(evidence.predicted_mbps, 3),
        payload_mbps=round(sum(flow.mean_mbps(window) for flow in flows), 3),
        bound_mbps=_compute_bound(measured),
        verdict=judgement.verdict,
        reasons=judgement.reasons,
        remarks=(*judgement.remarks, *_describe_held_back(observation)),
        rules=judgement.rules,
        rates=Rates(
            t=_round_all(counters.times),
            total_mbps=_round_all(counters.total_mbps),
            hosts={name: _round_all(port.out_mbps[: counters.samples]) for name, port in counters.received.items()},
        ),
        links={name: round(rate, 3) for name, rate in sorted(ports.items())},
        ack_streams={
            port: round(streams, 3)
            for port, streams in zip(
                list_sending_ports(topo), count_acknowledgement_streams(topo, flows, window).tolist(), strict=True
            )
            if streams > 0.0005
        },
        full_links=full.record(),
        disagreements={
            link.port: Disagreement(flows_mbps=round(link.delivered_mbps, 3), counter_mbps=round(link.carried_mbps, 3))
            for link in find_doubted_links(evidence)
        },
        queue_drops={name: drops for name, drops in sorted(observation.drops.items()) if drops},
        flows=tuple(flow.record(window, end) for flow, end in zip(flows, measured.fair.end.tolist(), strict=True)),
        completion=measured.completion,
        progress=None if measured.progress is None else round(measured.progress, 4),
        turns=measured.turns,
        collective=observation.collective,
        cpu=Cpu(
            t=tuple(round(t - observation.begin, 3) for t in observation.cpu_times),
            idle_percent=_round_all(observation.cpu_idle),
        ),
        rounds=measured.rounds,
        costs=measure_costs(observation, flows, measured.end),
        lost_packets=observation.lost_packets,
        throttled_s=observation.throttled_s,
        controller_restarts=_list_restarts(observation),
        failures=recovery.failures() if spec.fail else (),
        phases=recovery.phases(average_total, lambda window: measured.fair_in(window).total_mbps) if spec.fail else (),
    )


def _compute_bound(measured: MeasuredRun) -> float | None:
    pairs = [(flow.emulated.src, flow.emulated.dst) for flow in measured.flows]
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    bound = measured.spec.bound_mbps(*ends) if measured.has_lasting_flows else None
    return None if bound is None else round(bound, 3)


def _list_doubts(observation: Observation, measured: MeasuredRun) -> list[str]:
    errors = [event["message"] for event in observation.events if event["event"] == "error"]
    lost = [] if observation.controller_lost is None else [observation.controller_lost]
    return [*lost, *(f"the controller reported an error: {message}" for message in errors[:3]), *measured.reasons()]


def _describe_held_back(observation: Observation) -> Iterator[str]:
    if observation.throttled_s:
        host, most_s = max(observation.throttled_s.items(), key=lambda item: item[1])
        yield f"--host-cpu held back {len(observation.throttled_s)} hosts, {host} the longest: for {most_s:.1f} s"


def _check_cores(topo: Network, events: Sequence[Event]) -> None:
    cores = {event["core"] for event in events if event["event"] in ("flow", "reroute")}
    if strange := cores - set(range(topo.num_cores)):
        raise RunFailed(f"the controller sent flows by way of core {min(strange)}, which is not there")


def _list_restarts(observation: Observation) -> tuple[Restart, ...]:
    """When a controller was missed, and when the next one had every switch under control again."""
    records = []
    for restart in observation.restarts:
        after = [event for event in observation.events if event["t"] > restart.t]
        ready = next((event["t"] for event in after if event["event"] == "ready"), None)
        records.append(
            Restart(
                t=round(restart.t - observation.begin, 3),
                reason=restart.reason,
                ready_t=None if ready is None else round(ready - observation.begin, 3),
                adopted=sum(event.get("reason") == "adopted" for event in after),
            )
        )
    return tuple(records)


def _round_all(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(float(value), 3) for value in values)


class Counters:
    """Samples by port, with times in seconds since ``begin`` (epoch). Rates are on the wire: whole frames, what is
    sent again and acknowledgements of the other direction included.

    ``sent``: (ends of the samples, Mb/s sent) by sending port; a host stands for its own port.
    Raises RunFailed when a host was not sampled.
    """

    def __init__(self, topo: Network, series: Mapping[str, Series], begin: float) -> None:
        ports = {link.lower: link.upper_end for link in topo.links()}
        missing = [host for host in topo.hosts if ports[host] not in series or not len(series[ports[host]].t)]
        if missing:
            raise RunFailed(f"bwm-ng has no samples for {len(missing)} hosts: {', '.join(missing[:4])}")
        self._begin = begin
        self.received = {host: series[ports[host]] for host in topo.hosts}
        self.sent = {name: (samples.t - begin, samples.out_mbps) for name, samples in series.items()}
        # What a host sends shows in what enters its switch.
        self.sent |= {host: (samples.t - begin, samples.in_mbps) for host, samples in self.received.items()}
        self.samples = min(len(samples.t) for samples in self.received.values())
        first = next(iter(self.received.values()))
        self.times: NDArray[np.float64] = first.t[: self.samples] - begin
        self.total_mbps: NDArray[np.float64] = np.sum(
            [samples.out_mbps[: self.samples] for samples in self.received.values()], axis=0
        )

    def means(self, window: Window) -> dict[str, float]:
        """Mb/s that each port sent on average."""
        return {name: mean_over(t, mbps, window) for name, (t, mbps) in self.sent.items()}

    def received_mbps(self, window: Window) -> float:
        """Mb/s that all hosts together received on average."""
        return sum(mean_over(samples.t - self._begin, samples.out_mbps, window) for samples in self.received.values())

    @property
    def span(self) -> Window:
        series = self.received.values()
        return max(samples.t[0] for samples in series) - self._begin, min(
            samples.t[-1] for samples in series
        ) - self._begin


# --- what scheduling costs: the controller's work, and how soon it acts ----------------------------------------


def measure_costs(observation: Observation, flows: Sequence[MeasuredFlow], seconds: float) -> dict[str, float]:
    """What scheduling cost, by name, for run.json. Costs that could not be observed are missing. ``seconds``: how long
    the traffic lasted."""
    costs_by_name: dict[str, float] = {
        **_measure_controller(observation.events, observation.begin, seconds),
        **{name: int(count) for name, count in sorted(observation.tcp.items())},
        **{name: int(count) for name, count in observation.hull.items()},
    }
    if any(event["event"] == "round" for event in observation.events):
        costs_by_name |= _measure_reactions(observation, flows)
    return costs_by_name


def _measure_controller(events: Sequence[Event], begin: float, seconds: float) -> dict[str, float]:
    """What the controller did while the traffic ran: percent of a processor, and events per second. A controller that
    was started again counted from 0 again."""
    # The controller tells its counts once a second. Those of a user's controller may lack some, or be no numbers.
    alive = [
        event
        for event in events
        if event["event"] == "alive" and all(isinstance(event.get(name), (int, float)) for name in COUNTED)
    ]
    before = [event for event in alive if event["t"] <= begin]
    within = [event for event in alive if begin < event["t"] <= begin + seconds + 1]
    if not before or not within:
        return {}
    beats = [before[-1], *within]
    lasted = beats[-1]["t"] - beats[0]["t"]
    total = {
        name: sum(b[name] - (a[name] if b[name] >= a[name] else 0) for a, b in pairwise(beats)) / lasted
        for name in COUNTED
    }
    return {
        "controller_percent": round(total["processor_s"] * 100, 2),
        **{f"{name}_per_s": round(total[name], 3) for name in COUNTED[1:]},
    }


def _measure_reactions(observation: Observation, flows: Sequence[MeasuredFlow]) -> dict[str, float]:
    """How long after its start a large flow was found to be one, and how long until it went another way. Medians, over
    the flows concerned."""
    by_ends = {flow.ends: flow for flow in flows}
    placed = {e["key"]: (e["src"], e["dst"], e["src_port"]) for e in observation.events if e["event"] == "flow"}
    of_key = {key: by_ends[ends] for key, ends in placed.items() if ends in by_ends}
    detected: dict[int, float] = {}
    moved: dict[int, list[float]] = {}
    for event in observation.events:
        t = event["t"] - observation.begin
        if event["event"] == "round":
            polled = t - event["compute_s"] - event["install_s"]  # it is logged when all is done
            for large in event.get("large_flows", ()):
                detected.setdefault(large["key"], polled)
        elif event["event"] == "reroute" and event.get("round") is not None:
            moved.setdefault(event["key"], []).append(t)
    known_moves = {key: times for key, times in moved.items() if key in of_key}
    medians = {
        "detected_after_s": [t - of_key[key].start for key, t in detected.items() if key in of_key],
        "moved_after_s": [times[0] - of_key[key].start for key, times in known_moves.items()],
    }
    reactions: dict[str, float] = {"moved_flows": len(known_moves), "moves": sum(map(len, moved.values()))}
    reactions |= {name: round(median(values), 3) for name, values in medians.items() if values}
    return reactions
