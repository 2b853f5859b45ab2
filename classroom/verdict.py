"""What a check found, in words that a student can act on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hedera.text import one_line, printable

_LONGEST = 1000
"""Characters of what is said about a check; four times that for its example."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    ``name``: what should hold. ``section``: where the paper says so, or what contract asks for it. ``words``: what is
    wrong, empty where nothing is; ``example``: the smallest input that shows it. ``weakness``: it can be lived with.
    Much of it is what somebody's code says: ``words`` are one line, and neither speaks to a terminal.
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
        """Whether nothing is wrong."""
        return not self.words


def share_passed(checks: Sequence[Check], free: Collection[str] = ()) -> float:
    """Which fraction of the checks passed; 0 where none did but those in ``free``, which a file that does nothing
    passes, too."""
    passed = [check.name for check in checks if check.passed]
    return len(passed) / len(checks) if set(passed) - set(free) else 0.0
