"""Figures and tables from stored results. Reads results files only."""

import logging

from plots.figures import write_all

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without its warning that a font cache cannot be kept

__all__ = ["write_all"]
