"""Figures and tables from stored results. Reads results files only."""
