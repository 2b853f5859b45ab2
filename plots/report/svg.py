"""SVG elements with escaped text and short numbers, for the drawing of the network that the page's script colours."""

from __future__ import annotations

from markupsafe import Markup, escape


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


def text(x: float, y: float, words: object, class_: str = "", anchor: str = "") -> Markup:
    """A line of text; ``anchor`` is ``middle`` or ``end``."""
    return tag("text", escape(words), x=x, y=y, class_=class_ or None, text_anchor=anchor or None)
