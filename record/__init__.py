"""Measurements: the paper's numbers (`record.published`) and ours (`record.run`, and folders of data)."""
