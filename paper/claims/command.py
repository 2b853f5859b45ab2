"""The table of all claims, docs/claims.md; and the command that holds them against the data, or makes these again."""

from __future__ import annotations

import resource
import shlex
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import click

from files.writer import write_whole
from paper.claims import (
    at_scale,
    brain,
    collectives,
    emulated,
    figure_9,
    grading,
    hashes,
    hifi,
    hull,
    losses,
    mice,
    rerouting,
    simulated,
    table_2,
)
from paper.claims.claim import ROOT, Claim, Source, rows, unsaid

PAGE = Path("docs/claims.md")
CHECKED = Path("results/checked.csv")
"""When the command of a source was last run and said what the documents say: source, revision, date, processor_s."""
CLAIMS = (
    *simulated.CLAIMS,
    *at_scale.CLAIMS,
    *brain.CLAIMS,
    *emulated.CLAIMS,
    *rerouting.CLAIMS,
    *mice.CLAIMS,
    *table_2.CLAIMS,
    *hashes.CLAIMS,
    *losses.CLAIMS,
    *hull.CLAIMS,
    *hifi.CLAIMS,
    *collectives.CLAIMS,
    *grading.CLAIMS,
)


def page() -> str:
    """docs/claims.md."""
    checked = {row["source"]: row for row in rows(ROOT / CHECKED)}
    lines = []
    for claim in CLAIMS:
        first, *more = claim.words(ROOT / "results" / claim.source.data)
        last = checked.get(claim.source.data)
        cells = (
            claim.what,
            f"{_quoted(first)}{f' (and {len(more)} more)' if more else ''}",
            f"[{claim.said}]({_from_docs(claim.said)})",
            f"[{claim.source.data}](../results/{_page_of(claim.source.data)})",
            f"`{claim.source.command}`",
            f"{float(last['processor_s']):.0f} s of a processor" if last else claim.source.takes,
            claim.tolerance,
            f"{last['revision']}, {last['date']}" if last else "not since the data was made",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return _PAGE.format(rows="\n".join(lines))


def _quoted(words: str) -> str:
    """Words in a cell; a line of a table by its cells."""
    cells = [cell.strip() for cell in words.strip("| ").split("|")]
    return "; ".join(cells)


def _page_of(data: str) -> str:
    """Of a folder, what says how it was made."""
    return data if Path(data).suffix else f"{data}/README.md"


def _from_docs(said: str) -> str:
    return said.removeprefix("docs/") if said.startswith("docs/") else f"../{said}"


_PAGE = """# Claims

Made by `hedera claims --write` from `paper/claims/`. Each claim is made from the committed data, as it is spelled
where it is said: `hedera claims`, and a test, fail where a document says another number than its data.

`hedera claims --rerun NAME` runs the command of simulated data again (NAME: a part of the file's name), in a folder
of its own, holds the documents against what comes out, and keeps when that was and by which code. What is emulated
differs from run to run and from machine to machine: its command is there to be run, and `hedera compare` says by how
much.

| claim | its words, or a row of its table | said in | data | command | takes | may differ by | last run again |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

More of docs/hull.md and its note is held by `tests/packets/test_committed.py`, of docs/virtual-time-truth.md by
`tests/benchmarks/test_truth_page.py`; `tests/paper/test_committed.py` computes a cheap part of every file in
results/simulated anew. The README's section on Figure 9, and its picture, are made from results/figure9 by
`hedera claims --write`; `tests/paper/test_claims.py` holds the one against the other.
"""


@click.command()
@click.option("--write", is_flag=True, help="Write docs/claims.md, and the README's Figure 9.")
@click.option(
    "--rerun",
    metavar="NAME",
    help="Run the commands of simulated data whose files have NAME in their names again.",
)
def command(write: bool, rerun: str | None) -> None:
    """What the documents claim, and whether the committed data says so; and to make the data again."""
    if not (ROOT / CHECKED).is_file():
        raise click.UsageError("claims are of a clone of the project: an installed one has no documents and no data")
    wrong = _said_again(rerun) if rerun is not None else [(c, one) for c in CLAIMS for one in unsaid(c)]
    if write:
        write_whole(ROOT / PAGE, page())
        figure_9.write()
    for claim, words in wrong:
        click.echo(f"{claim.said} does not say what {claim.source.data} does: {words}")
    other = figure_9.unsaid() if rerun is None else []
    for line in other:
        click.echo(f"{figure_9.SAID} does not say what {figure_9.KEPT} does: {line}")
    if not wrong and not other and rerun is None:
        click.echo(f"{len(CLAIMS)} claims say what their data does")
    if wrong or other:
        raise SystemExit(1)


def _said_again(name: str) -> list[tuple[Claim, str]]:
    sources = dict.fromkeys(c.source for c in CLAIMS if c.source.again and name in c.source.data)
    if not sources:
        raise click.UsageError(f"no simulated data has {name} in its name")
    wrong = []
    for source in sources:
        with tempfile.TemporaryDirectory() as folder:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            words = [*shlex.split(source.command)[1:], "--out", folder]
            if words[0] == "hull":
                words += ["--results", f"{folder}/runs"]
            subprocess.run([sys.argv[0], *words], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            data = Path(folder) / Path(source.data).name
            found = [(c, one) for c in CLAIMS if c.source is source for one in unsaid(c, data)]
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        click.echo(f"{source.data}: {took:.0f} s, {'another number' if found else 'says the same'}")
        if not found:
            _keep(source, took)
        wrong += found
    return wrong


def _keep(source: Source, took: float) -> None:
    revision = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    kept = {row["source"]: dict(row) for row in rows(ROOT / CHECKED)}
    today = datetime.now(timezone.utc).date().isoformat()
    kept[source.data] = dict(source=source.data, revision=revision, date=today, processor_s=f"{took:.0f}")
    columns = ("source", "revision", "date", "processor_s")
    lines = [",".join(columns), *(",".join(kept[name][c] for c in columns) for name in sorted(kept))]
    write_whole(ROOT / CHECKED, "\n".join(lines) + "\n")
