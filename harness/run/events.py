"""The events of a controller's log (controllers/eventlog.py), as far as the harness reads them."""

from __future__ import annotations

import json
import math
from typing import Any

from hedera.text import one_line

Event = dict[str, Any]

_FLOW = ("key", "src", "dst", "src_port", "dst_port", "core")
_ROUND = ("round", "flows", "large", "placed", "changed")
_FIELDS: dict[str, dict[str, type]] = {
    "start": dict.fromkeys(("scheme", "platform", "platform_version"), str),
    "switch": {"state": str},
    "ready": {"switches": int},
    "flow": dict.fromkeys(_FLOW, int) | {"reason": str},
    "reroute": dict.fromkeys(("key", "core"), int),
    "round": dict.fromkeys(_ROUND, int) | dict.fromkeys(("polled_s", "compute_s", "install_s"), float),
    "error": {"message": str},
}
"""What is read of each kind of event, text as one line; kinds that are not here are kept as they are."""
_MAX = 2**53


def parse_events(text: bytes) -> list[Event]:
    """The events in whole lines of a log. What is no event, such as half a line that a controller was ended in, is
    left out."""
    events = []
    for line in text.split(b"\n"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if _is_event(event):
            told = _FIELDS.get(event["event"], {}).items()
            events.append(event | {name: one_line(event[name]) for name, kind in told if kind is str})
    return events


def _is_event(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("event"), str):
        return False
    fields = {"t": float} | _FIELDS.get(value["event"], {})
    return all(_is(value.get(name), kind) for name, kind in fields.items())


def _is(value: object, kind: type) -> bool:
    if kind is str:
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
        return False
    return math.isfinite(value) and abs(value) <= _MAX
