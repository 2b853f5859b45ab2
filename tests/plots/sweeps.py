"""Sweeps on disk for the tests of plots/: made-up ones in the schema of stored runs, and parts of one that is kept."""

import json
import random
from pathlib import Path

from plots.stored_sweep import load_sweep
from record.run import ARCHIVE, decode, unpacked

KEPT = Path(__file__).parents[2] / "results/sinks-emulator1/10-links"
SCHEMES = ("nonblocking", "ecmp", "ecmp-dst", "spanning-tree", "random", "hedera-gff", "hedera-sa")
WIRE = (1514 + 66 / 2) / 1448
"""Bytes on the wire per byte of payload: full segments, every second one acknowledged."""
SHARES = dict(zip(SCHEMES, (0.95, 0.62, 0.55, 0.3, 0.6, 0.86, 0.9), strict=True))


def run_document(traffic="published:stride4", scheme="hedera-sa", trial=1, *, seconds=30, settings=None, **changes):
    """One run.json, with ``settings`` in its spec: a ramp up, noise, and for Hedera a step at the first round."""
    rng = random.Random(f"{traffic} {scheme} {trial}")
    capacity = 160.0
    own = SHARES.get(scheme, 0.5)
    locality = 0.35 if "stag" in traffic else 0.0
    level = min(0.96, own + (1 - own) * locality) + rng.uniform(-0.025, 0.015)
    hedera = scheme.startswith("hedera")
    total = []
    for second in range(seconds):
        base = level if not hedera or second > 2 else 0.55
        ramp = min(1.0, 0.7 + 0.3 * second)
        total.append(round(capacity * base * ramp * rng.uniform(0.985, 1.01), 3))
    a, b = seconds / 6, seconds * 5 / 6
    window = [rate for t, rate in enumerate(total) if a <= t < b]
    document = {
        "schema": 2,
        "scheme": scheme,
        "traffic": traffic,
        "trial": trial,
        "seed": trial,
        "capacity_mbps": capacity,
        "bisection_mbps": round(sum(window) / len(window), 3),
        "payload_mbps": round((changes.get("bisection_mbps") or sum(window) / len(window)) / WIRE, 4),
        "verdict": "ok",
        "reasons": [],
        "maxmin_mbps": round(capacity * level * 1.02, 3),
        "window_s": [a, b],
        "spec": {
            "k": 4,
            "link_mbps": 10.0,
            "seconds": seconds,
            "interval_s": 2.0,
            "platform": "os-ken",
            "datapath": "user",
            "congestion_control": "cubic",
            "queue": 50,
            "flows_per_host": 1,
            "keep": 1.0,
            **(settings or {}),
        },
        "rates": {
            "t": [second + 1.0 for second in range(seconds)],
            "total_mbps": total,
            "hosts": {"0_0_2": [round(rate / 16, 3) for rate in total]},
        },
        "flows": [{"src": 0, "dst": 4, "src_port": 20001, "mbps": 9.1, "paths": [{"t": 0.0, "core": 2}]}],
        "cpu": {"t": [1.0], "idle_percent": [12.0]},
        "rounds": [
            {"t": 2.0 * n, "round": n, "large": 16, "changed": 9 if n == 1 else 0}
            for n in range(1, seconds // 2)
            if hedera
        ],
        "environment": {},
        "timing": {},
    }
    return document | changes


def rounds(*changes):
    """Scheduling rounds from (time, flows moved)."""
    times = {"polled_ms": 5.0, "compute_ms": 1.0, "install_ms": 4.0}
    return [{"t": t, "round": i, "large": 2, "changed": n, **times} for i, (t, n) in enumerate(changes, 1)]


def broken(**changes):
    """The document of a run in which a core switch was down for a while."""
    cables = [f"{pod}_2_1-4_1_1" for pod in range(4)]
    failure = {"broken": [], "mended": [], "affected": 0, "cut_off": 0, "rerouted_s": None, "moving_s": None}
    return run_document(**changes) | {
        "failures": [
            failure | {"t": 8.01, "broken": cables, "affected": 5, "rerouted_s": 0.034, "moving_s": 1.99},
            failure | {"t": 16.02, "mended": cables},
        ],
        "phases": [
            {"from_s": 5, "to_s": 8.01, "down": [], "mbps": 150.0, "maxmin_mbps": 160.0, "best_mbps": 160.0},
            {"from_s": 8.01, "to_s": 16.02, "down": cables, "mbps": 110.0, "maxmin_mbps": 119.0, "best_mbps": 120.0},
            {"from_s": 16.02, "to_s": 25, "down": [], "mbps": 150.0, "maxmin_mbps": 160.0, "best_mbps": None},
        ],
    }


def failed(**changes):
    """The document of a run that broke off before the traffic."""
    document = run_document(verdict="invalid", reasons=["the controller was not ready in 20 s"], **changes)
    for key in ("rates", "maxmin_mbps", "payload_mbps", "cpu", "rounds"):
        del document[key]
    return document | {"bisection_mbps": None, "flows": []}


def store(folder: Path, document, attempt="") -> Path:
    """Write a document where the harness would."""
    traffic = document["traffic"].replace(":", "_").replace("(", "_").replace(")", "").replace(",", "_")
    path = folder / traffic / document["scheme"] / f"trial-{document['trial']}{attempt}" / "run.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def store_rates(folder: Path, rates, **changes):
    """A sweep from {(pattern, scheme): Mb/s of the first trial, or of all}; None: an invalid run of 11 Mb/s."""
    for (pattern, scheme), values in rates.items():
        for trial, rate in enumerate(values if isinstance(values, list) else [values], 1):
            bad = {} if rate else {"verdict": "invalid", "reasons": [f"reason {trial}"]}
            store(folder, run_document(pattern, scheme, trial, bisection_mbps=float(rate or 11), **bad | changes))
    return load_sweep(folder)


def write_sweep(folder: Path, patterns, schemes=SCHEMES, trials=1) -> Path:
    """A complete sweep."""
    for pattern in patterns:
        for scheme in schemes:
            for trial in range(1, trials + 1):
                store(folder, run_document(pattern, scheme, trial))
    return folder


def kept_sweep(folder: Path, patterns, schemes, trials=1) -> Path:
    """Real runs of 10 s, with paths, link rates and rounds that fit together."""
    for name, content in unpacked(KEPT / ARCHIVE):
        run = decode(content)
        if run.pattern in patterns and run.scheme in schemes and run.trial <= trials:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    return folder
