"""Sweeps that differ by the value of an option, as a picture: each scheme's share of the control against the value.

A point is the mean over trials of the mean over those patterns that all trials have; its whisker is Student's 95 %
interval over the trials, from three on. Where the control was not run, shares are of what all hosts' links can carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hedera.schemes import CONTROL
from plots.load import load_sweep
from plots.style import DASHES, INK, MUTED, Value, colour, house_style, save, scheme_order, setting_text, short
from plots.summary import FEWEST, tries_of
from plots.trials import Difference, difference

_APART = 3.0  # points between the marks of two schemes
Parts = Sequence[tuple[Path, Mapping[str, Value]]]
"""The folder of each sweep, and the values that are its own, by option."""


def draw(parts: Parts, path: Path) -> list[Path]:
    """Write the picture as PNG and SVG, and return the files; none where no sweep has a valid run."""
    tried = []
    for folder, values in parts:
        if runs := load_sweep(folder).runs:
            tries = tries_of(runs, runs)
            of_links = (tries.mbps / runs[0].capacity_mbps).where(tries.valid)
            tried.append((values, tries.assign(of_links=of_links)))
    of_control = any(tries.ratio.notna().any() for _, tries in tried)
    shown = [(values, found) for values, tries in tried if (found := _points(tries, of_control))]
    with house_style():
        return save(_figure(shown, of_control), path, ("png", "svg")) if shown else []


def _points(tries: Any, of_control: bool) -> dict[str, Difference]:
    """The mean share of each scheme and its interval."""
    found, share = {}, "ratio" if of_control else "of_links"
    for scheme, own in tries[tries[share].notna()].groupby("scheme"):
        by_trial = own.pivot_table(share, "pattern", "trial").dropna()
        if len(by_trial) and not (of_control and scheme == CONTROL):
            found[scheme] = difference(None, by_trial.mean().tolist())
    return found


def _figure(shown: Sequence[tuple[Mapping[str, Value], Mapping[str, Difference]]], of_control: bool) -> Any:
    from matplotlib.figure import Figure

    choices = {option: list(dict.fromkeys(values[option] for values, _ in shown)) for option in shown[0][0]}
    along = max(choices, key=lambda option: len(choices[option]))
    panels: dict[str, list[tuple[Value, Mapping[str, Difference]]]] = {}
    for values, found in shown:
        rest = ", ".join(f"{option} {setting_text(value)}" for option, value in values.items() if option != along)
        panels.setdefault(rest, []).append((values[along], found))
    made = Figure(figsize=(max(4.8, 3.4 * len(panels) + 0.8), 3.6), layout="constrained")
    fields = made.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    schemes = scheme_order(scheme for _, found in shown for scheme in found)
    for ax, (title, own) in zip(fields, panels.items(), strict=True):
        _panel(ax, own, schemes, choices[along])
        ax.set(xlabel=along, title=title)
    fields[0].set_ylabel("share of the control" if of_control else "share of all hosts' links")
    trials = max(row.pairs for _, found in shown for row in found.values())
    whisker = "; whisker: 95 % interval over trials" if trials >= FEWEST else ""
    made.suptitle(
        f"mean over patterns and {trials} trial{'s' if trials > 1 else ''}{whisker}",
        x=0.01, ha="left", fontsize=9, color=MUTED,
    )  # fmt: skip
    made.legend(*fields[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(schemes)))
    return made


def _panel(ax: Any, own: Sequence[tuple[Value, Mapping[str, Difference]]], schemes: Sequence[str], every: Any) -> None:
    from matplotlib.transforms import ScaledTranslation

    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in every)
    at = {value: float(value) if numbers else float(place) for place, value in enumerate(every)}
    low, high = min(at.values()), max(at.values())
    if logarithmic := numbers and low > 0 and high / low >= 8:
        ax.set_xscale("log")
        ax.minorticks_off()
    room = 0.08 * (high - low) or 0.5
    ax.set_xlim(*((low / 1.2, high * 1.2) if logarithmic else (low - room, high + room)))
    ax.set_xticks(list(at.values()), [short(setting_text(value)) for value in every])
    highest = max((row.high or row.mean or 0.0) for _, found in own for row in found.values())
    ax.set_ylim(0, 1.05 * min(max(1.0, highest), 1.25))
    ax.grid(axis="y")
    ax.axhline(1, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)
    for number, scheme in enumerate(schemes):
        rows = [(at[value], found[scheme]) for value, found in own if scheme in found]
        aside = ScaledTranslation((number - (len(schemes) - 1) / 2) * _APART / 72, 0, ax.figure.dpi_scale_trans)
        ax.errorbar(
            [x for x, _ in rows], [row.mean for _, row in rows],
            yerr=[0.0 if row.low is None else (row.mean or 0.0) - row.low for _, row in rows],
            color=colour(scheme), linestyle="-" if numbers else "", linewidth=1.4, marker="o", markersize=4,
            elinewidth=0.9, capsize=2, label=short(scheme), transform=ax.transData + aside,
        )  # fmt: skip
