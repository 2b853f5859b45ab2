"""Sweeps on disk as the harness stores them, with paths, link rates and rounds that fit together: real routing and
placement, max-min fair rates in place of TCP, and some noise."""

import random
from pathlib import Path

import numpy as np

from hedera.maxmin import max_min_rates
from hedera.scheduler import ActiveFlows, Scheduler
from hedera.schemes import SCHEMES, scheme
from tests.plots.sweeps import run_document, store
from topos.fattree import FatTree
from topos.links import num_links, path_links, sending_ports
from topos.network import NonBlocking
from traffic.flows import SERVER_PORT, source_ports
from traffic.patterns import draw

ALL = tuple(scheme.name for scheme in SCHEMES.values() if not scheme.hidden)
WIRE = 1514 / 1448
ENVIRONMENT = {"kernel": "6.1.0", "cores": 2, "tools": {"iperf": "2.1.8"}, "revision": "0123456789ab"}


def write_sweep(folder: Path, patterns, schemes=ALL, trials=1, **options) -> Path:
    """A complete sweep."""
    for pattern in patterns:
        for name in schemes:
            for trial in range(1, trials + 1):
                store(folder, document(pattern, name, trial, **options))
    return folder


def document(traffic, name, trial, *, seconds=30, bw=10.0, k=4, interval=2.0, restless=False):
    """One run.json. When ``restless``, every fourth round moves a flow to and fro."""
    rng = random.Random(f"{traffic} {name} {trial}")
    tree = FatTree(k)
    topo = NonBlocking(tree.num_hosts) if name == "nonblocking" else tree
    matrix = draw(traffic, tree, trial)
    src, dst, ports = matrix.src, matrix.dst, source_ports(matrix, trial)
    stages, rounds = _schedule(tree, name, trial, (src, dst, ports), seconds, interval, restless, rng)
    rates = [(t, _fair(topo, src, dst, core) * bw * rng.uniform(0.96, 0.985)) for t, core in stages]
    delivered = np.array([_at(rates, s + 0.5) * min(1, 0.8 + 0.2 * s) for s in range(seconds)])
    delivered *= [[rng.uniform(0.985, 1.0) for _ in src] for _ in range(seconds)]
    hosts = np.array([np.bincount(dst, row, tree.num_hosts) for row in delivered])
    window = (seconds / 6, seconds * 5 / 6)
    inside = [s for s in range(seconds) if window[0] <= s + 0.5 < window[1]]
    measured = float(hosts[inside].sum(axis=1).mean())
    flows = [
        {
            "src": int(src[i]),
            "dst": int(dst[i]),
            "src_port": int(ports[i]),
            "start": 0.0,
            "seconds": float(seconds),
            "mbps": round(float(delivered[:, i].mean() / WIRE), 4),
            "per_second_mbps": (delivered[:, i] / WIRE).round(3).tolist(),
            "paths": _history(i, stages) if topo is tree else [],
        }
        for i in range(len(src))
    ]
    made = run_document(
        traffic,
        name,
        trial,
        seconds=seconds,
        started=f"2026-03-0{trial}T10:00:00Z",
        capacity_mbps=tree.num_hosts * bw,
        bisection_mbps=round(measured, 3),
        maxmin_mbps=round(measured / rng.uniform(0.95, 0.99), 3),
        payload_mbps=round(measured / WIRE, 3),
        rates={
            "t": [s + 1.004 for s in range(seconds)],
            "total_mbps": hosts.sum(axis=1).round(3).tolist(),
            "hosts": {host: hosts[:, i].round(3).tolist() for i, host in enumerate(tree.hosts)},
        },
        links=_links(tree, src, dst, stages, delivered, inside) if topo is tree else {},
        queue_drops={"0_0_1-eth1": 12},
        flows=flows,
        cpu={
            "t": [s + 1.0 for s in range(seconds)],
            "idle_percent": [round(rng.uniform(5, 20), 2) for _ in range(seconds)],
        },
        rounds=rounds,
        environment=ENVIRONMENT,
    )
    made["spec"] |= {"link_mbps": bw, "k": k, "interval_s": interval}
    return made


def _schedule(tree, name, trial, flows, seconds, interval, restless, rng):
    """(time, cores) of each stage, and the records of the rounds between them."""
    src, dst, ports = flows
    routing, placement = scheme(name).routing(tree, trial), scheme(name).placement(tree, trial)
    hashed = np.zeros(len(src), np.int32) if routing is None else routing.cores(src, dst, ports, SERVER_PORT)
    stages, rounds, now = [(0.0, hashed)], [], interval - 0.2
    scheduler = placement and Scheduler(tree, placement)
    while scheduler and now < seconds:
        before = stages[-1][1]
        keys = np.arange(len(src), dtype=np.int64)
        answer = scheduler.round(now, ActiveFlows(keys, src, dst, _fair(tree, src, dst, before), before, hashed))
        core = before.copy()
        for change in answer.changes:
            core[change.key] = change.core
        if restless and len(rounds) % 4 == 3:
            core[0] = (core[0] + 1) % tree.num_cores
        changed = int((core != before).sum())
        rounds.append(
            {
                "t": round(now, 3),
                "round": len(rounds) + 1,
                "flows": 2 * len(src),
                "placed": len(src),
                "large": len(answer.large),
                "changed": changed,
                "polled_ms": round(rng.uniform(3, 8), 3),
                "compute_ms": round(rng.uniform(0.3, 0.6), 3),
                "install_ms": 4.5 if changed else 0.05,
            }
        )
        stages.append((round(now, 3), core))
        now += interval
    return stages, rounds


def _links(tree, src, dst, stages, delivered, inside):
    load = np.zeros(num_links(tree))
    for s in inside:
        for row, rate in zip(path_links(tree, src, dst, _at(stages, s + 0.5)), delivered[s], strict=True):
            load[row[row >= 0]] += rate / len(inside)
    return {port: round(float(rate), 3) for port, rate in zip(sending_ports(tree), load, strict=True)}


def _history(flow, stages):
    paths = []
    for t, core in stages:
        if not paths or paths[-1]["core"] != core[flow]:
            paths.append({"t": t or 0.05, "core": int(core[flow])})
    return paths


def _fair(topo, src, dst, core):
    return max_min_rates(path_links(topo, src, dst, core), np.ones(num_links(topo)))


def _at(stages, t):
    return [value for begin, value in stages if begin <= t][-1]
