"""Every parameter of the report's Table I and of its authors' experiments, with default and unit."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from packets.quantity import option_of, written

HEADER_BYTES = 40
"""IP and TCP headers without options."""


def _parameter(default: Any, help: str, *, least: float = 0.0, most: float = float("inf")) -> Any:
    """A field with what the command line says about it and the range it may have."""
    return field(default=default, metadata={"help": help, "least": least, "most": most})


@dataclass(frozen=True)
class Parameters:
    """One setting of network, TCP, pacer and phantom queue; KB are 1,000 bytes.

    The fields are the options of every ``hedera hull`` command. Where Table I is silent the value is that of
    the authors' experiments (docs/hull.md says which). Raises ValueError, one sentence, for a value out of
    range.
    """

    link_mbps: float = _parameter(1000.0, "Rate of every link, Mb/s.", least=1)
    link_delay_us: float = _parameter(5.0, "Propagation delay of every link, us.")
    port_queue_packets: int = _parameter(500, "Queue of every switch port, packets.", least=1)
    host_queue_packets: int = _parameter(1000, "Queue of every host, packets.", least=1)
    segment_bytes: int = _parameter(
        950, "TCP payload of a full packet (MTU in Table I), bytes.", least=50, most=8960
    )
    window_packets: int = _parameter(1256, "Largest window, packets.", least=2)
    initial_packets: int = _parameter(2, "Window at the start and after idling, packets.", least=1)
    least_packets: int = _parameter(2, "Smallest window after a mark, packets.", least=1)
    min_rto_ms: float = _parameter(10.0, "Shortest retransmission timeout, ms.", least=0.001)
    idle_ms: float = _parameter(10.0, "A window starts anew after so long an idle time, ms; 0: never.")
    jitter_us: float = _parameter(0.0, "A switch takes a random time up to this for every packet, us.")
    sack: bool = _parameter(True, "Selective acknowledgements (RFC 2018).", most=1)
    mark_kb: float | None = _parameter(
        None, "K, marking threshold of DCTCP, KB (default: as the scheme says)."
    )
    g: float = _parameter(1 / 16, "DCTCP: weight of a new estimate.", most=1)
    alpha: float = _parameter(1.0, "DCTCP: first estimate (RFC 8257: 1).", most=1)
    eta: float = _parameter(0.125, "Pacer: weight of a new rate.", most=1)
    beta: float = _parameter(16.0, "Pacer: rate gained per queued bit at every update, 1/s.")
    bucket_kb: float = _parameter(3.0, "Pacer: depth of the token bucket, KB.", least=0.1)
    associate: float = _parameter(0.125, "Pacer: probability p_a that an echo associates its flow.", most=1)
    association_ms: float = _parameter(10.0, "Pacer: T_i, how long an association lasts, ms.")
    update_us: float = _parameter(32.0, "Pacer: T_r, between updates of the rate, us.", least=1)
    tick_us: float = _parameter(16.0, "Pacer: between deliveries of tokens, us.", least=1)
    start_mbps: float = _parameter(100.0, "Pacer: first rate, Mb/s.")
    pacer_behind: bool = _parameter(
        False, "Pacer behind the host's queue, which it stops, as in the authors' ns-2.", most=1
    )
    drain: float = _parameter(0.95, "Phantom queue: drain rate as a share of the link.", least=0.01)
    phantom_kb: float = _parameter(1.0, "Phantom queue: marking threshold, KB.")

    def __post_init__(self) -> None:
        for each in fields(self):
            value, least, most = getattr(self, each.name), each.metadata["least"], each.metadata["most"]
            if value is not None and not least <= value <= most:
                bound = f"{least:g} or more" if most == float("inf") else f"from {least:g} to {most:g}"
                raise ValueError(f"{option_of(each.name)} must be {bound}, not {written(value, each.name)}")
