"""Whether a run counts: what it did is held against what it should have done, and every doubt is named.

A run is invalid when a rule condemns it, and not judged when no rule of speed could say that the machine was fast
enough. In virtual time no machine is slow, and what was slow is told as TCP's doing. Which rules were applied, and
what they found, is part of the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from harness.verdict.evidence import Check, Evidence
from harness.verdict.soundness import of_soundness
from harness.verdict.speed import TOTAL, of_speed
from results.parts import Rule
from results.record import Verdict


@dataclass(frozen=True)
class Judgement:
    """``reasons``: why the run does not count, one sentence each; ``remarks``: what is to be said of one that may."""

    verdict: Verdict
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]
    rules: tuple[Rule, ...]


def judge(seen: Evidence, doubts: Sequence[str] = ()) -> Judgement:
    """The verdict; ``doubts`` are reasons of others."""
    sound, speed = of_soundness(seen), of_speed(seen)
    against = [sentence for check in sound for sentence in check.against]
    against += [sentence for check in speed for sentence in check.against][:1]  # the others would say the same
    remarks = tuple(check.remark for check in speed if check.remark)
    rules = tuple(_rounded(check.rule) for check in (*sound, *speed))
    if doubts or against:
        return Judgement("invalid", (*doubts, *against), remarks, rules)
    if seen.virtual or any(_shows_speed(check) for check in speed):
        return Judgement("ok", (), remarks, rules)
    why = "; ".join(check.rule.why_not for check in speed if check.rule.why_not)
    return Judgement("not judged", (f"no rule of speed could be applied: {why}",), remarks, rules)


def _rounded(rule: Rule) -> Rule:
    """As it is stored: without numbers that are none."""
    numbers = {name: getattr(rule, name) for name in ("found", "least", "most")}
    finite = {name: round(n, 4) if n is not None and math.isfinite(n) else None for name, n in numbers.items()}
    return replace(rule, kept=None if rule.kept is None else bool(rule.kept), **finite)


def _shows_speed(check: Check) -> bool:
    """Whether a rule says that the machine was fast enough, which the coarse one of the total never does."""
    return check.rule.rule != TOTAL and bool(check.rule.kept or check.remark)
