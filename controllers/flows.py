"""The flows the controller knows: soft state, by 5-tuple and by key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controllers.packet import FiveTuple


@dataclass(slots=True)
class KnownFlow:
    """One flow between two hosts. ``key`` is unique among all flows ever seen, and the cookie of its entries.

    ``source`` is the edge switch of its sender. ``hashed`` is the core of its static path, ``core`` that of its
    path now. ``installed_at`` is when its entries were last sent (driver time, seconds).
    """

    key: int
    five_tuple: FiveTuple
    src: int
    dst: int
    source: str
    hashed: int
    core: int
    installed_at: float

    def as_event(self) -> dict[str, int | str]:
        t = self.five_tuple
        return {
            "key": self.key,
            "src": self.src,
            "dst": self.dst,
            "src_ip": t.src_ip,
            "dst_ip": t.dst_ip,
            "proto": t.protocol,
            "src_port": t.src_port,
            "dst_port": t.dst_port,
            "core": self.core,
        }


class KnownFlows:
    """All flows that have not expired."""

    def __init__(self) -> None:
        self._by_tuple: dict[FiveTuple, KnownFlow] = {}
        self._by_key: dict[int, KnownFlow] = {}
        self._last_key = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[KnownFlow]:
        return iter(self._by_key.values())

    def find(self, five_tuple: FiveTuple) -> KnownFlow | None:
        """The flow with a 5-tuple, if it is known."""
        return self._by_tuple.get(five_tuple)

    def get(self, key: int) -> KnownFlow | None:
        return self._by_key.get(key)

    def new_key(self) -> int:
        self._last_key += 1
        return self._last_key

    def add(
        self, five_tuple: FiveTuple, src: int, dst: int, source: str, core: int, now: float, *, key: int | None = None
    ) -> KnownFlow:
        """Start to know a flow on its first path; ``key`` is given when it already has one."""
        key = self.new_key() if key is None else key
        self._last_key = max(self._last_key, key)
        flow = KnownFlow(key, five_tuple, src, dst, source, hashed=core, core=core, installed_at=now)
        self._by_tuple[five_tuple] = self._by_key[key] = flow
        return flow

    def remove(self, flow: KnownFlow) -> None:
        del self._by_key[flow.key], self._by_tuple[flow.five_tuple]
