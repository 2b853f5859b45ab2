"""One style for all figures and tables: colours, labels, names of settings, and how an axis is numbered.

The control is grey, because it does not compete.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup, escape

from hedera.hashes import FIELDS
from record.spec import RunSpec, list_options
from traffic.flowfile import find_own_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

COLOURS = {
    "nonblocking": "#8a8a8a",
    "ecmp": "#e69f00",
    "ecmp-dst": "#009e73",
    "ecmp-polarized": "#332288",
    "spanning-tree": "#d55e00",
    "random": "#cc79a7",
    "hedera-gff": "#56b4e9",
    "hedera-sa": "#0072b2",
    "hedera-clos": "#f0e442",
    "spray": "#44aa99",
    "planned": "#000000",
}
"""The colour of each scheme's bars and lines, in the order in which schemes are shown (Okabe and Ito, 2008: distinct
with any kind of colour blindness)."""

_LABELS = {
    "nonblocking": "non-blocking",
    "ecmp": "ECMP (5-tuple hash)",
    "ecmp-dst": "ECMP (hash of the destination)",
    "spanning-tree": "spanning tree",
    "ecmp-edge-pair": "ECMP (hash of the edge switches)",
    "ecmp-polarized": "ECMP (5-tuple, one hash everywhere)",
    "random": "a random path per flow",
    "hedera-gff": "Global First Fit",
    "hedera-sa": "Simulated Annealing",
    "hedera-clos": "edge colouring",
    "hedera-flow-sa": "annealing per flow",
    "spray": "packet spraying",
    "planned": "planned beforehand",
}

EXPECTED_ORDER = (
    "nonblocking", "hedera-sa", "hedera-gff", "ecmp", "ecmp-dst", "ecmp-edge-pair", "ecmp-polarized", "random",
    "spanning-tree",
)  # fmt: skip
"""Schemes in the order expected from the paper."""

Value = bool | int | float | str | tuple[str, ...] | None
"""The value of a setting."""

INVALID = "#b00020"
INK = "#222222"
DASHES = (0, (5, 3))
"""The dashes of the line for the most that is possible: the capacity, or the control."""
MUTED = "#6b6b6b"

FEW_SEEDS = 10
"""So many seeds are listed one by one."""
_LONGEST_LABEL = 30
_OTHER = ("#882255", "#94b83a", "#bfa37a", "#0b4d2c")  # schemes added later, in the order of their names
_DARKER = (0.85, 0.72, 0.6, 0.48)
"""The factors by which a colour is darkened, one for each choice of a hash's fields."""
_SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # file names may hold dollar signs
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # left open, it would be looked for in each drawing
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "svg.hashsalt": "hedera",  # the same numbers give the same file
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType: what journals ask for, since type 3 has no names of letters
    "ps.fonttype": 42,
}


def order_schemes(schemes: Iterable[str]) -> list[str]:
    """Schemes in the order in which every figure and table shows them."""
    order = list(COLOURS)
    return sorted(set(schemes), key=lambda s: (order.index(s) if s in COLOURS else len(order), s))


def label_scheme(scheme: str) -> str:
    """A scheme's name in pictures of the paper; one without a name there as it is spelled."""
    name, separator, hash = scheme.partition("@")
    return _LABELS.get(scheme) or (
        f"{_LABELS[name].partition(' (')[0]} ({hash})" if separator and name in _LABELS else scheme
    )


def colour(scheme: str) -> str:
    """The colour of a scheme. One that is not in COLOURS gets a colour of its own by its name; one with another hash
    gets that of the scheme itself, darker by the fields that are hashed."""
    name, _, hash = scheme.partition("@")
    if name in COLOURS and (fields := hash.partition(":")[2]) in FIELDS:
        share = _DARKER[list(FIELDS).index(fields)]
        return "#" + "".join(f"{round(share * int(COLOURS[name][start : start + 2], 16)):02x}" for start in (1, 3, 5))
    return COLOURS.get(scheme) or _OTHER[sum(scheme.encode()) % len(_OTHER)]


