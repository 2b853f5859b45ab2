"""From what was seen of a run to its result: rates, paths, what they could have been, and whether the run counts."""

from harness.verdict.result import failed_run, judge_files

__all__ = ["failed_run", "judge_files"]
