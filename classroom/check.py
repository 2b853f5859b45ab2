"""Checks your files on examples, and says what is wrong and what to read again.

    python3 check.py                all files of the assignment in the folder one stands in
    python3 check.py demand.py      one of them

It needs only Python 3.10 or later and NumPy. Grading asks the same of other examples, and measures bandwidth under
other traffic.
"""

# ruff: noqa: E402, in a handout the path is set first
from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
if (HERE / "project").is_dir():  # in a handout: only the modules that a submission can import when it is graded
    sys.path[:] = [str(HERE / "project"), *(path for path in sys.path if Path(path).resolve() != HERE)]

if find_spec("numpy") is None:
    raise SystemExit(
        "check.py needs NumPy: sudo apt install python3-numpy, or without root: python3 -m venv env && "
        "env/bin/pip install numpy && env/bin/python check.py"
    )

from classroom.checks import is_measurable, list_findings, measure_quality, run_checks
from classroom.submission import NAMES, SCHEDULER, Budget, Submission, read_code, start_own_process

PATIENCE_S = 60.0
"""Seconds for all checks of a file; for a correct file they take a few."""


def check_file(path: Path) -> bool:
    """Whether all checks of this file hold, which are printed."""
    all_cases = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    print(f"\n{path.resolve()}", flush=True)
    try:
        submission = Submission(start_own_process, read_code(path, NAMES[path.name]), budget=Budget(PATIENCE_S))
    except ValueError as error:
        print(f"NO   {error}")
        return False
    checks = run_checks(submission, all_cases[path.name])
    good = sum(check.passed for check in checks)
    print(list_findings(checks), f"{path.name}: {good} of {len(checks)} checks hold", sep="\n", flush=True)
    if path.name == SCHEDULER and is_measurable(checks):
        part, _, feedback = measure_quality(submission, all_cases["quality"])
        print(f"{feedback}\nbandwidth: some {100 * (part or 0.0):.0f} % of its points, by traffic of this check's own")
    return good == len(checks)


def main(words: list[str]) -> int:
    """Check the files named, or all in the present folder. 0: all passed."""
    paths = [Path(word) for word in words] or [Path(file) for file in NAMES if Path(file).is_file()]
    if not paths or not all(path.name in NAMES and path.is_file() for path in paths):
        print(f"the files to check are {', '.join(NAMES)}; there is no {' '.join(words) or 'such file here'}")
        return 2
    done = [check_file(path) for path in paths]
    print("\nGrading draws other examples: what fails here loses points there; what holds here may still.")
    return 0 if all(done) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
