"""The documents' headline claims, held against the data that is committed with them (`hedera claims`).

`results/claims.csv` has a row for each number: the claim, the document that says it (``said``) and in which ``words``;
the CSV file below results/ (``data``) and the ``command`` that makes it; and the number itself, ``value`` as it is
spelled. It is taken from a ``column`` in the rows that fulfil ``where`` (``scheme=ecmp;seconds>10``), divided row by
row by what is ``over`` (another column, or as many other rows), in a ``unit`` (`UNITS`), and then summed up (``of``:
mean, min, max or total). ``tolerance``: by how much another run may differ; none: the digits that are spelled.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import numpy as np

from plots.load import load_sweep
from record.archive import ARCHIVE
from record.files import write_whole
from record.output import read_csv
from topos.arrays import Float64

ROOT = Path(__file__).parents[1]
TABLE = Path("results/claims.csv")
PAGE = Path("docs/claims.md")
Row = Mapping[str, str]

UNITS: dict[str, Callable[[Float64], Float64]] = {
    "": lambda ratio: ratio,
    "percent": lambda ratio: 100 * ratio,
    "more": lambda ratio: 100 * (ratio - 1),
    "less": lambda ratio: 100 * (1 - ratio),
    "off": lambda ratio: 100 * np.abs(ratio - 1),
}
"""What is made of a ratio: itself, or percent, more than one, less than one, or either."""
_SUMMED: dict[str, Callable[[Float64], float]] = {"mean": np.mean, "min": np.min, "max": np.max, "total": np.mean}
_COMPARED = {"=": operator.eq, ">": operator.gt, "<": operator.lt}


def computed(claim: Row, data: Path) -> float:
    rows, over = read_csv(data), claim["over"]
    found = [row for row in rows if _fulfils(row, claim["where"])]
    ours = [row[claim["column"]] for row in found]
    if re.search("[=<>]", over):
        beside = [row[claim["column"]] for row in rows if _fulfils(row, over)]
    else:
        beside = [row[over] if over else "1" for row in found]
    if not found or len(ours) != len(beside):
        raise ValueError(f"{data} has {len(ours)} rows with {claim['where']}, and {len(beside)} to divide them by")
    pairs = [(float(a), float(b)) for a, b in zip(ours, beside, strict=True) if a and b]
    mine, others = np.array(pairs).T
    if claim["of"] == "total":
        mine, others = mine.sum(), others.sum()
    return float(_SUMMED[claim["of"]](UNITS[claim["unit"]](mine / others)))


def _fulfils(row: Row, where: str) -> bool:
    for condition in filter(None, where.split(";")):
        column, sign, wanted = re.split("([=<>])", condition, maxsplit=1)
        if not (row[column] == wanted if sign == "=" else _COMPARED[sign](float(row[column]), float(wanted))):
            return False
    return True


def wrong(claim: Row, root: Path | None = None) -> str:
    """What is wrong with a claim, in a sentence; empty when its document says what its data does."""
    root = root or ROOT
    said, value = claim["said"], claim["value"]
    words, text = (" ".join(text.split()) for text in (claim["words"], (root / said).read_text(encoding="utf-8")))
    if words not in text:
        return f"{said} does not say: {words}"
    if not re.search(rf"(?<![\d.]){re.escape(value)}(?![\d]|\.\d)", words):
        return f"the words of {said} have no {value}: {words}"
    found = computed(claim, root / "results" / claim["data"])
    spelled = 0.5 * 10.0 ** -len(value.partition(".")[2])
    if abs(found - float(value)) > (float(claim["tolerance"]) if claim["tolerance"] else spelled * (1 + 1e-9)):
        return f"{said} says {value} where {claim['data']} has {found:.4g}: {words}"
    return ""


def page(claims: list[dict[str, str]]) -> str:
    together: dict[tuple[str, ...], list[str]] = {}
    for one in claims:
        link = one["said"].removeprefix("docs/") if one["said"].startswith("docs/") else f"../{one['said']}"
        command = one["command"] if "`" in one["command"] else f"`{one['command']}`"
        data = f"[{one['data']}](../results/{one['data']})"
        cells = (one["claim"], f"[{one['said']}]({link})", data, command, one["tolerance"] or "the digits spelled")
        together.setdefault(cells, []).append(one["value"])
    lines = [f"| {claim} | {', '.join(values)} | {' | '.join(more)} |" for (claim, *more), values in together.items()]
    return _PAGE.format(rows="\n".join(lines))


_PAGE = """# Claims

Made by `hedera claims --write` from [results/claims.csv](../results/claims.csv). Every number is computed anew from
the committed data: `hedera claims`, and a test, fail where a document says another one. A simulation says the same
again when its command is run again; what is emulated differs by machine and run, and `hedera compare` says by how much.

| claim | numbers | said in | data | command | may differ by |
| --- | --- | --- | --- | --- | --- |
{rows}

Each check of the project (`./check.sh`) runs again what is cheap: `tests/studies/paper/test_committed.py` computes a
part of every file in results/simulated anew, but of completion_k*.csv, table2.csv, and what tables 1, 4 and 5 timed;
`tests/studies/hull/test_report.py` holds more of docs/hull.md. The README's section on Figure 9, and its picture,
are made from results/figure9 by `hedera claims --write`.
"""


@click.command()
@click.option("--write", is_flag=True, help="Write docs/claims.md, and the README's Figure 9.")
def command(write: bool) -> None:
    """Say whether the documents' headline numbers are those of the committed data."""
    from studies import readme

    if not (ROOT / TABLE).is_file():
        raise click.UsageError("claims are of a clone of the project: an installed one has no documents and no data")
    claims = read_csv(ROOT / TABLE)
    if write:
        write_whole(ROOT / PAGE, page(claims))
        readme.write(ROOT)
    found = [*filter(None, map(wrong, claims)), *readme.unsaid(ROOT)]
    for one in found:
        click.echo(one)
    if found:
        raise SystemExit(1)
    for folder in sorted({Path(one["data"]).parent for one in claims} | {Path(readme.KEPT).relative_to("results")}):
        if (ROOT / "results" / folder / ARCHIVE).exists() and (mixed := load_sweep(ROOT / "results" / folder).mixture):
            click.echo(f"results/{folder}: {mixed}")
    click.echo(f"{len({one['claim'] for one in claims})} claims, {len(claims)} numbers: all as their data says")
