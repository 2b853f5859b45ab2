"""A picture as an object of matplotlib's: on a screen as it was drawn, on a printed page at the page's width.

For print everything is laid out anew: text of 8 points, as many panels beside each other as have room, the legend below
them in as many columns as fit. The heading and the quiet line with the conditions go into the file's title, because a
page has a caption. Colours get hatches (areas) and dashes and marks (lines), since grey does not keep them apart.

Matplotlib takes a third of a second to import, and so does this module: `plots.pictures.create_figure` does it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import IdentityTransform, blended_transform_factory

from plots.style import COLOURS, INK, MUTED, house_style

POINTS = 8.0
"""The size of all text on a printed page."""
_CHARACTER_IN = 0.0585
"""A character of such text is so wide on average, inches."""
_NARROWEST_IN = 1.45
"""Panels beside each other are at least so wide, with the numbers of their axes."""
_LOWEST_IN, _HIGHEST_IN = 1.0, 2.1
"""A panel's height is `_FLATNESS` of its width, within these."""
_FLATNESS = 0.62
_PAGE_IN = 7.0
"""Many panels may have so much of a page's height together."""
_HATCHES = ("", "////", "\\\\\\\\", "//..", "xxxx", "....", "----", "", "||||", "oo", "++++", "**")
_MARKS = ("", "o", "s", "p", "^", "D", "v", "P", "X", "<", ">", "*")
_LINES: tuple[Any, ...] = (
    "-", "-", (0, (5, 1.5)), (0, (3, 3)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)), (0, (3, 1, 1, 1, 1, 1)), "-",
    (0, (8, 2)), (0, (2, 2)), (0, (6, 1, 1, 1)), (0, (1, 2)),
)  # fmt: skip
"""The first of these belong to the colours in COLOURS, by their places there. Further colours get the others, in the
order in which they come in the picture."""
_MARKS_ON_A_LINE = 8
STILL = IdentityTransform()
_SETS = ("o", ".", "D", "s")
"""Marks that show a series. Others, such as the ends of whiskers and crosses, have a meaning of their own."""


