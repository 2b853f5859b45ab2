"""What controlling the network takes: messages in both directions, counted where they pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from controllers.driver import Driver, Rule


@dataclass(slots=True)
class Costs:
    """Since the controller was started. ``statistics_bytes``: of all replies to requests for flow statistics."""

    packet_ins: int = 0
    packet_outs: int = 0
    flow_mods: int = 0
    statistics_requests: int = 0
    statistics_bytes: int = 0

    def as_event(self) -> dict[str, float]:
        """What the log says, with the processor time of this process in seconds."""
        return {"processor_s": round(time.process_time(), 3), **asdict(self)}


class CountingDriver:
    """A driver that counts what is sent through it."""

    def __init__(self, driver: Driver, costs: Costs) -> None:
        self._driver = driver
        self._costs = costs
        self.barrier: Callable[[int, int], None] = driver.barrier
        self.call_later: Callable[[float, Callable[[], None]], None] = driver.call_later
        self.now: Callable[[], float] = driver.now

    def clear(self, dpid: int) -> None:
        self._costs.flow_mods += 1
        self._driver.clear(dpid)

    def install(self, dpid: int, rule: Rule, modify: bool = False) -> None:
        self._costs.flow_mods += 1
        self._driver.install(dpid, rule, modify=modify)

    def packet_out(self, dpid: int, port: int, frame: bytes) -> None:
        self._costs.packet_outs += 1
        self._driver.packet_out(dpid, port, frame)

    def request_flow_stats(self, dpid: int, xid: int) -> None:
        self._costs.statistics_requests += 1
        self._driver.request_flow_stats(dpid, xid)
