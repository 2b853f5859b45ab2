"""Results in a Jupyter notebook: a table and a picture as HTML.

The picture is SVG of our own making, a line and a frame: matplotlib would take a third of a second for each result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _LEFT, _BELOW = 460, 130, 46, 18
"""Of the picture, and the room for numbers in it, px."""


def make_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as an HTML table, with their keys as headings."""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row.values()) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def draw_rates(t: Sequence[float], mbps: Sequence[float], capacity_mbps: float, window_s: tuple[float, float]) -> str:
    """The rate of all hosts over time as SVG: the line, the capacity (dashed), and the measured window (shaded)."""
    if not t:
        return ""
    end, top = max(*t, window_s[1]), 1.05 * max(capacity_mbps, *mbps)

    def to_x(seconds: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 4) * seconds / end

    def to_y(rate: float) -> float:
        return (_HEIGHT - _BELOW) * (1 - rate / top)

    line = " ".join(f"{to_x(at):.1f},{to_y(rate):.1f}" for at, rate in zip(t, mbps, strict=True))
    (a, b), full = map(to_x, window_s), to_y(capacity_mbps)
    small = 'font-size="10" font-family="sans-serif" fill="#6b6b6b"'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" style="max-width: 100%; height: auto" role="img" '
        'aria-label="Mb/s received over time">'
        f'<rect x="{a:.1f}" y="0" width="{b - a:.1f}" height="{to_y(0):.1f}" fill="#e9f0f7"/>'
        f'<path d="M{_LEFT} 0V{to_y(0):.1f}H{_WIDTH}" fill="none" stroke="#6b6b6b"/>'
        f'<path d="M{_LEFT} {full:.1f}H{_WIDTH}" fill="none" stroke="#222222" stroke-dasharray="5 3"/>'
        f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="2"/>'
        f'<text x="{_LEFT - 4}" y="{full + 4:.1f}" text-anchor="end" {small}>{capacity_mbps:,g}</text>'
        f'<text x="{_LEFT - 4}" y="{to_y(0):.1f}" text-anchor="end" {small}>0 Mb/s</text>'
        f'<text x="{_WIDTH - 4}" y="{_HEIGHT - 4}" text-anchor="end" {small}>{end:g} s</text></svg>'
    )
