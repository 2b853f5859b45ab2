"""The finding of a check, as text that a student can act on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hedera.text import one_line, printable

_LONGEST = 1000
"""The limit of a check's text, characters; four times that for its example."""


@dataclass(frozen=True)
class Check:
    """One finding.

    ``name``: what should hold. ``section``: the section of the paper, or the contract, that requires it. ``words``:
    what is wrong, empty if nothing is; ``example``: a small input that shows it. ``weakness``: it is acceptable.
    Part of the text comes from the submission: ``words`` are one line, and both are safe for a terminal.
    """

    name: str
    section: str
    words: str = ""
    example: str = ""
    weakness: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", one_line(self.words, most=_LONGEST))
        object.__setattr__(self, "example", printable(self.example[: 4 * _LONGEST]))

    @property
    def passed(self) -> bool:
        return not self.words

    def lines(self) -> Iterator[str]:
        mark = "ok  " if self.passed else ("weak" if self.weakness else "NO  ")
        yield f"{mark} {self.name} ({self.section})"
        if not self.passed:
            yield f"       {self.words}"
            yield from (f"         {line}" for line in self.example.splitlines())
