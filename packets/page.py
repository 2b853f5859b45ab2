"""One page that shows what is in a folder of results: the pictures, and every number beside the published one."""

from __future__ import annotations

import base64
import csv
from collections.abc import Sequence
from html import escape
from pathlib import Path

from files.writer import write_whole

PARTS = {
    "figure1b": "Figure 1b: static flows, links of 5 us",
    "figure1c": "Figure 1c: static flows, links of 100 us",
    "table2": "Table II: dynamic flows",
    "figure4": "Figure 4: web search",
    "figure5": "Figure 5: low-latency search",
    "sensitivity": "What HULL's parameters trade",
}
"""In the report's order: the name of picture and CSV, and the heading."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1100px; margin: 2em auto; padding: 0 1em }
img { max-width: 100% } table { border-collapse: collapse; font-size: 13px } details > div { overflow-x: auto }
td, th { padding: 2px 10px; text-align: left; border-bottom: 1px solid #ddd } .number { text-align: right }
summary { cursor: pointer; color: #0072b2 } h2 { margin-top: 2em }
"""


def write(folder: Path) -> Path:
    """Write ``hull.html`` into the folder, in one piece, out of what is there; returns it.

    Raises FileNotFoundError, one sentence, when nothing is there.
    """
    parts = [_part(folder, name, title) for name, title in PARTS.items() if (folder / f"{name}.csv").exists()]
    if not parts:
        raise FileNotFoundError(
            f"there are no results of hull figures in {folder}: run hedera hull table 2 first"
        )
    page = (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>HULL, packet by packet</title><style>{_STYLE}</style>\n"
        "<h1>HULL, packet by packet</h1>\n<p>Ours against the numbers of the report and its authors' files. "
        f"docs/hull.md tells what is simulated and how far to trust it.</p>\n{''.join(parts)}</html>\n"
    )
    path = folder / "hull.html"
    write_whole(path, page.encode())
    return path


def _part(folder: Path, name: str, title: str) -> str:
    picture = folder / f"{name}.png"
    image = ""
    if picture.exists():
        data = base64.b64encode(picture.read_bytes()).decode()
        image = f'<p><img alt="{escape(title)}" src="data:image/png;base64,{data}"></p>\n'
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    numbers = [all(_is_number(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [_line("th", header, numbers), *(_line("td", row, numbers) for row in rows)]
    return (
        f"<h2>{escape(title)}</h2>\n{image}<details><summary>All {len(rows)} rows</summary>\n"
        f"<div><table>{''.join(lines)}</table></div></details>\n"
    )


def _line(element: str, row: Sequence[str], numbers: Sequence[bool]) -> str:
    """A row of a table; numbers at the right edge of their column."""
    cells = (
        f'<{element} class="number">{escape(cell)}</{element}>'
        if number
        else f"<{element}>{escape(cell)}</{element}>"
        for cell, number in zip(row, numbers, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>\n"


def _is_number(cell: str) -> bool:
    """Also nothing: what is not published."""
    try:
        float(cell or 0)
    except ValueError:
        return False
    return True
