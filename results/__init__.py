"""Measurements: the paper's numbers (`results.published`) and ours (`results.record`, and folders of data)."""
