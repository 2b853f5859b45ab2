"""The description of one run, and the scenario that the engine reads for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from studies.hull.parameters import FIRST_ALPHA, PACER, SCHEMES, G, Parameters
from studies.hull.workload import SERVERS, WARM_UP_NS, WORKLOADS, Traffic, dynamic, fan_out, opening_ns, static

SETTLE_S = 0.2
"""Static flows run for this long before anything is measured."""

DRAIN_S = 100.0
"""How long requests may still be answered after the last one (as in the authors' experiments)."""

SAMPLE_NS = {"static": 1_000_000}
SAMPLE_DEFAULT_NS = 10_000_000
"""Between two samples of the queue."""

EXCHANGE_COLUMNS = ("connection", "start_ns", "request_bytes", "reply_bytes", "service_ns")
"""The fields of every exchange that the engine reads."""

STATIC_SEGMENT_BYTES = 600
STATIC_DRAIN = 0.90
"""What the authors used for static flows in place of 950 bytes and 95 %; see docs/notes/hull.md."""


@dataclass(frozen=True)
class Experiment:
    """One run: a scheme, a workload and a seed.

    ``flows``: of the static workload. ``load``: of large files on the client's link, as a share; for search
    and low-latency the background load, which may be 0. ``seconds``: simulated time that is measured.

    Raises ValueError, one sentence, for what makes no sense.
    """

    scheme: str
    workload: str
    load: float = 0.0
    flows: int = 2
    seconds: float = 10.0
    seed: int = 1
    parameters: Parameters = field(default_factory=Parameters)

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"there is no scheme {self.scheme!r}; there are {', '.join(SCHEMES)}")
        if self.workload not in WORKLOADS:
            raise ValueError(f"there is no workload {self.workload!r}; there are {', '.join(WORKLOADS)}")
        if not 0 < self.seconds < float("inf"):
            raise ValueError(f"the simulated time must be above 0 s, not {self.seconds:g}")
        if not 1 <= self.flows <= 1000:
            raise ValueError(f"the number of static flows must be 1 to 1,000, not {self.flows}")
        if not 0 <= self.load < 1 or (self.workload == "dynamic" and self.load == 0):
            least = "above 0" if self.workload == "dynamic" else "0 or more"
            raise ValueError(f"the load must be a share of the link, {least} and below 1, not {self.load:g}")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"the seed must be 0 or more and below 2^31, not {self.seed}")

    def traffic(self) -> Traffic:
        link = self.parameters.link_mbps
        if self.workload == "static":
            return static(self.flows, self.seed)
        if self.workload == "dynamic":
            return dynamic(self.load, self.seconds, self.seed, SERVERS["dynamic"], link)
        return fan_out(self.workload, self.load, self.seconds, self.seed, SERVERS[self.workload], link)

    @property
    def window_ns(self) -> tuple[int, int]:
        settle_ns = round(SETTLE_S * 1e9) if self.workload == "static" else opening_ns(self.workload, self.load)
        begin = WARM_UP_NS + settle_ns
        return begin, begin + round(self.seconds * 1e9)

    @property
    def end_ns(self) -> int:
        drain = 0.0 if self.workload == "static" else DRAIN_S
        return self.window_ns[1] + round(drain * 1e9)

    def key(self, engine: str) -> str:
        """A name for the result: equal for equal scenarios and engines, different for different ones."""
        traffic = self.traffic()
        built = scenario(self, traffic)
        del built["exchanges"]  # as bytes below: much faster
        digest = hashlib.sha256(json.dumps([built, engine], sort_keys=True).encode())
        for name in EXCHANGE_COLUMNS:
            digest.update(getattr(traffic, name).tobytes())
        what = f"{self.flows}" if self.workload == "static" else f"{round(100 * self.load)}"
        return f"{self.workload}-{what}-{self.scheme}-{self.seed}-{digest.hexdigest()[:16]}"


def static_parameters(parameters: Parameters, asked: Collection[str] = ()) -> Parameters:
    """The parameters of the static experiments: the authors' two values, unless the user named those parameters."""
    authors: dict[str, Any] = {"segment_bytes": STATIC_SEGMENT_BYTES, "drain": STATIC_DRAIN}
    return replace(parameters, **{name: value for name, value in authors.items() if name not in asked})


def scenario(experiment: Experiment, traffic: Traffic) -> dict[str, Any]:
    """The scenario as the engine reads it (docs/notes/packet-engine.md): a client and its servers at one switch."""
    p, chosen = experiment.parameters, SCHEMES[experiment.scheme]
    hosts = ["client", *(f"server{n}" for n in range(1, traffic.servers + 1))]
    wire = {"rate_bps": p.link_mbps * 1e6, "delay_ns": round(p.link_delay_us * 1e3)}
    mark_kb = chosen.mark_kb if p.mark_kb is None or not chosen.mark_kb else p.mark_kb
    port: dict[str, Any] = {"queue_packets": p.port_queue_packets, "mark_bytes": round(1000 * mark_kb)}
    if chosen.phantom:
        port["phantom"] = {"drain_bps": p.drain * p.link_mbps * 1e6, "threshold_bytes": 1000 * p.phantom_kb}
    links = []
    for host in hosts:
        links.append({"from": "switch", "to": host, **wire, **port})
        links.append({"from": host, "to": "switch", **wire, "queue_packets": p.host_queue_packets})
    begin, end = experiment.window_ns
    built: dict[str, Any] = {
        "seed": 1 + experiment.seed,
        "measure_from_ns": begin,
        "measure_until_ns": end,
        "end_ns": experiment.end_ns,
        "hosts": hosts,
        "switches": ["switch"],
        "links": links,
        "tcp": {
            "variant": "dctcp" if chosen.dctcp else "reno",
            "segment_bytes": p.segment_bytes,
            "window_segments": p.window_packets,
            "initial_segments": p.initial_packets,
            "least_segments": p.least_packets,
            "min_rto_ns": round(p.min_rto_ms * 1e6),
            "idle_ns": round(p.idle_ms * 1e6),
            "g": G,
            "start_alpha": FIRST_ALPHA,
            "sack": p.sack,
        },
        "connections": [
            {"client": "client", "server": f"server{connection.server}"} for connection in traffic.connections
        ],
        "exchanges": {name: getattr(traffic, name).tolist() for name in EXCHANGE_COLUMNS},
        "samples": [
            {"from": "switch", "to": "client", "every_ns": SAMPLE_NS.get(experiment.workload, SAMPLE_DEFAULT_NS)}
        ],
    }
    if chosen.pacer:
        built["pacer"] = {**PACER, "queue_packets": p.port_queue_packets}
        if p.pacer_behind:
            built["pacer"]["behind"] = True
    if p.jitter_us:
        built["jitter_ns"] = round(p.jitter_us * 1e3)
    return built
