"""A Jupyter notebook (nbformat 4.5) that reads an exported sweep, with matplotlib and no other package."""

from __future__ import annotations

import json
from typing import Any

_READ = """\
import csv
from statistics import median

import matplotlib.pyplot as plt


def rows(name):
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


runs, flows = rows("{runs}"), rows("{flows}")
print(len(runs), "runs,", len(flows), "flows")
"""
_SHARES = """\
shares, published = {}, {}
for run in runs:
    bar = run["pattern"], run["scheme"]
    if run["share_of_control"]:
        shares.setdefault(bar, []).append(float(run["share_of_control"]))
    if run["published_share"]:
        published[bar] = float(run["published_share"])
for bar in shares:
    words = f"{median(shares[bar]):.3f} of the control, {len(shares[bar])} trials; published:"
    print(*bar, words, published.get(bar, "none"))
"""
_BARS = """\
patterns = list(dict.fromkeys(pattern for pattern, _ in shares))
schemes = list(dict.fromkeys(scheme for _, scheme in shares))
width = 0.8 / max(len(schemes), 1)
figure, axes = plt.subplots(figsize=(max(6, 1.6 * len(patterns)), 4))
for i, scheme in enumerate(schemes):
    own = [(x, (pattern, scheme)) for x, pattern in enumerate(patterns) if (pattern, scheme) in shares]
    places = [x + (i - len(schemes) / 2 + 0.5) * width for x, _ in own]
    axes.bar(places, [median(shares[bar]) for _, bar in own], width, label=scheme)
    marks = [(place, published[bar]) for place, (_, bar) in zip(places, own) if bar in published]
    axes.scatter([x for x, _ in marks], [y for _, y in marks], marker="_", s=200, color="black", zorder=3)
axes.set_xticks(range(len(patterns)), patterns, rotation=30, ha="right")
axes.set_ylabel("share of the control (black: published)")
axes.legend()
figure.savefig("shares.png", bbox_inches="tight")
"""
_FLOWS = """\
figure, axes = plt.subplots(figsize=(6, 4))
for scheme in dict.fromkeys(flow["scheme"] for flow in flows):
    rates = sorted(float(flow["mbps"]) for flow in flows if flow["scheme"] == scheme and flow["verdict"] == "ok")
    axes.step(rates, [(i + 1) / len(rates) for i in range(len(rates))], label=scheme)
axes.set_xlabel("payload of a flow over its life, Mb/s")
axes.set_ylabel("share of the flows")
axes.legend()
figure.savefig("flows.png", bbox_inches="tight")
"""


def text(sweep: str, runs: str, flows: str) -> str:
    """The notebook of the sweep of that name, as the file's text; ``runs`` and ``flows`` are files beside it."""
    cells = (
        ("markdown", f"# {sweep}\n\nA row per run in `{runs}`, a row per flow in `{flows}`; `run` joins them. "
         f'With pandas: `pandas.read_csv("{runs}")`. docs/fields.md says what the columns mean.'),
        ("code", _READ.replace("{runs}", runs).replace("{flows}", flows)),
        ("markdown", "Shares of the control: medians over the trials that count."),
        ("code", _SHARES),
        ("code", _BARS),
        ("markdown", "Rates of all flows."),
        ("code", _FLOWS),
    )  # fmt: skip
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    made = [_cell(number, kind, source) for number, (kind, source) in enumerate(cells)]
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _cell(number: int, kind: str, source: str) -> dict[str, Any]:
    shared = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": source.splitlines(keepends=True),
    }
    return shared | ({"execution_count": None, "outputs": []} if kind == "code" else {})
