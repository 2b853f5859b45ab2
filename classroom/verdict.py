"""What a check found, in words that a student can act on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    ``name``: what should hold. ``section``: where the paper says so, or what contract asks for it. ``words``: what is
    wrong, empty where nothing is; ``example``: the smallest input that shows it. ``weakness``: it can be lived with.
    """

    name: str
    section: str
    words: str = ""
    example: str = ""
    weakness: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.words


def share_passed(checks: list[Check]) -> float:
    """Which fraction of the checks passed; 0 for none."""
    return sum(check.passed for check in checks) / len(checks) if checks else 0.0
