"""Figure 9 on the page of a sweep: a panel per pattern, our bars beside the published ones.

A bar is the median of the valid trials, its whisker the 5th to 95th percentile. A bar without a valid trial (or, as a
share, without a valid control) has no number: it is a crossed outline, or one with a question mark if no run was
judged.
"""

from __future__ import annotations

from markupsafe import Markup

from hedera.schemes import CONTROL
from plots.report.compare import STATIC
from plots.report.svg import Css, Scale, Tags, cross, line, percent, picture, question, tag, text, title
from plots.shares import Shares
from plots.style import label, short
from plots.summary import Spread

# A panel's groups of bars; "published ..." is the published bar of a scheme. Before these come the static schemes, in
# the order of the legend, and then the published ECMP, which might be any of them.
_GROUPS = (
    ("hedera-gff", "published hedera-gff"),
    ("hedera-sa", "published hedera-sa"),
    (CONTROL, f"published {CONTROL}"),
)
_PUBLISHED = "published "


def panels(shares: Shares, css: Css) -> list[Markup]:
    """A panel per pattern, all on the same scale."""
    patterns = shares.summary.patterns
    heights = [
        spread.high
        for pattern in patterns
        for group in _groups(shares, pattern)
        for name in group
        if (spread := _spread(shares, pattern, name)) is not None
    ]
    ceiling = max([1.0, *heights]) * 1.03
    return [_panel(shares, pattern, css, ceiling) for pattern in patterns]


def _panel(shares: Shares, pattern: str, css: Css, ceiling: float) -> Markup:
    width, height, left, bottom = 200.0, 168.0, 25.0, 150.0
    y = Scale((0, ceiling), (bottom, 22.0))
    groups = _groups(shares, pattern)
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
            said.append(_said(shares, pattern, name))
            marks.append(tag("g", title(said[-1]), *_bar(shares, pattern, name, css, x, step - 1.6, y)))
            x += step
        x += gap
    marks.append(text(left, 13, label(pattern), "name"))
    unit = "share of the control" if shares.of_control else "share of the payload capacity"
    return picture(width, height, f"{short(pattern)}, {unit}: " + "; ".join(said), *marks)


def _groups(shares: Shares, pattern: str) -> list[list[str]]:
    known = {name for group in _GROUPS for name in group}
    others = [scheme for scheme in shares.summary.schemes if scheme not in known]
    static = [scheme for scheme in others if scheme in STATIC]
    groups = [
        [*static, "published ecmp"],
        [scheme for scheme in others if scheme not in static],
        *map(list, _GROUPS),
    ]
    if shares.of_control:
        groups.pop()
    shown = [[name for name in group if _exists(shares, pattern, name)] for group in groups]
    return [group for group in shown if group]


def _exists(shares: Shares, pattern: str, name: str) -> bool:
    if not name.startswith(_PUBLISHED):
        return (pattern, name) in shares.summary.bars
    scheme = name.removeprefix(_PUBLISHED)
    ours = STATIC if scheme == "ecmp" else (scheme,)
    return any(s in shares.summary.schemes for s in ours) and shares.published(pattern, scheme) is not None


def _spread(shares: Shares, pattern: str, name: str) -> Spread | None:
    """The spread of one of our bars, or a published number, which has no whiskers."""
    if not name.startswith(_PUBLISHED):
        return shares.ours(pattern, name)
    number = shares.published(pattern, name.removeprefix(_PUBLISHED))
    return None if number is None else Spread(number, number, number)


def _said(shares: Shares, pattern: str, name: str) -> str:
    spread = _spread(shares, pattern, name)
    if name.startswith(_PUBLISHED) and spread:
        shown = "published ECMP" if name == "published ecmp" else name
        return f"{shown} {percent(spread.median)}"
    bar = shares.summary.bars[pattern, name]
    trials = f"{bar.valid} of {bar.trials} trials valid"
    if spread is None:
        unjudged = ", not judged" if bar.unjudged and not bar.invalid else ""
        return f"{name} has no number, {trials}{unjudged}"
    ends = f" ({percent(spread.low)} to {percent(spread.high)})" if bar.valid > 1 else ""
    return f"{name} {percent(spread.median)}{ends}" + (f", {trials}" if bar.valid < bar.trials else "")


def _bar(shares: Shares, pattern: str, name: str, css: Css, x: float, wide: float, y: Scale) -> Tags:
    spread = _spread(shares, pattern, name)
    base, middle, scheme = y(0), x + wide / 2, name.removeprefix(_PUBLISHED)
    if spread is None:
        top = y(1)
        void = tag("rect", x=x, y=top, width=wide, height=base - top, class_=f"void {css(name)}")
        mark = question if shares.summary.bars[pattern, name].void == "NOT JUDGED" else cross
        return [void, mark(middle, (top + base) / 2)]
    kind = f"bar {css(name)}" if name == scheme else f"pub {css(scheme) if scheme != 'ecmp' else 'ink'}"
    top = y(spread.median)
    marks = [tag("rect", x=x, y=top, width=wide, height=max(base - top, 0.5), class_=kind)]
    if spread.high > spread.low:
        marks.append(line(middle, y(spread.low), middle, y(spread.high), "whisker"))
    return marks
