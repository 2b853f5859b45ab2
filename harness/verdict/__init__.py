"""From what was seen of a run to its result: rates, paths, what they could have been, and whether the run counts."""

from harness.verdict.result import judge_files, make_failed_run

__all__ = ["judge_files", "make_failed_run"]
