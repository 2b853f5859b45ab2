"""A claim: what a document says, in words that are made from the data behind it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plots.trials import difference

ROOT = Path(__file__).parents[2]
UNKNOWN = "not told"
EMULATED = "another machine's runs: docs/conditions.md; the digits are those of these runs"

Rows = Sequence[Mapping[str, str]]
"""Of a CSV file: cells by column."""


@dataclass(frozen=True)
class Source:
    """Data that is kept: a CSV file, or a folder of summaries, below results/; the command that makes it; the time
    that took, as far as it is known. ``again``: whether `hedera claims --rerun` may run it, for a simulation says the
    same again."""

    data: str
    command: str
    takes: str
    again: bool = False


@dataclass(frozen=True)
class Claim:
    """``what`` a document (``said``) tells, in ``words`` that are made from the data of a source. ``tolerance``: what
    may differ in another run without making it wrong."""

    what: str
    said: str
    source: Source
    words: Callable[[Path], Iterator[str]]
    tolerance: str = "none: the digits that are spelled"


def rows(path: Path) -> Rows:
    """Of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def interval_told(values: Sequence[float], spelled: str = ".0f") -> str:
    """The mean over seeds, and in brackets Student's 95 % interval; the mean alone of fewer than three, or of equal
    ones."""
    found = difference(None, values)
    assert found.mean is not None
    if found.low is None or found.high is None or max(values) - min(values) < 1e-9:
        return format(found.mean, spelled)
    return f"{found.mean:{spelled}} ({found.low:{spelled}} to {found.high:{spelled}})"


def unsaid(claim: Claim, data: Path | None = None) -> list[str]:
    """What the data says (``data``: other than what is kept) and the document does not."""
    text = _one_space((ROOT / claim.said).read_text(encoding="utf-8"))
    words = list(claim.words(data or ROOT / "results" / claim.source.data))
    return [one for one in words if _one_space(one) not in text] if words else ["nothing: the data says otherwise"]


def _one_space(text: str) -> str:
    return re.sub(r"\s+", " ", text)
