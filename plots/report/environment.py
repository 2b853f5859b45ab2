"""What the runs have in common: settings and machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import asdict

from plots.load import VARYING
from plots.sample import option_name, setting_text
from results.parts import Fact
from results.record import Run

Rows = list[tuple[str, list[tuple[str, int]]]]
"""Name, and its values with the number of runs that have them, the most frequent first."""


def settings(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The settings that all these runs share, by their options, and the measured window."""
    if not runs:
        return []
    spec = {name: value for name, value in asdict(runs[0].spec).items() if name not in VARYING}
    a, b = runs[0].window_s
    named = [(option_name(name), setting_text(value)) for name, value in spec.items()]
    return [*named, ("measured window", f"second {a:.3g} to {b:.3g}")]


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


def _flat(record: Mapping[str, Fact], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}: ")
        else:
            told = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            yield prefix + name, told if value not in (None, "") else "none"