def assign_colours(schemes: Iterable[str]) -> dict[str, str]:
    """A colour for each scheme of a picture: that of `colour`, but no two schemes of one's own have the same one while
    there are others left."""
    chosen: dict[str, str] = {}
    for scheme in order_schemes(schemes):
        # The colour by name is the same in every picture, so it is kept where it is free.
        free = [other for other in _OTHER if other not in chosen.values()]
        own = colour(scheme)
        chosen[scheme] = free[0] if own in chosen.values() and own in _OTHER and free else own
    return chosen


def shorten_name(name: str) -> str:
    """A pattern or a scheme for a table, without ``published:`` or ``replication:``; a file without its folder."""
    parts = (part.removeprefix("published:").removeprefix("replication:") for part in name.split(" + "))
    return " + ".join(_remove_folder(part) for part in parts)


def _remove_folder(part: str) -> str:
    if part.startswith("file:"):
        return "file:" + part[5:].rpartition("/")[2]
    return part.rpartition("/")[2] if find_own_file(part.partition(" x")[0]) else part


def label(pattern: str) -> str:
    text = shorten_name(pattern)
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 3].rstrip()}..."


def name_option(setting: str) -> str:
    """The option of the command line for a setting in run.json."""
    option = list_options(RunSpec).get(setting)
    return setting if option is None else option.name


def format_number(value: float, digits: int = 4) -> str:
    """So many digits, and from 1,000 on all before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def make_table(title: str, rows: Sequence[Mapping[str, Any]], *names: str) -> Table:
    """For a terminal: these columns of the rows, in this order; all if none is named."""
    from rich.markup import escape as plain

    from record.output import make_plain_table

    names = names or tuple(rows[0])
    words = sum(isinstance(rows[0][name], str) for name in names)
    filled = make_plain_table(title, *(name.replace("_", " ") for name in names), left=words)
    for row in rows:
        filled.add_row(*(plain(_format_cell(row[name])) for name in names))
    return filled


def _format_cell(value: object) -> str:
    if isinstance(value, float):
        return format_number(value)
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def describe_interval_seeds(seeds: int) -> str:
    """What the intervals are over, for the title of a table."""
    return f"{seeds} seeds, 95 % intervals" if seeds > 2 else f"{seeds} seed{'s' * (seeds > 1)}"


def format_seeds(seeds: Iterable[int]) -> str:
    """Seeds in words: one by one, or from the first to the last where there are many."""
    ordered = sorted(set(seeds))
    if len(ordered) <= FEW_SEEDS:
        return ", ".join(map(str, ordered))
    return f"{ordered[0]} to {ordered[-1]} ({len(ordered)})"


def format_setting(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if value is None else str(value)


def house_style() -> AbstractContextManager[None]:
    """Matplotlib with our settings instead of the user's, which are restored afterwards."""
    from matplotlib.style import context

    return context(_SETTINGS, after_reset=True)


def set_logarithmic(axes: Axes, dimension: Literal["x", "y"] = "y") -> None:
    """A logarithmic axis with plain numbers, as many as fit its decades. Matplotlib's own numbers would be
    mathematical text, which is not parsed here."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(**{f"{dimension}scale": "log"})
    axis = getattr(axes, f"{dimension}axis")
    low, high = axis.get_view_interval()
    decades = math.log10(high / low) if low > 0 else math.inf
    subs = (1.0,) if decades > 2 else (1.0, 2.0, 5.0) if decades > 0.8 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def embed_image(svg: bytes, words: str) -> Markup:
    """An SVG for a page that loads nothing: an element with its content, and ``words`` for who cannot see it."""
    data = base64.b64encode(svg).decode()
    return Markup(f'<img class="drawn" alt="{escape(words)}" src="data:image/svg+xml;base64,{data}">')
