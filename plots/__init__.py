"""Figures and pages from stored results. Nothing here runs anything; it reads what is stored below results/.

Who only wants a picture in the house's style, or the runs of a stored sweep, finds that here. Each kind of figure has a
file of its own: of a sweep (`plots.figure9`, `plots.report`), of flows that end (`plots.completion_times`), of rates
over time (`plots.rates`), of several sweeps (`plots.compare_sweeps`).
"""

import logging

from plots.pictures import list_written_files, picture
from plots.stored_sweep import Sweep, load_sweep
from plots.style import (
    DASHES,
    INK,
    MUTED,
    assign_colours,
    colour,
    label,
    label_scheme,
    order_schemes,
    set_logarithmic,
    shorten_name,
)

__all__ = [
    "DASHES",
    "INK",
    "MUTED",
    "Sweep",
    "assign_colours",
    "colour",
    "label",
    "label_scheme",
    "list_written_files",
    "load_sweep",
    "order_schemes",
    "picture",
    "set_logarithmic",
    "shorten_name",
]  # fmt: skip

# Matplotlib warns that a font cache cannot be kept, and fontTools tells of every table of a font in a PDF.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
logging.getLogger("fontTools").setLevel(logging.WARNING)
