"""Pictures as files: an empty one in the house's style, its heading, and the formats and the width it is saved in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plots.style import INK, MUTED, house_style
from record.files import write_whole
from record.options import FORMATS, get_pictures

if TYPE_CHECKING:
    from plots.printable_figure import PrintableFigure


def create_figure(width: float, height: float, layout: Any = "constrained") -> PrintableFigure:
    """An empty figure, in inches."""
    from plots.printable_figure import PrintableFigure

    return PrintableFigure(figsize=(width, height), layout=layout)


def save(figure: PrintableFigure, path: Path, formats: Iterable[str] = ("png",)) -> list[Path]:
    """Write a figure once per format, of those that the command was asked for or else these, and return the files. The
    suffix of ``path`` is replaced. Folders are made."""
    settings = get_pictures()
    formats = settings.formats or tuple(formats)
    if settings.width_in is not None or "pdf" in formats:
        figure.lay_out_for_print(settings.width_in)
    files = list_written_files(path, formats)
    for file, suffix in zip(files, formats, strict=True):
        write_whole(file, figure.content(suffix))
        # It is laid out by now. A second time would take as long, and might move something by a fraction of a point, so
        # that PNG and SVG of one picture differ.
        figure.set_layout_engine("none")
    return files


def list_written_files(path: Path, formats: Iterable[str] = ("png",)) -> list[Path]:
    """The files that `save` writes."""
    stem = path.name.removesuffix(path.suffix) if path.suffix.lstrip(".") in FORMATS else path.name
    return [path.with_name(f"{stem}.{suffix}") for suffix in get_pictures().formats or formats]


@contextmanager
def picture(path: Path, width: float, height: float, title: str = "", subtitle: str = "") -> Iterator[PrintableFigure]:
    """An empty figure, in inches; when it is filled it gets its heading, lines instead of ticks, and is saved (as PNG
    unless the command was asked for others); without a title it is saved as it is. The quiet line below the title
    stands on the first axes."""
    with house_style():
        figure = create_figure(width, height)
        yield figure
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
            for axes in figure.axes:
                axes.grid(axis="y")
                axes.tick_params(length=0)
        if subtitle:
            figure.axes[0].set_title(subtitle, loc="left", fontsize=9, color=MUTED, pad=10)
        save(figure, path)