class PrintableFigure(Figure):
    """A figure that is saved in the house's style, whoever saves it: text in a PDF or PostScript file is TrueType
    (type 42), and the same numbers give the same file. ``caption``: what stood in the heading, after
    `lay_out_for_print`."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.caption, self._dots_per_inch = "", 150
        self._entries: list[tuple[Any, Sequence[Any], Sequence[str], str]] = []

    def legend(self, *args: Any, **settings: Any) -> Any:
        """As a figure's; its entries are kept, because a legend cannot be laid out anew."""
        legend = super().legend(*args, **settings)
        handles, labels = args if args else (settings["handles"], [h.get_label() for h in settings["handles"]])
        kept_entries = [entry for entry in self._entries if entry[0] in self.legends]
        self._entries = [*kept_entries, (legend, list(handles), list(labels), settings.get("title") or "")]
        return legend

    def savefig(self, fname: Any, **settings: Any) -> None:
        """As a figure's. Without dates or versions in it, unless ``metadata`` says so."""
        kind = settings.get("format") or Path(str(getattr(fname, "name", fname))).suffix.lstrip(".") or "png"
        if kind in _QUIET:
            title = {"Title": self.caption} if self.caption else {}
            settings["metadata"] = {**_QUIET[kind], **title, **settings.get("metadata", {})}
        with house_style():
            super().savefig(fname, **settings)

    def content(self, kind: str) -> bytes:
        """The picture as a PNG, SVG or PDF file."""
        content = io.BytesIO()
        self.savefig(content, format=kind, dpi=self._dots_per_inch, facecolor="white")
        return content.getvalue()

    # --- for print ------------------------------------------------------------------------------------------

    def lay_out_for_print(self, width_in: float | None) -> None:
        """Lay the picture out anew, for a page, at this width; None: only have its colours kept apart in grey."""
        _keep_apart_in_grey(self)
        if width_in is None:
            return
        with house_style():
            self._lay_out(width_in)

    def _lay_out(self, width_in: float) -> None:
        self._dots_per_inch = 300
        self.caption = self._remove_heading()
        entries = self._remove_legends()
        for text in self.findobj(Text):
            text.set_fontsize(POINTS)
        panels = [axes for axes in self.axes if axes.get_subplotspec() is not None]
        columns = _regrid(self, panels, width_in)
        for axes in panels:
            axes.tick_params(which="both", labelsize=POINTS)
            axes.yaxis.label.set_text(_wrap_lines(axes.get_ylabel(), 24))
            for text in _reset_titles(
                axes
            ):  # roughly: how wide the panel is, is not known before they have their places
                text.set_text(_wrap_lines(text.get_text(), int((width_in / columns - 0.5) / _CHARACTER_IN)))
        self.set_layout_engine("constrained", h_pad=0.03, w_pad=0.02)
        rows = -(-len(panels) // columns)
        high = min(max(_FLATNESS * width_in / columns, _LOWEST_IN), _HIGHEST_IN, max(_PAGE_IN / rows, 0.7))
        self.set_size_inches(width_in, rows * (high + 0.8) + 2.0)  # enough for what is beside the panels; see below
        self._add_legend(entries, width_in)
        for axes in panels:
            _spread_tick_labels(self, axes)
            _fold_titles(axes)
            _remove_colliding(axes)
        for _ in range(2):  # what is beside the panels gets its room in addition
            self.draw_without_rendering()
            lowest = min(axes.get_position().height for axes in panels) * self.get_figheight()
            self.set_figheight(min(self.get_figheight() + rows * (high - lowest), 30.0))

    def _remove_heading(self) -> str:
        """Take the heading and the quiet lines away, and give them back as a sentence or two."""
        parts = []
        if heading := self.get_suptitle():
            parts.append(heading)
            self.suptitle("")
        for axes in self.axes:
            for where in ("left", "center", "right"):
                title: Text = {"left": axes._left_title, "center": axes.title, "right": axes._right_title}[where]  # type: ignore[attr-defined]
                if title.get_text() and to_hex(title.get_color()) == MUTED:
                    parts.append(title.get_text())
                    title.set_text("")
        # A label of the whole figure would lie upon a legend below it: the panels get it.
        if (below := self.get_supxlabel()) and to_hex(self._supxlabel.get_color()) == MUTED:  # type: ignore[attr-defined]
            parts.append(below)
            below = ""
        for axes in self.axes:
            if below and not axes.get_xlabel():
                axes.set_xlabel(below)
            if (beside := self.get_supylabel()) and not axes.get_ylabel():
                axes.set_ylabel(beside)
        for place in (self.supxlabel, self.supylabel):
            place("")
        return " ".join(" ".join(part.split()).rstrip(".") + "." for part in parts)

    def _remove_legends(self) -> list[tuple[Any, str]]:
        """Take all legends away, and give their entries, each label once. A legend's title belongs to the caption."""
        handle_of: dict[str, Any] = {}
        for _, handles, labels, title in self._entries:
            handle_of |= {label: handle for handle, label in zip(handles, labels, strict=True)}
            if title:
                self.caption = f"{self.caption.strip()} {' '.join(title.split()).rstrip('.')}."
        for legend in list(self.legends):
            legend.remove()
        for axes in self.axes:
            if (inside := axes.get_legend()) is not None:
                handles, labels = axes.get_legend_handles_labels()
                handle_of |= {
                    label: handle for handle, label in zip(handles, labels, strict=True) if label not in handle_of
                }
                inside.remove()
        return [(handle, label) for label, handle in handle_of.items()]

    def _add_legend(self, entries: Sequence[tuple[Any, str]], width_in: float) -> None:
        """Below the panels, in as many columns as have room."""
        if not entries:
            return
        labels = [fill(label, int(width_in / _CHARACTER_IN) - 6) for _, label in entries]
        for columns in range(min(len(entries), 6), 0, -1):
            legend = super().legend(
                [handle for handle, _ in entries], labels, loc="outside lower center", ncols=columns, fontsize=POINTS,
                handlelength=2.4, handleheight=0.9, columnspacing=1.0, handletextpad=0.5, labelspacing=0.25,
                borderpad=0.1, borderaxespad=0.1,
            )  # fmt: skip
            if columns == 1 or legend.get_window_extent().width <= 0.99 * self.bbox.width:
                return
            legend.remove()


_QUIET: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""By format, what keeps a file from saying when and by what it was made. Without it the same numbers would not give the
same file."""


# --- panels -------------------------------------------------------------------------------------------------


def _regrid(figure: Figure, panels: Sequence[Axes], width_in: float) -> int:
    """Put the panels into as many columns as have room, row by row, each with its axes' numbers and labels; how many
    columns these are."""
    old = [axes.get_subplotspec() for axes in panels]
    rows = [spec.rowspan.start for spec in old if spec is not None]
    before = max((spec.colspan.start for spec in old if spec is not None), default=0) + 1
    columns = min(before, max(1, int(width_in / _NARROWEST_IN)))
    if columns > 1 and columns < before and before % columns and before // columns < 2:
        columns = max(count for count in range(1, columns + 1) if count == 1 or len(panels) % count == 0)
    grid = GridSpec(-(-len(panels) // columns), columns, figure=figure)
    first_of_row = {row: axes for row, axes in reversed(list(zip(rows, panels, strict=True)))}
    last_of_column = {spec.colspan.start: axes for spec, axes in zip(old, panels, strict=True) if spec is not None}
    for number, (axes, spec, row) in enumerate(zip(panels, old, rows, strict=True)):
        assert spec is not None
        axes.set_subplotspec(grid[divmod(number, columns)])
        for axis, place in ((axes.xaxis, (axes.transAxes, STILL)), (axes.yaxis, (STILL, axes.transAxes))):
            axis._autolabelpos = True  # type: ignore[union-attr]  # not where it was put by hand
            axis.label.set_transform(blended_transform_factory(*place))
        if columns == before:
            if spec.colspan.start and axes.get_ylabel() == first_of_row[row].get_ylabel():
                axes.set_ylabel("")
            if (
                spec.rowspan.stop < max(rows) + 1
                and axes.get_xlabel() == last_of_column[spec.colspan.start].get_xlabel()
            ):
                axes.set_xlabel("" if axes.get_shared_x_axes().joined(axes, panels[-1]) else axes.get_xlabel())
            continue
        at_left, lowest = number % columns == 0, number + columns >= len(panels)
        leader, foot = first_of_row[row], last_of_column[spec.colspan.start]
        together = axes.get_shared_y_axes().joined(axes, panels[number - number % columns])
        if at_left or not together:
            axes.tick_params(axis="y", labelleft=True)
            if not axes.get_ylabel():
                axes.set_ylabel(leader.get_ylabel(), fontsize=POINTS)
        else:
            axes.tick_params(axis="y", labelleft=False)
            axes.set_ylabel("")
        below = panels[min(number + columns, len(panels) - 1)]
        if lowest or not axes.get_shared_x_axes().joined(axes, below):
            axes.tick_params(axis="x", labelbottom=True)
            if not axes.get_xlabel():
                axes.set_xlabel(foot.get_xlabel(), fontsize=POINTS)
        elif axes.get_xlabel() == foot.get_xlabel():
            axes.set_xlabel("")
    return columns


def _reset_titles(axes: Axes) -> Iterator[Text]:
    for name in ("title", "_left_title", "_right_title"):
        title: Text = getattr(axes, name)
        title.set_fontweight("normal")
        yield title
    yield axes.xaxis.label


def _fold_titles(axes: Axes) -> None:
    """Put the panel's titles and the label below it on as many lines as they need at the width that it has."""
    room = axes.get_window_extent().width
    for text in _reset_titles(axes):
        lines, characters = text.get_text(), 60
        while lines and text.get_window_extent().width > room and characters > 8:
            characters -= 2
            text.set_text(_wrap_lines(lines, characters))


def _wrap_lines(text: str, characters: int) -> str:
    return "\n".join(fill(line, max(characters, 8)) for line in text.splitlines())


def _spread_tick_labels(figure: Figure, axes: Axes) -> None:
    """Where the labels of an x axis overlap, words are turned, and of numbers every second goes."""
    figure.draw_without_rendering()
    labels = [label for label in axes.get_xticklabels() if label.get_text() and label.get_visible()]
    if len(labels) < 2 or not _is_overlapping(labels):
        return
    if all(_is_number(label.get_text()) for label in labels):
        while len(labels) > 2 and _is_overlapping(labels):
            ticks = axes.get_xticks()
            texts = [label.get_text() for label in axes.get_xticklabels()]
            axes.set_xticks(ticks[::2], texts[::2])
            figure.draw_without_rendering()
            labels = [label for label in axes.get_xticklabels() if label.get_text()]
        return
    for label in axes.get_xticklabels():
        label.set(text=label.get_text().replace("\n", " "), rotation=90, ha="center", va="top", rotation_mode="default")
    axes.set_xticks(axes.get_xticks(), [label.get_text().replace("\n", " ") for label in axes.get_xticklabels()])


def _is_overlapping(labels: Iterable[Text]) -> bool:
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)
    return any(a.x1 + 2 > b.x0 for a, b in pairwise(boxes))


