"""The page about a sweep."""

from plots.report.page import write_report

__all__ = ["write_report"]
