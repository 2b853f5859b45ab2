"""A collective: a program on every host that has a part in it, which sends when what it waits for has happened."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.network.processes import wait_until
from harness.run.programs import Programs
from harness.run.senders import EmulatedFlow
from topos.network import Network
from traffic.graph import completed
from traffic.ranks import Rank, ranks
from transfers import records


class Ranks(Programs):
    """A workload that is a graph of flows. Its hosts are connected before it begins, and stay so."""

    sends = "rank"
    all_must_end = True

    def _prepare(self) -> None:
        graph, standing = self._workload.graph, self._workload.standing
        assert graph is not None
        self._graph = graph
        self._ranks = ranks(graph, standing.src_port)
        self._nodes = np.flatnonzero(~graph.computes).tolist()
        flows = standing.take(np.array(self._nodes))
        self.flows = [
            EmulatedFlow(flow.src, flow.dst, flow.src_port, int(graph.size_bytes[node]))
            for node, flow in zip(self._nodes, flows, strict=True)
        ]

    def listen(self, deadline: float = 60.0) -> None:
        """Start the programs; RunFailed names a host that is not connected within ``deadline`` seconds."""
        started: dict[int, subprocess.Popen[bytes]] = {}
        for rank in self._ranks:
            path = self._directory / f"program-{rank.host}.json"
            path.write_text(json.dumps(_with_addresses(rank, self._fabric.topo)))
            started[rank.host] = self._spawn(rank.host, "rank", self._wake_bytes, path)
        left = list(started)

        def connected_or_dead() -> bool:
            left[:] = [host for host in left if not self._file("rank", host).read_bytes().startswith(b"connected")]
            return not left or started[left[0]].poll() is not None

        wait_until(connected_or_dead, deadline)
        if left:
            raise self._not_ready("rank", left[0], deadline)

    def _records(self) -> tuple[Mapping[int, records.Sent], Mapping[int, records.Arrived]]:
        files = [self._file("rank", rank.host) for rank in self._ranks]
        sent = {one.number: one for file in files for one in records.sent_by(file)}
        arrived = {one.number: one for file in files for one in records.messages_at(file)}
        start, end = np.full((2, len(self._graph)), np.nan)
        for number, one in sent.items():
            came = arrived.get(number)
            if one.start is not None and one.how == "done":
                start[number] = one.start - self._begin
                end[number] = (one.end if came is None or came.last is None else came.last) - self._begin
        self.collective = completed(self._graph, start, end)
        place = {node: number for number, node in enumerate(self._nodes)}
        return (
            {place[node]: one for node, one in sent.items() if node in place},
            {place[node]: one for node, one in arrived.items() if node in place},
        )


def _with_addresses(rank: Rank, topo: Network) -> dict[str, Any]:
    """A program as `transfers.rank` reads it."""
    return {
        "connections": [(topo.host_ip(host), port) for host, port in rank.connections],
        "accepts": rank.accepts,
        "expects": rank.expects,
        "steps": [(step.number, step.connection, step.size_bytes, step.delay_s, step.after) for step in rank.steps],
    }
