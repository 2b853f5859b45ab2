"""SVG elements with escaped text and short numbers, and a scale from data to pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

Tags = list[Markup]
Css = Callable[[str], str]
"""From a scheme to its class in the style sheet."""


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """An element. ``class_`` and ``stroke_width`` become ``class`` and ``stroke-width``; None is left out; numbers
    have one decimal."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(children)
    return Markup(f"<{name}{written}/>" if not inside else f"<{name}{written}>{inside}</{name}>")


def number(value: object) -> object:
    """A float with at most one decimal; anything else unchanged."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def picture(width: float, height: float, label: str, *children: str, class_: str = "") -> Markup:
    """The outermost element: an image with an accessible name. Drawn for ``width`` pixels, as wide as its place."""
    box = f"0 0 {number(width)} {number(height)}"
    return tag("svg", *children, viewBox=box, role="img", aria_label=label, class_=class_ or None)


def text(x: float, y: float, words: object, class_: str = "", anchor: str = "") -> Markup:
    """A line of text; ``anchor`` is ``middle`` or ``end``."""
    return tag("text", escape(words), x=x, y=y, class_=class_ or None, text_anchor=anchor or None)


def title(words: object) -> Markup:
    """The tooltip of the parent element."""
    return tag("title", escape(words))


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "") -> Markup:
    """A straight line."""
    return tag("path", d=f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", class_=class_ or None)


def polyline(points: Iterable[Sequence[float]], class_: str) -> Markup:
    """A line through points, on whole pixels: half the size, without a visible difference."""
    return tag("path", d="M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in points), class_=class_)


@dataclass(frozen=True)
class Scale:
    """From data to pixels, linearly."""

    data: tuple[float, float]
    pixels: tuple[float, float]

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        (a, b), (p, q) = self.data, self.pixels
        return p + (value - a) / (b - a) * (q - p)


def percent(value: float, digits: int = 0) -> str:
    """A share as a percentage, with a narrow space that does not break."""
    return f"{100 * value:.{digits}f}\u202f%"


def classes(schemes: Sequence[str]) -> Css:
    """The style sheet's class of each scheme, by its place among those that were run."""
    return lambda scheme: f"s{schemes.index(scheme)}" if scheme in schemes else "ink"


def question(x: float, y: float) -> Markup:
    """The mark for "not judged"."""
    return text(x, y + 4, "?", "question", "middle")


def cross(x: float, y: float, size: float = 3.2) -> Markup:
    """The mark for "invalid"."""
    side = 2 * size
    path = f"M{x - size:.1f} {y - size:.1f}l{side:.1f} {side:.1f}m0 {-side:.1f}l{-side:.1f} {side:.1f}"
    return tag("path", d=path, class_="cross")
