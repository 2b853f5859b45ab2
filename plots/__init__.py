"""Figures and tables from stored results. Reads results files only."""

from plots.figures import write_all

__all__ = ["write_all"]
