"""Figures, tables and a page, made from stored results; they read results files only."""

import logging

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without its warning that a font cache cannot be kept
