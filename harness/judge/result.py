"""From what was observed of a run to its result: rates, paths, prediction, verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone

import msgspec

from harness.errors import RunFailed
from harness.judge.claims import claims
from harness.judge.costs import costs
from harness.judge.counters import Counters
from harness.judge.dynamic import SETTLED_S, Dynamic
from harness.judge.evidence import Evidence, Second
from harness.judge.flows import Window, measured_flows
from harness.judge.links_alone import LinksAlone, links_alone, underway
from harness.judge.prediction import predict
from harness.judge.recovery import Recovery
from harness.judge.saturation import FullLinks, full_links, through_queue_s
from harness.judge.soundness import doubted_claims
from harness.judge.verdict import judge
from harness.network import shaping
from harness.run.events import Event
from harness.run.observation import Observation
from harness.run.spec import RunSpec, lasting
from results.parts import Cpu, Disagreement, Rates, Restart, Round, Settings
from results.record import SCHEMA, Run
from results.window import mean_over
from topos.links import sending_ports
from topos.network import Network


def unmeasured(spec: RunSpec) -> Run:
    """A run of which nothing is known yet but what it was asked to be."""
    standing = spec.workload().standing
    asked = spec.as_json()
    return Run(
        schema=SCHEMA,
        scheme=spec.scheme,
        traffic=spec.traffic,
        trial=spec.trial,
        seed=spec.seed,
        started=datetime.now(timezone.utc).replace(microsecond=0),
        capacity_mbps=spec.capacity_mbps,
        window_s=spec.window_s,
        spec=Settings(**{name: asked[name] for name in Settings.__struct_fields__ if name in asked}),
        matrix=tuple(zip(standing.src.tolist(), standing.dst.tolist(), strict=True)),
        bisection_mbps=None,
        verdict="invalid",
        reasons=(),
        flows=(),
    )


def describe(spec: RunSpec, seen: Observation) -> Run:
    """What a run was worth (docs/fields.md). Raises RunFailed when a host was not sampled."""
    topo = spec.network()
    counters = Counters(topo, seen.series, seen.begin)
    _check_cores(topo, seen.events)
    flows = measured_flows(seen)
    routed = [flow.routed for flow in flows]
    workload = spec.workload()
    dynamic = None if lasting(workload) is not None else Dynamic(topo, spec, workload, seen, flows)
    recovery = Recovery(
        topo,
        spec,
        seen.outages,
        routed,
        [flow.acknowledgements for flow in flows],
        lives=None if dynamic is None else dynamic.lives,
        max_min=None if dynamic is None else dynamic.max_min,
    )
    window = spec.window_s if dynamic is None else dynamic.window
    ports = counters.means(window)
    on_the_way = underway(topo, flows, seen.looks, seen.begin, spec.link_mbps)

    def alone(window: Window) -> LinksAlone | None:
        fair = predict(topo, routed, window, spec.link_mbps, seen.outages).flow_mbps
        return links_alone(on_the_way, flows, fair, window, spec.mtu)

    if dynamic is None:
        total = predict(topo, routed, window, spec.link_mbps, seen.outages).total_mbps
        full = full_links(topo, spec, routed, [flow.start for flow in flows], seen.outages, counters.sent)
    else:
        total = dynamic.fluid.total_mbps
        # Hardly a link is full from beginning to end.
        full = FullLinks(window, {}, f"flows come and go, and none of them has to take {SETTLED_S:g} s")
    claimed = claims(
        topo,
        flows,
        window,
        spec.link_mbps,
        through_queue_s(spec),
        ports,
        sending_ports(topo),
        spec.mtu,
    )

    def mean_total(window: Window) -> float:
        return mean_over(counters.times, counters.total_mbps, window)

    measured = counters.received_mbps(window)
    evidence = Evidence(
        bw=spec.link_mbps,
        mtu=spec.mtu,
        bucket_mbit=shaping.of_run(spec, bunches=seen.bunches).burst_bytes * 8e-6,
        port_mbps=ports,
        measured_mbps=measured,
        counted_mbps=counters.received_mbps(counters.span),
        payload_mbps=sum(flow.mean_mbps(counters.span) for flow in flows),
        predicted_mbps=total,
        full=full,
        claims=claimed,
        # A flow that had no path cannot be blamed for what it did not send.
        unfinished_flows=[flow for flow in seen.unfinished if flow.split(" (")[0] not in recovery.cut_off],
        lost_packets=None if spec.fail else seen.lost_packets,
        throttled_s=seen.throttled_s,
        window=window,
        seconds=_seconds_of(seen, mean_total),
        failures=bool(spec.fail),
        dead_processes=seen.dead,
        handshakes_mbps=0.0 if dynamic is None else dynamic.handshakes_mbps(counters.span),
        progress=None if dynamic is None else dynamic.progress,
        alone=alone(window) if seen.looks else None,
        alone_settled=alone(full.window) if seen.looks else None,
        clock_set_s=seen.clock_set_s,
        virtual=spec.time == "virtual",
    )
    errors = [event["message"] for event in seen.events if event["event"] == "error"]
    doubts = [seen.lost] if seen.lost is not None else []
    doubts += [f"the controller reported an error: {message}" for message in errors[:3]]
    doubts += [] if dynamic is None else dynamic.reasons()
    judgement = judge(evidence, doubts)
    found = judgement.reasons
    verdict = judgement.verdict
    if dynamic is not None and seen.lost is None and (too_short := dynamic.too_short):
        verdict, found = "invalid", (too_short,)
    run = unmeasured(spec)
    return msgspec.structs.replace(
        run,
        window_s=spec.window_s if dynamic is None else (round(window[0], 3), round(window[1], 3)),
        bisection_mbps=round(measured, 3),
        maxmin_mbps=round(total, 3),
        payload_mbps=round(sum(flow.mean_mbps(window) for flow in flows), 3),
        verdict=verdict,
        reasons=found,
        remarks=judgement.remarks,
        rules=judgement.rules,
        rates=Rates(
            t=_rounded(counters.times),
            total_mbps=_rounded(counters.total_mbps),
            hosts={name: _rounded(one.out_mbps[: counters.samples]) for name, one in counters.received.items()},
        ),
        links={name: round(rate, 3) for name, rate in sorted(ports.items())},
        full_links=full.record(),
        round_trips=on_the_way.record() if seen.looks else run.round_trips,
        disagreements={
            claim.port: Disagreement(
                flows_mbps=round(claim.delivered_mbps, 3), counter_mbps=round(claim.carried_mbps, 3)
            )
            for claim in doubted_claims(evidence)
        },
        queue_drops={name: drops for name, drops in sorted(seen.drops.items()) if drops},
        flows=tuple(flow.record(window) for flow in flows) if dynamic is None else dynamic.records,
        completion=() if dynamic is None else dynamic.completion,
        progress=None if dynamic is None or dynamic.progress is None else round(dynamic.progress, 4),
        turns=None if dynamic is None else dynamic.turns,
        collective=None if dynamic is None else dynamic.collective,
        cpu=Cpu(
            t=tuple(round(t - seen.begin, 3) for t in seen.cpu_times),
            idle_percent=_rounded(seen.cpu_idle),
            waiting_percent={name: _rounded(waits) for name, waits in seen.cpu_waiting.items()},
        ),
        rounds=tuple(_round(event, seen.begin) for event in seen.events if event["event"] == "round"),
        costs=costs(seen, flows, spec.seconds if dynamic is None else dynamic.ended),
        lost_packets=seen.lost_packets,
        throttled_s=seen.throttled_s,
        controller_restarts=_restarts(seen),
        failures=recovery.failures([flow.seconds for flow in flows]) if spec.fail else (),
        phases=recovery.phases(mean_total) if spec.fail else (),
    )


def _seconds_of(seen: Observation, mean_total: Callable[[Window], float]) -> list[Second]:
    """What was seen of each second of the run."""
    return [
        Second(
            number=i + 1,
            idle_percent=idle,
            waiting_percent={name: waits[i] for name, waits in seen.cpu_waiting.items() if i < len(waits)},
            total_mbps=mean_total((t - seen.begin - 1, t - seen.begin)),
        )
        for i, (t, idle) in enumerate(zip(seen.cpu_times, seen.cpu_idle, strict=True))
    ]


def _check_cores(topo: Network, events: Sequence[Event]) -> None:
    cores = {event["core"] for event in events if event["event"] in ("flow", "reroute")}
    if strange := cores - set(range(topo.num_cores)):
        raise RunFailed(f"the controller sent flows by way of core {min(strange)}, which is not there")


def _restarts(seen: Observation) -> tuple[Restart, ...]:
    """When a controller was missed, and when the next one had every switch under control again."""
    records = []
    for restart in seen.restarts:
        after = [event for event in seen.events if event["t"] > restart.t]
        ready = next((event["t"] for event in after if event["event"] == "ready"), None)
        records.append(
            Restart(
                t=round(restart.t - seen.begin, 3),
                reason=restart.reason,
                ready_t=None if ready is None else round(ready - seen.begin, 3),
                adopted=sum(event.get("reason") == "adopted" for event in after),
            )
        )
    return tuple(records)


def _round(event: Event, begin: float) -> Round:
    counts = {name: event[name] for name in ("round", "flows", "large", "placed", "changed")}
    spans = {f"{name}_ms": round(event[f"{name}_s"] * 1e3, 3) for name in ("polled", "compute", "install")}
    return Round(t=round(event["t"] - begin, 3), **counts, **spans)


def _rounded(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(float(value), 3) for value in values)
