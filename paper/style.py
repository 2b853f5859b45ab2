"""What the pictures of this package share, in the common style of `plots.style`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from plots.style import INK, MUTED, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PUBLISHED = "#d4d4d4"
ENGINE_LABELS = {"aimd": "AIMD (section 5.5)", "maxmin": "max-min fair rates"}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def saved(figure: Figure, path: Path) -> Path:
    """Write it as PNG; returns the file."""
    return save(figure, path)[0]


def heading(figure: Figure, title: str, subtitle: str = "") -> None:
    """A bold title over the figure, and a quiet line below it when there are axes to put it on."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
    if subtitle:
        figure.axes[0].set_title(subtitle, loc="left", fontsize=9, color=MUTED, pad=10)


def broken(axes: Axes) -> None:
    """Two strokes across the foot of an axis that does not begin with zero."""
    for height in (0.02, 0.035):
        axes.plot(
            (-0.012, 0.012),
            (height - 0.008, height + 0.008),
            transform=axes.transAxes,
            color=INK,
            lw=1,
            clip_on=False,
        )


def clean(axes: Axes, grid: str = "y") -> None:
    """Lines along an axis instead of ticks."""
    axes.grid(axis=grid)  # type: ignore[arg-type]
    axes.tick_params(length=0)
