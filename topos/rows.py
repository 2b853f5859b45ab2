"""A plan of a network as JSON, in which it goes to another process (`topos.own`)."""

from __future__ import annotations

import msgspec


class Rows(msgspec.Struct, frozen=True):
    """What a class's methods gave, ``between`` by ``SRC,DST``."""

    hosts: int
    cables: list[tuple[int | str, str, float]]
    between: dict[str, list[tuple[str, ...]]]

    def links(self) -> list[tuple[int | str, str, float]]:
        return self.cables

    def paths(self, src: int, dst: int) -> list[tuple[str, ...]]:
        return self.between.get(f"{src},{dst}", [])


def read(text: str) -> Rows:
    """Raises msgspec.DecodeError for what is no such plan."""
    return msgspec.json.decode(text, type=Rows)


def written(rows: Rows) -> str:
    return msgspec.json.encode(rows).decode()