def _remove_colliding(axes: Axes) -> None:
    """Take away the words among the data that lie upon each other."""
    boxes = [(text, text.get_window_extent()) for text in axes.texts if text.get_text()]
    for text, box in boxes:
        text.set_visible(not any(other is not text and box.overlaps(beside) for other, beside in boxes))


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").replace("\u2212", "-"))
    except ValueError:
        return False
    return True


# --- grey ---------------------------------------------------------------------------------------------------


def _keep_apart_in_grey(figure: PrintableFigure) -> None:
    """Give every colour of areas and lines a hatch, a dash and a mark of its own, in the legends' entries too."""
    colours = [colour for colour in COLOURS.values() if colour != "#000000"]
    place: dict[str, int] = {colour: number for number, colour in enumerate(colours)}

    def place_of(colour: Any) -> int | None:
        """None: it is ink, paper, a shade behind the data or the grey of quiet lines."""
        name, (red, green, blue) = to_hex(colour), to_rgb(colour)
        if name in place:
            return place[name]
        if max(red, green, blue) - min(red, green, blue) < 0.2:
            return None
        return place.setdefault(name, len(place))

    legends = [entry for _, handles, _, _ in figure._entries for entry in handles]
    for artist in [*_list_members(figure.axes), *legends]:
        _mark(artist, place_of)


