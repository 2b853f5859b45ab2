"""One page that shows what is in a folder of results: the pictures, and every number beside the published one."""

from __future__ import annotations

import base64
import csv
import os
import tempfile
from html import escape
from pathlib import Path

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
img { max-width: 100% } table { border-collapse: collapse; font-size: 13px }
td, th { padding: 2px 10px; text-align: right; border-bottom: 1px solid #ddd } td:nth-child(-n+4) { text-align: left }
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
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>HULL</title><style>{_STYLE}</style>\n'
        "<h1>HULL, packet by packet</h1>\n<p>Ours against the numbers of the report and its authors' files. "
        f"docs/hull.md tells what is simulated and how far to trust it.</p>\n{''.join(parts)}</html>\n"
    )
    path = folder / "hull.html"
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(page)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)
    return path


def _part(folder: Path, name: str, title: str) -> str:
    picture = folder / f"{name}.png"
    image = ""
    if picture.exists():
        data = base64.b64encode(picture.read_bytes()).decode()
        image = f'<p><img alt="{escape(title)}" src="data:image/png;base64,{data}"></p>\n'
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f"<h2>{escape(title)}</h2>\n{image}<details><summary>All {len(rows)} rows</summary>\n"
        f"<table><tr>{head}</tr>\n{body}</table></details>\n"
    )
