"""One run, or several seeds of it, as an object for programs and as sentences for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from packets.experiment import Experiment
from packets.result import Result
from topos.arrays import Float64


def as_object(experiment: Experiment, results: Sequence[Result]) -> dict[str, Any]:
    """Means and 99th percentiles of all results' samples together, with units in the names."""
    found: dict[str, Any] = {
        "scheme": experiment.scheme,
        "workload": experiment.workload,
        "load": experiment.load,
        "flows": experiment.flows,
        "seconds": experiment.seconds,
        "seeds": len(results),
    }
    unfinished = sum(result.unfinished for result in results)
    found["verdict"] = "invalid" if unfinished else "ok"
    found["reasons"] = [f"{unfinished} requests were never answered"] if unfinished else []
    for name, samples in (
        ("switch_latency_us", [result.queue_us for result in results]),
        ("fct_900B_us", [result.small_us for result in results]),
        ("fct_10MB_ms", [result.large_ms for result in results]),
        ("query_completion_ms", [result.query_ms for result in results]),
        ("mean_response_ms", [result.response_ms for result in results]),
        ("servers_in_time", [result.in_time for result in results]),
    ):
        _add(found, name, np.concatenate(samples))
    by_connection = np.mean([result.goodput_mbps for result in results], axis=0)
    found["goodput_mbps"] = round(float(by_connection.sum()), 3)
    if experiment.workload == "static":
        found["goodput_by_flow_mbps"] = [round(float(each), 3) for each in by_connection]
    counts = {name: sum(result.counts[name] for result in results) for name in results[0].counts}
    counts["utilisation"] /= len(results)
    found["counts"] = counts
    return found


def _add(found: dict[str, Any], name: str, samples: Float64) -> None:
    if samples.size:
        found[f"{name}_mean"] = round(float(samples.mean()), 4)
        found[f"{name}_p99"] = round(float(np.percentile(samples, 99)), 4)
        found[f"{name}_samples"] = int(samples.size)


def in_sentences(found: dict[str, Any]) -> list[str]:
    """The object as sentences."""
    what = f"{found['flows']} flows" if found["workload"] == "static" else f"large files at {found['load']:.0%} load"
    counts = found["counts"]
    lines = [
        f"{found['scheme']}, {found['workload']}, {what}: {found['seconds']:g} s measured"
        + (f", {found['seeds']} seeds" if found["seeds"] > 1 else "")
        + (f"; INVALID: {found['reasons'][0]}" if found["reasons"] else ""),
        f"queueing latency at the client's port {_pair(found, 'switch_latency_us', 'us')}; "
        f"link {counts['utilisation']:.1%} used, {found['goodput_mbps']:,.1f} Mb/s of payload",
    ]
    for name, label, unit in (
        ("fct_900B_us", "900-byte files", "us"),
        ("fct_10MB_ms", "10 MB files", "ms"),
        ("query_completion_ms", "queries", "ms"),
    ):
        if f"{name}_mean" in found:
            lines.append(f"{found[f'{name}_samples']:,} {label} complete in {_pair(found, name, unit)}")
    if "goodput_by_flow_mbps" in found:
        lines.append("by flow: " + ", ".join(f"{each:,.1f}" for each in found["goodput_by_flow_mbps"]) + " Mb/s")
    share = counts["marked"] / max(counts["packets"], 1)
    lines.append(
        f"{share:.1%} of packets marked, {counts['dropped']:,.0f} dropped, {counts['timeouts']:,.0f} timeouts; "
        f"it took {counts['wall_s']:.1f} s"
    )
    return lines


def _pair(found: dict[str, Any], name: str, unit: str) -> str:
    mean, p99 = (shown(found[f"{name}_{statistic}"]) for statistic in ("mean", "p99"))
    return f"{mean} {unit} (mean), {p99} {unit} (99th percentile)"


def shown(value: float) -> str:
    """A number with a readable count of digits."""
    return f"{value:,.1f}" if value >= 10 else f"{value:.3g}"
