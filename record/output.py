"""How results are written: rows as CSV, as JSON and as tables in the terminal; `record.latex` has LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from record.files import write_whole
from traffic.user_files import Unreadable, read_regular

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Row = Mapping[str, Any]
MAX_CSV = 64 << 20


def make_plain_table(title: str, *headings: str, left: int = 1) -> Table:
    """A table for the terminal without lines; all but the first ``left`` columns are numbers."""
    from rich.markup import escape
    from rich.table import Table

    made = Table(title=escape(title), title_justify="left", box=None, pad_edge=False)
    for number, heading in enumerate(headings):
        made.add_column(escape(heading), justify="left" if number < left else "right", overflow="fold")
    return made


def format_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV, below the names of the first one's columns: a line per row, six significant digits, nothing for
    None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row.values()])
    return text.getvalue()


def write_csv(path: Path, rows: Sequence[Row]) -> Path:
    """Write rows as `format_csv` has them, making the folder."""
    write_whole(path, format_csv(rows))
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    """Rows by the names of columns, without lines that begin with #. ValueError, one sentence, for what is no CSV."""
    try:
        lines = io.StringIO(read_regular(path, MAX_CSV).decode("utf-8"), newline="")
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))
    except (csv.Error, UnicodeDecodeError, Unreadable) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def as_json(rows: Sequence[Row]) -> str:
    """``{"rows": [...]}``, one object per row. Null stands for infinite and NaN, which JSON does not have."""
    plain = [
        {name: None if isinstance(cell, float) and not math.isfinite(cell) else cell for name, cell in row.items()}
        for row in rows
    ]
    return json.dumps({"rows": plain}, allow_nan=False)


def conclude(rows: Sequence[Row], tables: Sequence[Table | str], files: Sequence[Path], json_wanted: bool) -> None:
    """The end of every command: print the rows as JSON, or else tables and sentences; then name the files written."""
    if json_wanted:
        click.echo(as_json(rows))
    else:
        console = make_wide_console()
        for part in tables:
            console.print(part, highlight=False, soft_wrap=isinstance(part, str))
    if files:
        click.echo("written: " + "  ".join(str(file) for file in files), err=json_wanted)


def make_wide_console() -> Console:
    """Standard output. A file or a pipe has no width of its own, and gets one that tables fit in."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=130)
