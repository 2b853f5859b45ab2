"""Whether the machine was fast enough; where a run was slow, whether TCP was or the machine."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from harness.judge.evidence import Check, Evidence
from harness.judge.links_alone import LinksAlone
from results.parts import Rule

MIN_OF_MAXMIN = 0.85
"""A run below this share of the max-min fair total for its own paths was slowed by the machine, or by TCP, not by
paths. It is coarse: above it, other rules have to say that the machine was fast enough."""
MIN_OF_FULL = 0.97
"""What half of the links that have to be full must carry of their rate at least. The median, because TCP does not
share a path of several full links as max-min fairness does; a machine that is too slow is so for every link."""
MIN_ON_LINKS = 0.93
"""What a run must have of what TCP's windows would have brought over the links alone (`harness.judge.links_alone`),
for what it lacks to be TCP's doing. Measured in docs/notes/emulation.md."""

TOTAL = "total"


def of_speed(seen: Evidence) -> list[Check]:
    """Every rule of this kind."""
    return [_total(seen), _progress(seen), _full_links(seen), _links_alone(seen)]


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
    return _slow(seen, rule, said, seen.alone, seen.window)


def _progress(seen: Evidence) -> Check:
    if seen.progress is None:
        return Check(Rule("progress", None))
    rule = Rule("progress", seen.progress >= MIN_OF_MAXMIN, seen.progress, least=MIN_OF_MAXMIN)
    said = (
        f"for long flows their paths allowed {seen.progress:.0%} of the time that they took (at least "
        f"{MIN_OF_MAXMIN:.0%} counts)"
    )
    return Check(rule) if rule.kept else _slow(seen, rule, said, None, seen.window)


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
    return _slow(seen, rule, said, seen.alone_settled, full.window)


def _links_alone(seen: Evidence) -> Check:
    """It condemns nothing by itself: in good runs as well a machine takes its time."""
    if seen.alone is None:
        return Check(Rule("links alone", None, why_not="round trips are not known"))
    found = seen.alone.share
    rule = Rule("links alone", found >= MIN_ON_LINKS, found, least=MIN_ON_LINKS)
    said = (
        f"the machine left {found:.0%} of what TCP's windows would have brought over the links alone (at least "
        f"{MIN_ON_LINKS:.0%} would show that it was fast enough)"
    )
    return Check(rule if rule.kept else replace(rule, why_not=said))


def _slow(seen: Evidence, rule: Rule, said: str, alone: LinksAlone | None, window: tuple[float, float]) -> Check:
    """Who was slow: TCP, where links alone would not have brought much more; else the machine."""
    known = ""
    if alone is not None:
        known = (
            f"; it is {alone.share:.0%} of the {alone.allowed_mbps:.1f} Mb/s that TCP's windows would have brought "
            f"over the links alone (from {MIN_ON_LINKS:.0%} on it is TCP)"
        )
    if seen.virtual:
        return Check(rule, remark=f"TCP was slow: {said}")
    if alone is not None and alone.share >= MIN_ON_LINKS:
        return Check(rule, remark=f"TCP, not the machine, was slow: {said}{known}")
    # After a failure TCP takes seconds to find its rate again, which a short run cannot make up for.
    who = "the machine, or TCP after the failure," if seen.failures and alone is None else "the machine"
    return Check(rule, (f"{who} was too slow: {said}{known}{_worst_second(seen, window)}",))


def _worst_second(seen: Evidence, window: tuple[float, float]) -> str:
    """When least arrived in a window, and who had to wait for a processor then."""
    begin, end = window
    inside = [second for second in seen.seconds if begin < second.number <= end]
    if not inside:
        return ""
    worst = min(inside, key=lambda second: second.total_mbps)
    said = f"; least arrived in second {worst.number}, {worst.total_mbps:.1f} Mb/s"
    if worst.waiting_percent:
        name, waited = max(worst.waiting_percent.items(), key=lambda item: item[1])
        said += f", when {name} waited {waited:.0f} % of the time for a processor"
    said += f" and the processors were {worst.idle_percent:.0f} % idle"
    if seen.throttled_s:
        host, held = max(seen.throttled_s.items(), key=lambda item: item[1])
        said += f"; its CPU limit held host {host} back for {held:.1f} s"
    return said
