"""What was seen of a run, and a rule applied to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.verdict.claims import Claim
from harness.verdict.saturation import FullLinks
from results.parts import Rule


@dataclass(frozen=True)
class Second:
    """One second of a run: idle processors, Mb/s received."""

    number: int
    idle_percent: float
    total_mbps: float


@dataclass(frozen=True)
class Evidence:
    """What was seen of a run. Rates in Mb/s on the wire, over the measuring window.

    ``counted_mbps`` arrived by the switches' counters, and ``payload_mbps`` at the receivers' sockets, over the whole
    time that the counters were read; ``claims`` holds paths against counters, link by link; ``throttled_s`` is how
    long the CPU limit held back each host that it did, in seconds.

    ``mtu`` is that of every link, in bytes, ``bucket_mbit`` what a port may send beyond its rate after it was idle;
    ``full`` are the ports that have to be full all the time, if the flows share as max-min fairness has it;
    ``lost_packets`` were lost outside every queue, by place, None where nobody asked;
    ``failures`` is whether links failed on purpose; ``virtual`` whether time was, in which no machine is slow;
    ``clock_set_s`` how far the clock was set, seconds. Of traffic that comes and goes, ``handshakes_mbps`` is what
    opening and closing connections adds to what was counted, ``progress`` as in `harness.verdict.outcome`.
    """

    bw: float
    mtu: int
    bucket_mbit: float
    port_mbps: Mapping[str, float]
    measured_mbps: float
    counted_mbps: float
    payload_mbps: float
    predicted_mbps: float
    full: FullLinks
    claims: Sequence[Claim]
    lost_packets: Mapping[str, int] | None
    throttled_s: Mapping[str, float]
    unfinished_flows: Sequence[str]
    window: tuple[float, float]
    seconds: Sequence[Second]
    failures: bool
    dead_processes: Sequence[str]
    handshakes_mbps: float = 0.0
    progress: float | None = None
    clock_set_s: float = 0.0
    virtual: bool = False


@dataclass(frozen=True)
class Check:
    """A rule applied: a sentence in ``against`` for what condemns the run, ``remark`` for what does not."""

    rule: Rule
    against: tuple[str, ...] = ()
    remark: str | None = None