def _list_members(panels: Iterable[Axes]) -> Iterator[Any]:
    for axes in panels:
        yield from (*axes.patches, *axes.lines, *axes.collections)


def _mark(artist: Any, place_of: Callable[[Any], int | None]) -> None:
    if isinstance(artist, tuple):
        for part in artist:
            _mark(part, place_of)
    elif isinstance(artist, Patch):
        place = place_of(artist.get_facecolor()) if artist.get_fill() and artist.get_alpha() is None else None
        if place is not None and artist.get_hatch() is None:
            artist.set(hatch=_HATCHES[place % len(_HATCHES)], edgecolor=INK, linewidth=0.4)
            if hasattr(artist, "set_hatchcolor"):  # from matplotlib 3.11 on it may differ from the edge's
                artist.set_hatchcolor(INK)
    elif isinstance(artist, Line2D):
        has_line, mark = artist.get_linestyle() not in ("None", "none", "", " "), artist.get_marker()
        place = place_of(artist.get_color() if has_line else artist.get_markeredgecolor())
        if not place or not (has_line or mark in _SETS) or mark not in (*_SETS, "None", "", " ", None):
            return
        points = np.size(artist.get_xdata())
        artist.set(marker=_MARKS[place % len(_MARKS)], markersize=max(3.2, min(artist.get_markersize(), 4.0)))
        if has_line:
            artist.set_markevery((0, max(1, points // _MARKS_ON_A_LINE)))
            if artist.get_linestyle() in ("-", "solid"):
                artist.set_linestyle(_LINES[place % len(_LINES)])
