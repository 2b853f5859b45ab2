"""The pictures: queues as their distribution, smallest buffers against flows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hifi.buffers import CONTROLS, TARGETS, Row
from hifi.dctcp import PUBLISHED
from plots.style import DASHES, INK, MUTED, house_style, logarithmic, save

COLOURS = {"dctcp": "#0072b2", "reno": "#d55e00", "cubic": "#009e73"}


def queues(rows: Sequence[Row], path: Path) -> Path:
    """A panel for DCTCP and one for TCP: the distribution of the queue over samples, a line for every run; the
    published 5th percentiles, medians and 95th percentiles as marks."""
    from matplotlib.figure import Figure

    controls = list(dict.fromkeys(row["congestion_control"] for row in rows))
    with house_style():
        figure = Figure(figsize=(4.2 * len(controls), 3.4), layout="constrained")
        for axes, control in zip(figure.subplots(1, len(controls), squeeze=False)[0], controls, strict=True):
            own = [row for row in rows if row["congestion_control"] == control]
            for seed in dict.fromkeys(row["seed"] for row in own):
                run = [row for row in own if row["seed"] == seed]
                line = axes.plot([row["packets"] for row in run], [row["percent"] for row in run], lw=1.2)[0]
                line.set(color=COLOURS[control], alpha=0.7, label="ours" if seed == own[0]["seed"] else None)
            for (who, theirs), mark in zip(PUBLISHED.items() if own[0]["mbps"] == 100 else (), "os", strict=False):
                axes.plot(theirs[control], (5, 50, 95), mark, ms=6, mfc="white", mec=INK, label=who)
            axes.set(xlabel="packets in the queue", ylabel="looks with at most so many, %", ylim=(0, 100))
            axes.set_xlim(left=0)
            name = "DCTCP" if control == "dctcp" else "TCP (Reno)"
            axes.set_title(f"{name}, links of {own[0]['mbps']:g} Mb/s")
            axes.legend(fontsize=8)
        return save(figure, path.with_suffix(""))[0]


def least(rows: Sequence[Row], path: Path) -> Path:
    """The smallest buffer against the number of flows, beside the rule of thumb; a panel for each target."""
    from matplotlib.figure import Figure

    targets = [target for target in TARGETS if any(row["target"] == target for row in rows)]
    with house_style():
        figure = Figure(figsize=(3.6 * len(targets) + 0.6, 3.4), layout="constrained")
        panels = figure.subplots(1, len(targets), sharey=True, squeeze=False)[0]
        for axes, target in zip(panels, targets, strict=True):
            own = [row for row in rows if row["target"] == target]
            flows = sorted({row["flows"] for row in own})
            rule = {row["flows"]: row["rule"] for row in own}
            axes.plot(flows, [rule[n] for n in flows], color=INK, ls=DASHES, label="RTT C / sqrt(n)")
            axes.axhline(own[0]["product"], color=MUTED, ls=DASHES, label="RTT C")
            for control in CONTROLS:
                found = [row for row in own if row["congestion_control"] == control]
                packets = [row["least"] for row in found]
                axes.plot([row["flows"] for row in found], packets, "o-", color=COLOURS[control], label=control)
            axes.set(xscale="log", xlabel="flows", title=f"{target:.1%} of the link")
            logarithmic(axes)
            axes.set_xticks(flows, [str(n) for n in flows])
            axes.tick_params(axis="x", which="minor", bottom=False)
        panels[0].set_ylabel("smallest buffer, packets")
        panels[0].set_ylim(1, 2 * own[0]["product"])
        panels[0].legend(fontsize=8, loc="lower left")
        return save(figure, path.with_suffix(""))[0]
