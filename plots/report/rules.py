"""The rules of the verdict that were applied to the runs of a page, and their findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from results.parts import Rule
from results.record import Run

MEANINGS = {
    "processes": "nothing ended that should not have",
    "clock": "the machine’s clock was not set",
    "limits": "no port was above its rate",
    "flows": "every flow ran from start to end",
    "counters": "bwm-ng and iperf agree",
    "paths": "flows took the paths that the controller claims",
    "losses": "no packet was lost outside the queues",
    "total": "the total, over the max-min fair total of the paths",
    "progress": "of traffic that comes and goes: the time that flows’ paths allow, over what they took",
    "full links": "what half of the links that have to be full carried at least",
    "links alone": "the total, over what TCP’s windows would have brought over the links alone",
}
OF_SPEED = ("total", "progress", "full links", "links alone")


def applied(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """For each rule of any of the runs, in the order of their verdicts: how many runs kept and broke it, and to how
    many it was not applied; for rules of speed, its limit and the lowest value found."""
    by_name: dict[str, list[Rule]] = {}
    for run in runs:
        for rule in run.rules:
            by_name.setdefault(rule.rule, []).append(rule)
    return [
        {
            "rule": name,
            "meaning": MEANINGS.get(name, ""),
            "kept": sum(rule.kept is True for rule in rules),
            "broken": sum(rule.kept is False for rule in rules),
            "not_applied": sum(rule.kept is None for rule in rules),
            "limit": next((rule.least for rule in rules if rule.least is not None), None),
            "least_found": min((rule.found for rule in rules if rule.found is not None), default=None)
            if name in OF_SPEED
            else None,
        }
        for name, rules in by_name.items()
    ]


def required(run: Run) -> list[list[Any]]:
    """The rules of a run for the page's script: name, kept, value found, required value, reason if not applied."""
    rows = []
    for rule in run.rules:
        most = "" if rule.most is None else f"at most {rule.most:g}"
        limit = most if rule.least is None else f"at least {rule.least:g}"
        rows.append([rule.rule, rule.kept, rule.found, limit, rule.why_not or ""])
    return rows
