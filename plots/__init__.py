"""Figures, tables and a page, made from stored results; they read results files only."""

import logging

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without its warning that a font cache cannot be kept
logging.getLogger("fontTools").setLevel(logging.WARNING)  # it tells of every table of a font in a PDF
