"""What the runs have in common: settings and machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from results.parts import Fact
from results.record import Run

Rows = list[tuple[str, list[tuple[str, int]]]]
"""Name, and its values with the number of runs that have them, the most frequent first."""

_SETTINGS = (
    ("fat-tree", "k = {0.k}"),
    ("link rate", "{0.link_mbps:g} Mb/s"),
    ("traffic", "{0.seconds:g} s per run"),
    ("time", "{0.time}"),
    ("Hedera's interval", "{0.interval_s:g} s"),
    ("large flow", "{0.large_flows}, above {0.threshold:.0%} of the link rate"),
    ("TCP congestion control", "{0.congestion_control}"),
    ("TCP's selective acknowledgements", "{0.sack}"),
    ("TCP's shortest timeout", "{0.min_rto_ms} ms"),
    ("queue of every port", "{0.queue} full packets"),
    ("largest packet", "{0.mtu} bytes"),
    ("datapath", "{0.datapath}"),
    ("controller platform", "{0.platform}"),
)


def settings(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The settings that all these runs share, as (name, value)."""
    if not runs:
        return []
    a, b = runs[0].window_s
    return [
        *((name, form.format(runs[0].spec)) for name, form in _SETTINGS),
        ("measured window", f"second {a:.3g} to {b:.3g}"),
    ]


def environment(runs: Sequence[Run]) -> Rows:
    """Every entry of the runs' environments, nested ones as ``tools: iperf``."""
    found: dict[str, Counter[str]] = {}
    for run in runs:
        for name, value in _flat(run.environment):
            found.setdefault(name, Counter())[value] += 1
    return [(name, values.most_common()) for name, values in found.items()]


def machine(runs: Sequence[Run]) -> str:
    """One line on the machine and its software, as far as stored; empty when nothing was."""
    common = {name: values[0][0] for name, values in environment(runs)}

    def known(form: str, *names: str) -> str:
        return form.format(*(common[name] for name in names)) if all(n in common for n in names) else ""

    revisions = sorted({str(run.environment["revision"]) for run in runs if "revision" in run.environment})
    parts = (
        "virtual time" if common.get("time") == "virtual" else known("{} x {}", "cores", "processor"),
        known("{}, kernel {}", "system", "kernel"),
        known("Open vSwitch {}", "tools: ovs-vswitchd"),
        known("{} {}", "platform", "platform_version"),
        known("Python {}", "python"),
        f"revision{'s' * (len(revisions) > 1)} {', '.join(revisions)} of this project" if revisions else "",
    )
    return "; ".join(part for part in parts if part)


def dates(runs: Sequence[Run]) -> str:
    """When the runs were started: one day, or the first and the last."""
    days = sorted({run.started.date().isoformat() for run in runs if run.started})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""


def _flat(record: Mapping[str, Fact]) -> list[tuple[str, str]]:
    rows = []
    for name, value in record.items():
        if isinstance(value, Mapping):
            rows += [(f"{name}: {inner}", said) for inner, said in _flat(value)]
        else:
            rows.append((name, _said(value)))
    return rows


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_said, value))
    return "none" if value in (None, "") else str(value)
