"""One page of a folder of results: the pictures, and every number beside the published one."""

from __future__ import annotations

import base64
import csv
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from results.files import write_whole

PARTS = {
    "figure1b": "Figure 1b: static flows, links of 5 us",
    "figure1b-drain95": "Figure 1b with phantom queues that drain at 95 %",
    "figure1c": "Figure 1c: static flows, links of 100 us",
    "table2": "Table II: dynamic flows",
    "figure4": "Figure 4: web search",
    "figure5": "Figure 5: low-latency search",
    "sensitivity": "HULL's parameters: latency against completion",
}
"""In the report's order: the name of picture and CSV, and the heading."""

TABLES = {"": "", "_reductions": ": how much less HULL has, in percent, with 95 % intervals"}
"""The ends of a CSV's name, and of its heading."""


def write(folder: Path) -> Path:
    """Write a self-contained ``hull.html`` into the folder from the results there; returns its path.

    Raises FileNotFoundError, one sentence, when there are none.
    """
    wanted = [(folder / (name + end), title + words) for name, title in PARTS.items() for end, words in TABLES.items()]
    parts = [_part(path, title) for path, title in wanted if path.with_name(f"{path.name}.csv").exists()]
    if not parts:
        raise FileNotFoundError(f"there are no results of hull figures in {folder}: run hedera hull table 2 first")
    jinja = Environment(loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True)
    path = folder / "hull.html"
    write_whole(path, jinja.get_template("hull.html").render(parts=parts))
    return path


def _part(path: Path, title: str) -> dict[str, Any]:
    picture = path.with_name(f"{path.name}.png")
    with path.with_name(f"{path.name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    encoded = base64.b64encode(picture.read_bytes()).decode() if picture.exists() else ""
    return {"title": title, "picture": encoded, "rows": rows}
