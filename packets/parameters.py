"""Every parameter of the report's Table I and of its authors' experiments, with default and unit."""

from __future__ import annotations

from dataclasses import dataclass

from hedera.parameter import check, parameter


@dataclass(frozen=True)
class Parameters:
    """One setting of network, TCP, pacer and phantom queue; KB are 1,000 bytes.

    The fields are the options of every ``hedera hull`` command. If Table I gives no value, it is that of the
    authors' experiments (docs/notes/hull.md says which). Raises ValueError, one sentence, for a value out of range.
    """

    link_mbps: float = parameter(1000.0, "Rate of every link", unit="Mb/s", least=1, option="--bw")
    link_delay_us: float = parameter(5.0, "Propagation delay of every link", unit="us", least=0)
    port_queue_packets: int = parameter(500, "Queue of every switch port", unit="packets", least=1, option="--queue")
    host_queue_packets: int = parameter(1000, "Queue of every host", unit="packets", least=1)
    segment_bytes: int = parameter(
        950, "TCP payload of a full packet (MTU in Table I)", unit="bytes", least=50, most=8960
    )
    window_packets: int = parameter(1256, "Largest window", unit="packets", least=2)
    initial_packets: int = parameter(2, "Window at the start and after idle time", unit="packets", least=1)
    least_packets: int = parameter(2, "Smallest window after a mark", unit="packets", least=1)
    min_rto_ms: float = parameter(10.0, "Shortest retransmission timeout", unit="ms", least=0.001)
    idle_ms: float = parameter(10.0, "Idle time after which a window starts anew; 0: never", unit="ms", least=0)
    jitter_us: float = parameter(0.0, "A switch delays every packet by a random time up to this", unit="us", least=0)
    sack: bool = parameter(True, "Selective acknowledgements (RFC 2018).")
    mark_kb: float | None = parameter(None, "K, marking threshold of DCTCP (default: the scheme's)", unit="KB", least=0)
    g: float = parameter(1 / 16, "DCTCP: weight of a new estimate.", most=1, least=0)
    alpha: float = parameter(1.0, "DCTCP: first estimate (RFC 8257: 1).", most=1, least=0)
    eta: float = parameter(0.125, "Pacer: weight of a new rate.", most=1, least=0)
    beta: float = parameter(16.0, "Pacer: rate gained per queued bit at every update", unit="1/s", least=0)
    bucket_kb: float = parameter(3.0, "Pacer: depth of the token bucket", unit="KB", least=0.1)
    associate: float = parameter(0.125, "Pacer: probability p_a that an echo associates its flow.", most=1, least=0)
    association_ms: float = parameter(10.0, "Pacer: T_i, how long an association lasts", unit="ms", least=0)
    update_us: float = parameter(32.0, "Pacer: T_r, time between updates of the rate", unit="us", least=1)
    tick_us: float = parameter(
        16.0, "Pacer: time between deliveries of tokens", unit="us", least=1, option="--pacer-tick"
    )
    start_mbps: float = parameter(100.0, "Pacer: first rate", unit="Mb/s", least=0)
    pacer_behind: bool = parameter(
        False, "Put the pacer behind the host's queue, which it then stops, as in the authors' ns-2."
    )
    drain: float = parameter(0.95, "Phantom queue: drain rate as a share of the link.", least=0.01)
    phantom_kb: float = parameter(1.0, "Phantom queue: marking threshold", unit="KB", least=0)

    def __post_init__(self) -> None:
        check(self)
