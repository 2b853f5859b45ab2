"""The paper's Figure 9 at a glance: the published patterns by family, and the mean over all, as shares of the control.

A bar is the mean over patterns of medians over trials, as in the table beside it; its whisker is of the trials' means
over those patterns that all trials have (`plots.summary`). The published bar stands after ours. The published ECMP is
held against `spanning-tree`, which it behaves like (docs/ecmp.md), where that was run: then `ecmp` has a gap after it.
Further static schemes are in the picture of all patterns (`plots.figure9`) alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedera.schemes import best_first
from plots.figure9 import conditions, whisker
from plots.report.compare import Family, everything, families, family
from plots.shares import STATIC, Spread
from plots.style import DASHES, INK, MUTED, colour, house_style, save, short
from plots.summary import ENOUGH, FEWEST, Summary, tries_of
from plots.trials import difference
from record.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEANT = ("spanning-tree", "ecmp")
"""Of the static schemes those shown, the one that the published ECMP is held against first."""
_WIDTH = 0.84  # of a group


def applies(summary: Summary) -> bool:
    """Whether all patterns are published ones, some families have several, and there are shares of the control."""
    published = all(pattern.startswith("published:") for pattern in summary.patterns)
    return published and len(families(summary)) < len(summary.patterns) and bool(everything(summary).means)


def draw(runs: Sequence[Run], summary: Summary, path: Path) -> list[Path]:
    with house_style():
        return save(figure(runs, summary), path, ("png", "svg"))


def figure(runs: Sequence[Run], summary: Summary) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    groups = [each for each in families(summary) if each.means] + [everything(summary)]
    left_out = {scheme for scheme in best_first() if not scheme.startswith("hedera-")}.difference(_MEANT)
    schemes = sorted(
        set(summary.schemes) - left_out,
        key=lambda s: (_MEANT.index(s) if s in _MEANT else len(_MEANT), summary.schemes.index(s)),
    )
    held = next((scheme for scheme in _MEANT if scheme in schemes), None)
    made = Figure(figsize=(1.2 * len(groups) + 0.8, 3.8), layout="constrained")
    ax = made.subplots()
    ends = _ends(runs, groups)
    top = max(mean[which] or 0.0 for each in groups for mean in each.means.values() for which in ("ours", "published"))
    ax.set(xlim=(-0.5, len(groups) - 0.5), ylim=(0, 1.06 * max(top, 1.0)), ylabel="share of the control")
    names = [short(each.name).replace("(", "\n(") if each.name != "all" else "mean of all" for each in groups]
    ax.set_xticks(range(len(groups)), names)
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y")
    ax.axhline(1, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)
    ax.axvspan(len(groups) - 1.5, len(groups) - 0.5, color="#f2f2f2", linewidth=0, zorder=0)
    for place, each in enumerate(groups):
        _group(ax, place, each, schemes, held, ends)
    ax.set_title(f"{conditions(runs)}; means over patterns", fontsize=8.5, color=MUTED)
    made.suptitle("Bisection bandwidth", x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    entries: list[tuple[Any, str]] = [(Patch(facecolor=colour(scheme)), short(scheme)) for scheme in schemes]
    told = f", its ECMP after {held}" if held else ""
    entries.append((Patch(facecolor="white", edgecolor=INK), f"published (NSDI '10){told}"))
    entries.append((Line2D([], [], color=INK, lw=0.9, ls=DASHES), "control"))
    made.legend(*zip(*entries, strict=True), loc="outside lower center", ncols=len(entries), fontsize=8.5)
    return made


def _group(
    ax: Axes, place: int, each: Family, schemes: Sequence[str], held: str | None, ends: Mapping[tuple[str, str], Spread]
) -> None:
    width = _WIDTH / (2 * len(schemes))
    for number, scheme in enumerate(schemes):
        if scheme not in each.means:
            continue
        x, mean = place - _WIDTH / 2 + width * (2 * number + 0.5), each.means[scheme]
        bars: list[tuple[float, float, dict[str, Any]]] = [(x, mean["ours"], {"color": colour(scheme), "linewidth": 0})]
        if mean["published"] is not None and (scheme not in STATIC or scheme == held):
            edge = INK if scheme in STATIC else colour(scheme)
            bars.append((x + width, mean["published"], {"facecolor": "white", "edgecolor": edge, "linewidth": 1.1}))
        for at, height, style in bars:
            ax.bar(at, height, width * 0.88, zorder=2, **style)
            if each.name == "all":
                ax.text(at, 0.02, f"{height:.0%}", ha="center", rotation=90, fontsize=8, zorder=5)
        if (each.name, scheme) in ends:
            whisker(ax, x, ends[each.name, scheme])


def _ends(runs: Sequence[Run], groups: Sequence[Family]) -> dict[tuple[str, str], Spread]:
    """The whiskers of families and schemes that have enough trials."""
    tries = tries_of(runs, runs)
    tries["family"] = tries.pattern.map(family)
    found = {}
    for each in groups:
        own = tries if each.name == "all" else tries[tries.family == each.name]
        for scheme, shares in own.groupby("scheme"):
            trials = shares.pivot_table("ratio", "pattern", "trial").dropna().mean().tolist()
            row = difference(None, trials)
            if row.mean is not None and row.low is not None and row.high is not None and len(trials) >= FEWEST:
                ends = np.percentile(trials, [5, 95]) if len(trials) >= ENOUGH else (row.low, row.high)
                found[each.name, scheme] = Spread(row.mean, *map(float, ends))
    return found
