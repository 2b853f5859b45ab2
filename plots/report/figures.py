"""The page's static figures, as inline SVG.

Colours come from the page's style sheet: class ``sN`` is the N-th scheme, ``pub`` a published bar (outlined),
``void`` one without a valid trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from hedera.schemes import CONTROL
from plots.report.compare import Match
from plots.report.rounds import PARTS, Overhead
from plots.report.svg import (
    Css,
    Scale,
    Tags,
    cross,
    line,
    percent,
    picture,
    polyline,
    question,
    tag,
    text,
    title,
)
from plots.shares import our_share, published_share
from plots.style import label, short
from plots.summary import Summary
from plots.trials import Difference
from results.record import NOT_JUDGED, Run, Verdict

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def scatter(match: Match, css: Css) -> Markup:
    """Ours against published, a point per pattern; the three furthest from the diagonal are named if there is
    room."""
    size, left, bottom, top = 240.0, 34.0, 206.0, 10.0
    most = max([1.1, *(max(pair.ours, pair.published) for pair in match.pairs)]) * 1.04
    x, y = Scale((0, most), (left, size - 6)), Scale((0, most), (bottom, top))
    marks: Tags = []
    for share in (0, 0.5, 1):
        marks += [
            line(x(share), bottom, x(share), top, "grid"),
            line(left, y(share), size - 6, y(share), "grid"),
        ]
        marks += [text(x(share), bottom + 14, f"{share * 100:.0f}", "tick", "middle")]
        marks += [text(left - 5, y(share) + 3.5, f"{share * 100:.0f}", "tick", "end")]
    marks.append(line(x(0), y(0), x(most), y(most), "rule"))
    marks.append(text((left + size) / 2, size - 5, "published (% of control)", "axis", "middle"))
    upright = f"translate(9 {(top + bottom) / 2:.0f}) rotate(-90)"
    words = Markup("ours (% of control)")
    marks.append(tag("text", words, class_="axis", text_anchor="middle", transform=upright))
    furthest = sorted(match.pairs, key=lambda pair: -abs(pair.difference))[:3]
    for pair in match.pairs:
        said = f"{short(pair.pattern)}: ours {percent(pair.ours)}, published {percent(pair.published)}"
        at = {"cx": x(pair.published), "cy": y(pair.ours)}
        marks.append(tag("circle", title(said), r=4, class_=f"dot {css(match.scheme)}", **at))
    points = [(x(pair.published), y(pair.ours)) for pair in match.pairs]
    names: list[Box] = []
    for pair in furthest:
        own, name = (x(pair.published), y(pair.ours)), label(pair.pattern)
        fitting = (box for box in _places(own, 5.6 * len(name)) if left < box[0] and box[2] < size)
        room = next((box for box in fitting if _belongs(box, own, points) and _clear(box, names)), None)
        if room is not None:
            names.append(room)
            marks.append(text(room[0], room[1] + 8.5, name, "note"))
    said = f"{match.scheme} against published {match.column}: {len(match.pairs)} patterns"
    return picture(size, size, said, *marks)


def _places(point: tuple[float, float], wide: float) -> list[Box]:
    """Possible places for the name of a point: beside it, a little higher or lower, above or below."""
    x, y = point
    middles = [(x + side, y + lift) for lift in (0, -10, 10) for side in (7, -7 - wide)]
    middles += [(x + side, y + lift) for lift in (-12, 12) for side in (-wide / 2, 4 - wide)]
    return [(left, middle - 5, left + wide, middle + 5) for left, middle in middles]


def _belongs(box: Box, own: tuple[float, float], points: Iterable[tuple[float, float]]) -> bool:
    """Whether a name would be nearest to its own point and cover no other."""

    def away(point: tuple[float, float]) -> float:
        x, y = point
        return math.hypot(max(box[0] - x, 0, x - box[2]), max(box[1] - y, 0, y - box[3]))

    return all(away(point) > max(4, away(own)) for point in points if point != own)


def _clear(box: Box, names: Iterable[Box]) -> bool:
    return all(box[2] < o[0] or o[2] < box[0] or box[3] < o[1] or o[3] < box[1] for o in names)


def ecmp_strip(summary: Summary, pattern: str, schemes: Sequence[str], css: Css) -> Markup:
    """Where the published ECMP (a diamond) and our static schemes (dots) lie between 0 and the control."""
    width, middle = 260.0, 11.0
    x = Scale((0, 1.1), (6, width - 6))
    marks = [line(x(0), middle, x(1.1), middle, "grid"), line(x(1), 3, x(1), 19, "rule")]
    theirs = published_share(pattern, "ecmp")
    shares = [(s, share) for s in schemes if (share := our_share(summary, pattern, s)) is not None]
    for scheme, share in shares:
        said = title(f"{scheme} {percent(share)}")
        marks.append(tag("circle", said, cx=x(min(share, 1.1)), cy=middle, r=5, class_=f"dot {css(scheme)}"))
    if theirs is not None:
        at = f"M{x(theirs):.1f} {middle - 8}l6 8l-6 8l-6 -8z"
        marks.append(tag("path", title(f"published ECMP {percent(theirs)}"), d=at, class_="diamond"))
    return picture(width, 22, f"{short(pattern)}: positions as in the columns beside", *marks)


def interval_strip(difference: Difference, reach: float) -> Markup:
    """Mean difference and its interval on an axis from -reach to reach, zero in the middle; cut at the ends."""
    width, middle = 200.0, 10.0
    x = Scale((-reach, reach), (5, width - 5))

    def inside(value: float) -> float:
        return x(max(-reach, min(reach, value)))

    marks = [line(5, middle, width - 5, middle, "grid"), line(x(0), 2, x(0), 18, "rule")]
    if difference.low is not None and difference.high is not None:
        marks.append(line(inside(difference.low), middle, inside(difference.high), middle, "interval"))
    if difference.mean is not None:
        kind = "dot ink" if difference.low is not None else "hollow"
        marks.append(tag("circle", cx=inside(difference.mean), cy=middle, r=4, class_=kind))
    return picture(width, 20, f"drawn from {-reach:.3g} to {reach:.3g} Mb/s", *marks)


def dots_strip(values: Sequence[tuple[float, Verdict]], most: float, css: str, said: str) -> Markup:
    """One dot per run on an axis from 0 to ``most``; an invalid run is a cross, one that was not judged a question
    mark."""
    width, middle = 220.0, 11.0
    x = Scale((0, most), (7, width - 7))
    marks = [
        line(7, middle, width - 7, middle, "grid"),
        line(x(0), 4, x(0), 18, "grid"),
        line(x(most), 4, x(most), 18, "grid"),
    ]
    for value, verdict in sorted(values, key=lambda pair: pair[1] != "ok"):
        at = x(min(value, most))
        if verdict == "ok":
            marks.append(tag("circle", cx=at, cy=middle, r=3.5, class_=f"dot faint {css}"))
        else:
            marks.append((question if verdict == NOT_JUDGED else cross)(at, middle))
    return picture(width, 22, said, *marks)


def round_times(overheads: Sequence[Overhead], css: Css) -> Markup:
    """5th to 95th percentile (line), median (dot) and longest (tick) of each part of a round; logarithmic axis."""
    found = [q for each in overheads for q in each.ms.values() if q and q.maximum > 0]
    low = math.floor(math.log10(max(min(q.low for q in found), 0.01)))
    high = max(math.ceil(math.log10(max(q.maximum for q in found))), low + 1)
    left, width, row = 78.0, 640.0, 17.0
    height = 14 + len(PARTS) * (row * len(overheads) + 12) + 22
    x = Scale((low, high), (left, width - 12))

    def at(ms: float) -> float:
        return x(max(low, math.log10(ms)) if ms > 0 else low)

    marks: Tags = []
    for power in range(low, high + 1):
        marks.append(line(x(power), 8, x(power), height - 22, "grid"))
        last = "end" if power == high else "middle"
        marks.append(text(x(power), height - 8, f"{10.0**power:g} ms", "tick", last))
    y, said = 14.0, []
    for part in PARTS:
        marks.append(text(left - 8, y + row * len(overheads) / 2 + 4, part, "axis", "end"))
        for each in overheads:
            q = each.ms[part]
            if q:
                middle = y + row / 2
                kind = css(each.scheme)
                marks.append(line(at(q.low), middle, at(q.high), middle, f"range {kind}"))
                marks.append(line(at(q.maximum), middle - 4, at(q.maximum), middle + 4, f"range {kind}"))
                words = f"{each.scheme}, {part}: median {q.median:.3g} ms, longest {q.maximum:.3g} ms"
                marks.append(tag("circle", title(words), cx=at(q.median), cy=middle, r=4.5, class_=f"dot {kind}"))
                said.append(words)
            y += row
        y += 12
    return picture(width, height, "Time of scheduling rounds. " + "; ".join(said), *marks)


def changes_by_round(runs: Sequence[Run], schemes: Sequence[str], css: Css) -> Markup:
    """Mean number of flows that the first, second, ... round of a run moved."""
    means = {scheme: _mean_changes([run for run in runs if run.scheme == scheme and run.rounds]) for scheme in schemes}
    count = max(min(max(map(len, means.values())), 30), 10)
    most = max([1.0, *(value for values in means.values() for value in values)])
    left, width, bottom = 34.0, 640.0, 128.0
    x, y = Scale((0, count), (left, width)), Scale((0, most * 1.1), (bottom, 14.0))
    marks: Tags = [line(left, bottom, width, bottom, "rule")]
    for value in {0.0, most}:
        marks.append(text(left - 5, y(value) + 4, f"{value:.3g}", "tick", "end"))
    step = (x(1) - x(0)) * 0.8 / len(schemes)
    every = 1 if count <= 20 else 5
    for i in range(min(count, max(map(len, means.values())))):
        if every == 1 or (i + 1) % every == 0 or i == 0:
            marks.append(text((x(i) + x(i + 1)) / 2, bottom + 15, str(i + 1), "tick", "middle"))
        for j, scheme in enumerate(schemes):
            value = means[scheme][i] if i < len(means[scheme]) else 0.0
            if value:
                at = x(i) + (x(1) - x(0)) * 0.1 + j * step
                said = title(f"{scheme}, round {i + 1}: {value:.3g} flows moved on average")
                box = {"x": at, "y": y(value), "width": max(step - 1, 1), "height": bottom - y(value)}
                marks.append(tag("g", said, tag("rect", class_=f"bar {css(scheme)}", **box)))
    marks.append(text((left + width) / 2, bottom + 32, "round of the run", "axis", "middle"))
    said_all = "; ".join(
        f"{scheme}: " + ", ".join(f"{value:.3g}" for value in means[scheme][:10]) for scheme in schemes
    )
    return picture(width, bottom + 38, f"Mean number of flows moved by round 1, 2, ...: {said_all}", *marks)


def _mean_changes(runs: Sequence[Run]) -> list[float]:
    longest = max((len(run.rounds) for run in runs), default=0)
    return [
        sum(run.rounds[i].changed for run in runs if i < len(run.rounds)) / sum(i < len(run.rounds) for run in runs)
        for i in range(longest)
    ]


def rate_panel(run: Run, control: Run | None, css: Css) -> Markup:
    """Rate over time of one run, the control of its trial in grey, the window, and the rounds at the foot."""
    width, height, left, bottom, top = 260.0, 112.0, 26.0, 88.0, 8.0
    drawn = [run, control] if control is not None else [run]
    ceiling = 1.06 * max(max((each.capacity_mbps, *each.rates.total_mbps)) for each in drawn)
    end = 1.02 * max(run.spec.seconds, run.window_s[1])  # a sampler may run a little longer
    x, y = Scale((0, end), (left, width - 4)), Scale((0, ceiling), (bottom, top))
    a, b = run.window_s
    marks: Tags = [
        tag("rect", x=x(a), y=top, width=x(b) - x(a), height=bottom - top, class_="window"),
        line(left, y(run.capacity_mbps), width - 4, y(run.capacity_mbps), "rule"),
        line(left, bottom, width - 4, bottom, "grid"),
        text(left - 4, y(run.capacity_mbps) + 4, f"{run.capacity_mbps:g}", "tick", "end"),
        text(left - 4, bottom + 3, "0", "tick", "end"),
        text(width - 4, height - 3, f"{run.spec.seconds:.0f} s", "tick", "end"),
    ]
    for each in run.rounds:
        if 0 <= each.t <= end:
            moved = each.changed > 0
            marks.append(
                line(x(each.t), bottom, x(each.t), bottom + (8 if moved else 4), "moved" if moved else "round")
            )
    if control is not None and control is not run and control.rates.t:
        marks.append(polyline(_points(control, x, y), f"rate thin {css(CONTROL)}"))
    if run.rates.t:
        kind = css(run.scheme) + ("" if run.valid else " broken")
        marks.append(polyline(_points(run, x, y), f"rate {kind}"))
    else:
        marks.append(text((left + width) / 2, (top + bottom) / 2, "no rates: the run broke off", "note", "middle"))
    return picture(
        width, height, f"{short(run.pattern)}, {run.scheme}, trial {run.trial}: {rate_in_words(run)}", *marks
    )


def rate_in_words(run: Run) -> str:
    """A run's panel as text, for readers who cannot see it."""
    if not run.rates.total_mbps:
        return "no rates were stored."
    low, high = min(run.rates.total_mbps), max(run.rates.total_mbps)
    mean = "" if run.bisection_mbps is None else f", {run.bisection_mbps:.1f} in the window"
    return f"from {low:.1f} to {high:.1f} Mb/s{mean}" + ("." if run.valid else f"; {run.verdict.upper()}.")


def _points(run: Run, x: Scale, y: Scale) -> list[tuple[float, float]]:
    pairs = zip(run.rates.t, run.rates.total_mbps, strict=True)
    return [(x(t), y(rate)) for t, rate in pairs if t <= x.data[1]]
