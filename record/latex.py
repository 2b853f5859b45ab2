"""Tables as LaTeX, for a paper in two columns: a table stands in one column where it fits, else across both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from record.files import write_whole

if TYPE_CHECKING:
    from rich.table import Table


class _Layout(NamedTuple):
    """A size of text for a width of page. ``points``: TeX's, of the text's size and of the space between columns."""

    environment: str
    size: str
    points: float
    space: float
    stacked: bool = False
    """Whether a cell of several parts, separated by commas, has a line for each."""


# The widths that the usual classes of two columns have on letter paper: 3.33 and 7 inches.
_WIDTHS = {"table": 240.0, "table*": 500.0}
_SIZES = (("", 10, 6), (r"\small", 9, 4), (r"\footnotesize", 8, 4))
_LAYOUTS = [
    *(_Layout("table", *size) for size in _SIZES[:2]),
    *(_Layout("table*", *size) for size in _SIZES),
    _Layout("table*", *_SIZES[-1], stacked=True),
]
_ROWS = 40
"""How many rows one float holds: a column has room for some fifty lines."""


def write_latex(
    path: Path, tables: Sequence[Table], notes: str = "", clean: Callable[[str], str] = lambda text: text
) -> Path:
    """Write tables of `record.output.make_plain_table` as LaTeX, each a float with the rules of the package booktabs.

    Its caption is the table's title and then ``notes``: what a reader of a paper needs to know of the numbers. A table
    that is wider than a column in small text goes across both; one that is wider than that in the smallest text is
    scaled, by the package graphicx. Rows beyond forty go into a further float. ``clean``: takes this machine's places
    out of the text.
    """
    parts = [part for table in tables for part in _make_floats(table, notes)]
    packages = [name for name, sign in _PACKAGES.items() if any(sign in part for part in parts)]
    head = "".join(f"% \\usepackage{{{name}}}\n" for name in packages)
    write_whole(path, clean("\n".join([head, *parts])))
    return path


_PACKAGES = {"booktabs": r"\toprule", "graphicx": r"\resizebox"}


def _make_floats(table: Table, notes: str) -> Iterator[str]:
    from rich.text import Text

    numbers = [column.justify == "right" for column in table.columns]
    headings = [Text.from_markup(str(column.header)).plain for column in table.columns]
    cells = [[Text.from_markup(str(cell)).plain for cell in column.cells] for column in table.columns]
    rows = list(zip(*cells, strict=True))
    layout, scaled = _choose_layout([headings, *rows])
    title = " ".join(Text.from_markup(str(table.title or "")).plain.split()).rstrip(".:")
    caption = " ".join(filter(None, [f"{title}." if title else "", notes]))
    for first in range(0, max(len(rows), 1), _ROWS):
        yield "\n".join(
            [
                f"\\begin{{{layout.environment}}}[htbp]",
                r"\centering",
                f"\\caption{{{escape_latex(caption if first == 0 else f'{title}, continued.')}}}",
                *([layout.size] if layout.size else []),
                f"\\setlength{{\\tabcolsep}}{{{layout.space:g}pt}}",
                *([r"\resizebox{\textwidth}{!}{%"] if scaled else []),
                f"\\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numbers)}}}",
                r"\toprule",
                _join_row(map(escape_latex, headings)),
                r"\midrule",
                *(
                    _join_row(map(_format_cell, row, numbers, [layout.stacked] * len(row)))
                    for row in rows[first : first + _ROWS]
                ),
                r"\bottomrule",
                r"\end{tabular}" + ("}" if scaled else ""),
                f"\\end{{{layout.environment}}}\n",
            ]
        )


def _join_row(cells: Iterator[str]) -> str:
    return " & ".join(cells) + r" \\"


def _choose_layout(rows: Sequence[Sequence[str]]) -> tuple[_Layout, bool]:
    """The first layout that a table fits in, and whether it has to be scaled all the same."""
    for layout in _LAYOUTS:
        widths = [max(_measure_cell(cell, layout) for cell in column) for column in zip(*rows, strict=True)]
        if sum(widths) + 2 * layout.space * len(widths) <= _WIDTHS[layout.environment]:
            return layout, False
    return layout, True


def _measure_cell(cell: str, layout: _Layout) -> float:
    lines = _split_cell(cell) if layout.stacked else [cell]
    return max(sum(map(_measure_character, line)) for line in lines) * layout.points


def _measure_character(character: str) -> float:
    """About how wide Computer Modern, the widest of the usual types, sets it, over the size of the text."""
    if character in "ijl.,:;'!|":
        return 0.28
    if character in "frst()[]- ":
        return 0.38
    return 0.82 if character in "mwMW%+=<>@&" else 0.75 if character.isupper() else 0.53


def _split_cell(cell: str) -> list[str]:
    """The parts of a cell, with their commas; one inside brackets or a number is no end of a part."""
    return re.split(r"(?<=,) (?![^(]*\))", cell)


def _format_cell(cell: str, number: bool, stacked: bool) -> str:
    if stacked and len(lines := _split_cell(cell)) > 1:
        made = r" \\ ".join(_format_cell(line, number, False) for line in lines)
        return rf"\shortstack[{'r' if number else 'l'}]{{{made}}}"
    text = escape_latex(cell)
    if not number:
        return f"{{{text}}}" if text.startswith("[") else text  # after a row's end a bracket is a length
    text = re.sub(r"(?<![\w.-])-(?=\.?\d)", "$-$", text)
    return re.sub(r"(\d)e\+?(-?)0*(\d+)", r"\1$\\times10^{\2\3}$", text)


_LATEX: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "`": r"\textasciigrave{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "\u202f": r"\,", "\u2009": r"\,", "\u2212": "$-$", "\u2264": r"$\le$", "\u2265": r"$\ge$", "\u2192": r"$\to$",
    "\u03bc": r"$\mu$", "\u2019": "'", **{character: f"\\{character}" for character in "&%$#_{}"},
}  # fmt: skip


def escape_latex(text: str) -> str:
    """A text as LaTeX sets it: its special characters escaped, and no hyphens joined to a dash."""
    return re.sub("-(?=-)", "-{}", text.translate(str.maketrans(_LATEX)))
