"""The numbers of the documents: which of them a claim holds, and which somebody has only read (`hedera claims`).

A number that a claim of results/claims.csv holds is computed again. All others of README.md, docs/ and the README.md
of each folder of results/ are in results/read.csv, a row for each page, in their order: nothing computes them, but one
that changes is noticed. `find_sources` looks for the data of a page's numbers, to make claims of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from record.output import read_csv

READ = Path("results/read.csv")
PAGES = ("README.md", "docs/**/*.md", "results/*/README.md")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
_AROUND = 40
"""So many characters on either side of a number tell which one it is."""
Row = Mapping[str, str]


class Number(NamedTuple):
    """One of a page's numbers as it is spelled, where it begins in the page's text (`flatten`), and its neighbours."""

    spelled: str
    offset: int
    around: str


def list_pages(project: Path) -> list[str]:
    """The documents, by their paths below ``project``."""
    paths = {path.relative_to(project).as_posix() for pattern in PAGES for path in project.glob(pattern)}
    return sorted(page for page in paths if not page.startswith("docs/examples/"))


def flatten(text: str) -> str:
    """A page's text in one line, as claims quote it."""
    return " ".join(text.split())


def find_numbers(text: str) -> list[Number]:
    """All numbers of a `flatten` text, in their order."""
    return [
        Number(match[0], match.start(), text[max(0, match.start() - _AROUND) : match.end() + _AROUND])
        for match in NUMBER.finditer(text)
    ]


def find_held(text: str, claims: Iterable[Row]) -> set[int]:
    """Where the numbers begin, in a `flatten` text, that these claims of its page hold."""
    places = set()
    for claim in claims:
        words, value = flatten(claim["words"]), re.escape(claim["value"].lstrip("+"))
        begins = [match.start() for match in re.finditer(re.escape(words), text)]
        inside = [match.start() for match in re.finditer(rf"(?<![\d.])[+]?{value}(?![\d]|\.\d)", words)]
        places |= {begin + offset for begin in begins for offset in inside}
    return places


def find_not_held(text: str, claims: Iterable[Row], generated: str = "") -> list[Number]:
    """The numbers of a page that no claim holds, without those of what a command has ``generated`` of it."""
    text, generated = flatten(text), flatten(generated)
    of_claims, begin = find_held(text, claims), text.find(generated) if generated else len(text)
    inside = range(begin, begin + len(generated))
    return [number for number in find_numbers(text) if number.offset not in of_claims and number.offset not in inside]


def describe_changed_numbers(page: str, current: Sequence[Number], read: str) -> Iterator[str]:
    """A sentence for each place where a page's numbers are not those that somebody has ``read``, spaces between."""
    # Numbers are compared in their order, as lines of a text are: one that was added moves all that follow, which then
    # need not be read again.
    read_numbers, numbers = read.split(), [number.spelled for number in current]
    for kind, i, j, m, n in SequenceMatcher(None, read_numbers, numbers, autojunk=False).get_opcodes():
        if kind != "equal":
            context = current[m].around if m < n else current[min(m, len(current) - 1)].around if current else "its end"
            says = f"says {' '.join(numbers[m:n])}, which nobody has read," if m < n else "has nothing any longer"
            yield f"{page} {says} instead of {' '.join(read_numbers[i:j]) or 'nothing'}: {context}"


# --- where a number may come from -------------------------------------------------------------------------------------

TRIPLES = (
    ("mean", "low", "high"), ("difference_points", "low_points", "high_points"), ("points", "from", "to"),
    ("percent", "low", "high"), ("over_ecmp", "low", "high"), ("percent", "lowest_percent", "highest_percent"),
    ("ours", "lowest", "highest"), ("median_mbps", "p5_mbps", "p95_mbps"), ("mean_mbps", "lowest_mbps", "highest_mbps"),
)  # fmt: skip
"""The columns of a number, and of the two that stand in brackets behind it."""
_SPELLED = r"[+-]?\d+(?:,\d{3})*(?:\.\d+)?"
_WITH_INTERVAL = re.compile(rf"(?<![\w.])\**({_SPELLED})\** \(({_SPELLED}) to ({_SPELLED})\)")
_FEW = 6
"""A row is named by at most so many of its columns."""


class Source(NamedTuple):
    """Where a number comes from: a claim without its words."""

    data: str
    column: str
    where: str
    value: str


def find_sources(line: str, files: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, Source]]:
    """Words of the line, and the source of a number in them: for each number with its interval, the one row of these
    files that has all three; of several the one that tells most words of the line, and nothing where two tell as
    many."""
    for match in _WITH_INTERVAL.finditer(line):
        # A number alone is found in many tables by chance. With both ends of its interval it is mostly found in one
        # row, so nothing else is looked for.
        candidates = [
            (name, row, triple)
            for name, rows in files.items()
            for triple in TRIPLES
            if rows and {*triple} <= rows[0].keys()
            for row in rows
            if all(_is_rounded_to(row[column], text) for column, text in zip(triple, match.groups(), strict=True))
        ]
        scored = [
            (sum(word in line for word in _collect_words(row)), name, row, triple) for name, row, triple in candidates
        ]
        best = max((score for score, *_ in scored), default=0)
        first = [source for source in scored if source[0] == best]
        if len(first) == 1:
            _, name, row, triple = first[0]
            where = _find_naming_columns(row, files[name], triple)
            if where is not None:
                for column, text in zip(triple, match.groups(), strict=True):
                    yield _quote(line, match), Source(name, column, where, text.replace(",", "").lstrip("+"))


def _quote(line: str, match: re.Match[str]) -> str:
    """A table's whole row; of prose what leads to a number, so that other numbers of the line are not meant."""
    return line if line.startswith("|") else line[line.rfind(" ", 0, max(0, match.start() - 60)) + 1 : match.end()]


def _collect_words(row: Row) -> set[str]:
    return {text for text in row.values() if len(text) > 2 and not _is_number(text)}


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None


def _is_rounded_to(cell: str, text: str) -> bool:
    digits = len(text.partition(".")[2])
    return _is_number(cell) and abs(float(cell) - float(text.replace(",", ""))) <= 0.5 * 10.0**-digits * (1 + 1e-9)


def _find_naming_columns(row: Row, rows: Sequence[Row], triple: Sequence[str]) -> str | None:
    """The fewest columns that tell a row from all others of its file, words before numbers."""
    columns = [
        name for name, text in row.items() if name not in triple and ";" not in text and not set("=<>") & {*text}
    ]
    # A row is told by what it is of (scheme=ecmp), rather than by a number that happens to differ.
    words = [name for name in columns if not any(_is_number(other[name]) for other in rows)]
    for among in (words, columns):
        for many in range(1, _FEW + 1):
            for names in combinations(among, many):
                if sum(all(other[name] == row[name] for name in names) for other in rows) == 1:
                    return ";".join(f"{name}={row[name]}" for name in names)
    return None


def load_linked_data(page: Path, project: Path) -> dict[str, Sequence[Row]]:
    """The CSV files below results/ that a page links to, or that are in a folder that it links to, by name."""
    files: set[Path] = set()
    for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        target = (page.parent / link).resolve()
        if target.suffix == ".csv":
            files.add(target)
        elif target.name == "README.md" and target.parent.parent == (project / "results").resolve():
            files |= {*target.parent.rglob("*.csv")}
    if page.parent.parent == project / "results":
        files |= {*page.parent.rglob("*.csv")}
    within = sorted(path for path in files if path.is_file() and (project / "results").resolve() in path.parents)
    return {path.relative_to((project / "results").resolve()).as_posix(): read_csv(path) for path in within}
