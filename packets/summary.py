"""One run, or several seeds of it, as an object for programs and as sentences for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from packets.experiment import Experiment
from packets.metrics import SAMPLES, STATISTICS
from packets.result import Result
from packets.tables import shown

METRICS = tuple(name for name in SAMPLES if name.endswith(("_us", "_ms", "_time")))
FILES = (("fct_900B_us", "900-byte files"), ("fct_10MB_ms", "10 MB files"), ("query_completion_ms", "queries"))


def as_object(experiment: Experiment, results: Sequence[Result]) -> dict[str, Any]:
    """Means and 99th percentiles of all results' samples together, with units in the names."""
    fields = ("scheme", "workload", "load", "flows", "seconds")
    found: dict[str, Any] = {name: getattr(experiment, name) for name in fields}
    found["seeds"] = len(results)
    unfinished = sum(result.unfinished for result in results)
    found["verdict"] = "invalid" if unfinished else "ok"
    found["reasons"] = [f"{unfinished} requests were never answered"] if unfinished else []
    for name in METRICS:
        samples = np.concatenate([SAMPLES[name](result) for result in results])
        if samples.size:
            for statistic in ("mean", "p99"):
                found[f"{name}_{statistic}"] = round(STATISTICS[statistic](samples), 4)
            found[f"{name}_samples"] = int(samples.size)
    by_connection = np.mean([result.goodput_mbps for result in results], axis=0)
    found["goodput_mbps"] = round(float(by_connection.sum()), 3)
    if experiment.workload == "static":
        found["goodput_by_flow_mbps"] = [round(float(each), 3) for each in by_connection]
    counts = {name: sum(result.counts[name] for result in results) for name in results[0].counts}
    counts["utilisation"] /= len(results)
    found["counts"] = counts
    return found


def in_sentences(found: dict[str, Any]) -> list[str]:
    def both(name: str) -> str:
        unit = name.rpartition("_")[2]
        mean, p99 = (shown(found[f"{name}_{statistic}"]) for statistic in ("mean", "p99"))
        return f"{mean} {unit} (mean), {p99} {unit} (99th percentile)"

    what = f"{found['flows']} flows" if found["workload"] == "static" else f"large files at {found['load']:.0%} load"
    counts = found["counts"]
    lines = [
        f"{found['scheme']}, {found['workload']}, {what}: {found['seconds']:g} s measured"
        + (f", {found['seeds']} seeds" if found["seeds"] > 1 else "")
        + (f"; INVALID: {found['reasons'][0]}" if found["reasons"] else ""),
        f"queueing latency at the client's port {both('switch_latency_us')}; "
        f"link {counts['utilisation']:.1%} used, {found['goodput_mbps']:,.1f} Mb/s of payload",
    ]
    for name, files in FILES:
        if f"{name}_mean" in found:
            lines.append(f"{found[f'{name}_samples']:,} {files} complete in {both(name)}")
    if "goodput_by_flow_mbps" in found:
        lines.append("by flow: " + ", ".join(f"{each:,.1f}" for each in found["goodput_by_flow_mbps"]) + " Mb/s")
    share = counts["marked"] / max(counts["packets"], 1)
    lines.append(
        f"{share:.1%} of packets marked, {counts['dropped']:,.0f} dropped, {counts['timeouts']:,.0f} timeouts; "
        f"it took {counts['wall_s']:.1f} s"
    )
    return lines
