"""Figure 9 as the page shows it: a panel per pattern, our bars beside the published ones, all of equal rank.

A bar is the median of the valid trials, its whisker the 5th to 95th percentile. A bar without a valid trial, or, as a
share, without a valid control, is a crossed outline that stands for no number.
"""

from __future__ import annotations

from markupsafe import Markup

from plots.report_compare import STATIC, published_share
from plots.report_svg import Css, Scale, Tags, cross, line, percent, picture, tag, text, title
from plots.style import CONTROL, label, short
from plots.summary import Spread, Summary
from results.published import CAPACITY_MBPS, FIGURE_9

# A panel of Figure 9: what stands side by side. "published ..." is the published bar of a scheme; the published
# ECMP stands between the two of our schemes that might be it.
_GROUPS = (
    ("random", "ecmp-dst", "ecmp", "published ecmp", "spanning-tree"),
    ("hedera-gff", "published hedera-gff"),
    ("hedera-sa", "published hedera-sa"),
    (CONTROL, f"published {CONTROL}"),
)
_PUBLISHED = "published "


def panels(summary: Summary, css: Css, *, of_control: bool) -> list[Markup]:
    """A panel per pattern, all to one scale: shares of the control, or else of the capacity."""
    names = {(pattern, name) for pattern in summary.patterns for group in _GROUPS for name in group}
    heights = [
        height
        for pattern, name in sorted(names)
        if _exists(summary, pattern, name)
        and (height := _highest(summary, pattern, name, of_control=of_control)) is not None
    ]
    ceiling = max([1.0, *heights]) * 1.03
    return [_panel(summary, pattern, css, ceiling, of_control=of_control) for pattern in summary.patterns]


def _highest(summary: Summary, pattern: str, name: str, *, of_control: bool) -> float | None:
    if name.startswith(_PUBLISHED):
        return _published(pattern, name, of_control=of_control)
    spread = _spread(summary, pattern, name, of_control=of_control)
    return spread.high if spread else None


def _panel(summary: Summary, pattern: str, css: Css, ceiling: float, *, of_control: bool) -> Markup:
    width, height, left, bottom = 200.0, 168.0, 25.0, 150.0
    y = Scale((0, ceiling), (bottom, 22.0))
    groups = _groups(summary, pattern, of_control=of_control)
    slots = sum(map(len, groups))
    step = min(20.0, (width - left - 6 * (len(groups) + 1)) / max(slots, 1))
    gap = (width - left - step * slots) / (len(groups) + 1)
    marks: Tags = [
        mark
        for share in (0, 0.5, 1)
        for mark in (
            line(left, y(share), width, y(share), "rule" if share == 1 else "grid"),
            text(left - 4, y(share) + 3.5, f"{share * 100:.0f}", "tick", "end"),
        )
    ]
    said = []
    x = left + gap
    for group in groups:
        for name in group:
            marks.append(_bar(summary, pattern, name, css, x, step, y, of_control=of_control))
            said.append(_said(summary, pattern, name, of_control=of_control))
            x += step
        x += gap
    marks.append(text(left, 13, label(pattern), "name"))
    unit = "share of the control" if of_control else "share of the capacity"
    return picture(width, height, f"{short(pattern)}, {unit}: " + "; ".join(said), *marks)


def _groups(summary: Summary, pattern: str, *, of_control: bool) -> list[list[str]]:
    known = {name for group in _GROUPS for name in group}
    groups = [list(group) for group in _GROUPS]
    groups[0] = [s for s in summary.schemes if s not in known] + groups[0]
    if of_control:
        groups.pop()
    shown = [[name for name in group if _exists(summary, pattern, name)] for group in groups]
    return [group for group in shown if group]


def _exists(summary: Summary, pattern: str, name: str) -> bool:
    if not name.startswith(_PUBLISHED):
        return (pattern, name) in summary.bars
    scheme = name.removeprefix(_PUBLISHED)
    ours = STATIC if scheme == "ecmp" else (scheme,)
    return any(s in summary.schemes for s in ours) and published_share(pattern, scheme) is not None


def _spread(summary: Summary, pattern: str, scheme: str, *, of_control: bool) -> Spread | None:
    bar = summary.bars[pattern, scheme]
    if of_control or bar.mbps is None:
        return bar.ratio if of_control else None
    capacity = summary.capacity_mbps
    return Spread(bar.mbps.median / capacity, bar.mbps.low / capacity, bar.mbps.high / capacity)


def _published(pattern: str, name: str, *, of_control: bool) -> float:
    scheme = name.removeprefix(_PUBLISHED)
    numbers = FIGURE_9[short(pattern)]
    return numbers[scheme] / (numbers[CONTROL] if of_control else CAPACITY_MBPS)


def _said(summary: Summary, pattern: str, name: str, *, of_control: bool) -> str:
    if name.startswith(_PUBLISHED):
        shown = "published ECMP" if name == "published ecmp" else name
        return f"{shown} {percent(_published(pattern, name, of_control=of_control))}"
    bar = summary.bars[pattern, name]
    spread = _spread(summary, pattern, name, of_control=of_control)
    trials = f"{bar.valid} of {bar.valid + bar.invalid} trials valid"
    if spread is None:
        return f"{name} has no number, {trials}"
    ends = f" ({percent(spread.low)} to {percent(spread.high)})" if bar.valid > 1 else ""
    return f"{name} {percent(spread.median)}{ends}" + (f", {trials}" if bar.invalid else "")


def _bar(
    summary: Summary,
    pattern: str,
    name: str,
    css: Css,
    x: float,
    step: float,
    y: Scale,
    *,
    of_control: bool,
) -> Markup:
    said = title(_said(summary, pattern, name, of_control=of_control))
    wide, base = step - 1.6, y(0)
    if name.startswith(_PUBLISHED):
        top = y(_published(pattern, name, of_control=of_control))
        scheme = name.removeprefix(_PUBLISHED)
        kind = "pub ink" if scheme == "ecmp" else f"pub {css(scheme)}"
        return tag("g", said, tag("rect", x=x, y=top, width=wide, height=base - top, class_=kind))
    spread = _spread(summary, pattern, name, of_control=of_control)
    middle = x + wide / 2
    if spread is None:
        top = y(1)
        void = tag("rect", x=x, y=top, width=wide, height=base - top, class_=f"void {css(name)}")
        return tag("g", said, void, cross(middle, (top + base) / 2))
    top = y(spread.median)
    marks = [tag("rect", x=x, y=top, width=wide, height=max(base - top, 0.5), class_=f"bar {css(name)}")]
    if spread.high > spread.low:
        marks.append(line(middle, y(spread.low), middle, y(spread.high), "whisker"))
    return tag("g", said, *marks)
