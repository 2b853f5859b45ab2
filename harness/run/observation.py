"""What is gathered while a run goes on, for the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.run.controller import Event, Restart
from harness.run.traffic import EmulatedFlow
from traffic.bwmng import Series
from traffic.graph import Collective

Say = Callable[[str], None]
"""Hears which stage a run is at."""


@dataclass(frozen=True)
class Outage:
    """From time ``t`` (seconds since the traffic started) these directed links are out of service, and no others."""

    t: float
    links: frozenset[int]


@dataclass
class Observation:
    """What is gathered while a run goes on. Times are seconds since the epoch, ``begin`` the first client's.

    ``tcp``: what hosts counted meanwhile (`harness.run.watch`); ``troubles``: what went wrong with what sends, a
    sentence each; ``clock_offset``: the epoch's clock minus the monotonic one; ``clock_set_s``: how far the former was
    set meanwhile, seconds; ``collective``: what became of a graph of flows.
    """

    begin: float = 0.0
    series: Mapping[str, Series] = field(default_factory=dict)
    drops: dict[str, int] = field(default_factory=dict)
    cpu_times: list[float] = field(default_factory=list)
    cpu_idle: list[float] = field(default_factory=list)
    lost_packets: dict[str, int] = field(default_factory=dict)
    throttled_s: dict[str, float] = field(default_factory=dict)
    flows: list[EmulatedFlow] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    restarts: list[Restart] = field(default_factory=list)
    lost: str | None = None
    tcp: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)
    clock_offset: float = 0.0
    clock_set_s: float = 0.0
    collective: Collective | None = None
