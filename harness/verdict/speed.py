"""Whether the machine was fast enough; in virtual time, where every machine is, what was slow was TCP."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from harness.verdict.evidence import Check, Evidence
from results.parts import Rule

MIN_OF_MAXMIN = 0.85
"""A run below this share of the max-min fair total for its own paths was slowed by the machine, or by TCP, not by
paths. It is coarse: above it, other rules have to say that the machine was fast enough."""
MIN_OF_FULL = 0.97
"""What half of the links that have to be full must carry of their rate at least. The median, because TCP does not
share a path of several full links as max-min fairness does; a machine that is too slow is so for every link."""

TOTAL = "total"


def of_speed(seen: Evidence) -> list[Check]:
    """Every rule of this kind."""
    return [_total(seen), _progress(seen), _full_links(seen)]


def _total(seen: Evidence) -> Check:
    share = seen.measured_mbps / seen.predicted_mbps if seen.predicted_mbps else 0.0
    kept = seen.measured_mbps >= MIN_OF_MAXMIN * seen.predicted_mbps
    rule = Rule(TOTAL, kept, share, least=MIN_OF_MAXMIN)
    if kept:
        return Check(rule)
    said = (
        f"{seen.measured_mbps:.1f} Mb/s is {share:.0%} of the {seen.predicted_mbps:.1f} Mb/s that these paths allow "
        f"(at least {MIN_OF_MAXMIN:.0%} counts)"
    )
    return _slow(seen, rule, said, seen.window)


def _progress(seen: Evidence) -> Check:
    if seen.progress is None:
        return Check(Rule("progress", None))
    rule = Rule("progress", seen.progress >= MIN_OF_MAXMIN, seen.progress, least=MIN_OF_MAXMIN)
    said = (
        f"for long flows their paths allowed {seen.progress:.0%} of the time that they took (at least "
        f"{MIN_OF_MAXMIN:.0%} counts)"
    )
    return Check(rule) if rule.kept else _slow(seen, rule, said, seen.window)


def _full_links(seen: Evidence) -> Check:
    full = seen.full
    if not full.mbps:
        return Check(Rule("full links", None, why_not=full.why_not or "no link has to be full all the time"))
    carried = float(np.median(list(full.mbps.values()))) / seen.bw
    kept = carried >= MIN_OF_FULL
    said = (
        f"half of the {len(full.mbps)} links that have to be full carried less than {carried:.1%} of their rate "
        f"(at least {MIN_OF_FULL:.0%} counts)"
    )
    rule = Rule("full links", kept, carried, least=MIN_OF_FULL)
    if kept:
        return Check(rule)
    if full.why_not is not None:
        return Check(replace(rule, kept=None, why_not=f"{full.why_not}, and {said}"))
    return _slow(seen, rule, said, full.window)


def _slow(seen: Evidence, rule: Rule, said: str, window: tuple[float, float]) -> Check:
    if seen.virtual:
        return Check(rule, remark=f"TCP was slow: {said}")
    # After a failure TCP takes seconds to find its rate again, which a short run cannot make up for.
    who = "the machine, or TCP after the failure," if seen.failures else "the machine"
    return Check(rule, (f"{who} was too slow: {said}{_worst_second(seen, window)}",))


def _worst_second(seen: Evidence, window: tuple[float, float]) -> str:
    """When least arrived in a window, and how busy the processors were then."""
    begin, end = window
    inside = [second for second in seen.seconds if begin < second.number <= end]
    if not inside:
        return ""
    worst = min(inside, key=lambda second: second.total_mbps)
    said = f"; least arrived in second {worst.number}, {worst.total_mbps:.1f} Mb/s, when the processors were "
    said += f"{worst.idle_percent:.0f} % idle"
    if seen.throttled_s:
        host, held = max(seen.throttled_s.items(), key=lambda item: item[1])
        said += f"; its CPU limit held host {host} back for {held:.1f} s"
    return said
