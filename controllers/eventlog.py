"""The controller's log: one JSON object per line, written through at once, because others read it live.

Every event has ``t`` (seconds since the epoch) and ``event``. Hosts, cores, rounds and keys are numbers; rates
and demands are fractions of the NIC rate; times ending in ``_s`` are seconds.

    start     scheme, platform, platform_version, k, seed, interval_s, bw_mbps, threshold, large_flows, new_flows,
              iterations, listen
    alive     every second: processor_s, packet_ins, packet_outs, flow_mods, statistics_requests,
              statistics_bytes, all since the start
    switch    dpid, name, state: up or down
    port      dpid, name, port, state: up or down
    ready     switches: all are connected, and all have confirmed their rules
    flow      key, src, dst, src_ip, dst_ip, proto, src_port, dst_port, core, reason: hashed, or adopted when it
              was known again from a switch's entry, or learned when the switches had placed it by themselves, age_s
              before
    reroute   key, core, round: None when a failure was the reason
    expired   key
    round     round, polled_s (first request to last reply), compute_s, install_s (to the last confirmation),
              flows (all known), large, placed (large flows off their hashed path), changed, large_flows: key,
              src, dst, rate, demand, core of each
    error     message
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


class EventLog:
    """Writes events to a file, or nowhere when there is no path. ``clock`` gives seconds since the epoch.

    Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str | Path | None, clock: Callable[[], float] = time.time):
        self._file: IO[str] | None = open(path, "a", buffering=1) if path else None  # noqa: SIM115
        self._clock = clock

    def __call__(self, event: str, **fields: Any) -> None:
        """Write one event with its time ``t``."""
        if self._file is not None:
            line = json.dumps({"t": self._clock(), "event": event, **fields}, separators=(",", ":"))
            self._file.write(line + "\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
