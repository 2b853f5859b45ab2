"""What was measured: the paper's numbers (`results.published`, the only code here) and ours (data folders)."""
