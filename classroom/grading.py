"""Many submissions, each isolated from the machine and from the others (`classroom.sandbox`), and their grades."""

from __future__ import annotations

import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

from classroom.cases import FIGURE, NO_FLOWS, ONE_PASS, ORDER, make_cases, make_quality_cases
from classroom.checks import MOVES, RULES, Check, compute_earned, is_measurable, measure_quality, run_checks, with_first
from classroom.intake import HandIn
from classroom.sandbox import Place, start_closed, start_unclosed
from classroom.submission import NAMES, SCHEDULER, Budget, Code, Start, Submission, Unfit
from record.errors import to_one_line
from record.output import read_csv, write_csv
from record.tasks import workers

PARTS = {file.removesuffix(".py"): file for file in NAMES if file != SCHEDULER} | {"contract": SCHEDULER}
"""The file of each part that has checks."""
UNTOUCHED = {"demand": ((NO_FLOWS, ORDER), (FIGURE, ONE_PASS)), "contract": (tuple(RULES), (MOVES,))}
"""By part: checks that an untouched template or constant answers pass, and those beside which they count."""
POINTS = {"demand": 20.0, "first_fit": 20.0, "annealing": 20.0, "contract": 10.0, "quality": 30.0}
"""The points of each part, of 100 (docs/assignment/rubric.md)."""
COLUMNS = (
    "submission", "points", *(f"{part}_points" for part in (*PARTS, "quality")),
    "percent_of_bound", "seconds", "files", "remarks", "seed",
)  # fmt: skip
"""Of grades.csv."""
CALL_S = 20.0
CLOCK = 10.0
"""Real seconds allowed for each second of processor time: a busy machine is not the submission's fault."""
Checks = Mapping[str, Sequence[Check]]


class Line(NamedTuple):
    """One test as a student sees it, with its ``points`` of ``most``."""

    part: str
    name: str
    points: float
    most: float
    feedback: str


@dataclass(frozen=True)
class Grade:
    """One submission.

    ``checks``: by part, of the files that were handed in. ``quality``: from ECMP (0) by the baseline (AS_GOOD) to
    certainly more (1); ``percent_of_bound``: the mean over all patterns. ``seconds``: the time of grading. ``files``:
    those that were found. ``notes``: these, and what was odd about the hand-in; ``remarks``: the first mistake of
    each part, and what was odd. Each text is one line, safe for a terminal.
    """

    submission: str
    checks: Checks
    quality: float | None
    percent_of_bound: float | None
    seconds: float
    files: str
    remarks: str
    notes: str = ""

    @property
    def points(self) -> float:
        """Of 100."""
        return sum(line.points for line in self.lines())

    def lines(self) -> list[Line]:
        """The points of each part are divided among its checks."""
        shown = []
        for part, file in PARTS.items():
            checks = self.checks.get(part, ())
            if not checks:
                shown.append(Line(part, file, 0.0, POINTS[part], f"{file} was not handed in."))
                continue
            each = POINTS[part] / sum(check.worth for check in checks)
            worth = compute_earned(checks, *UNTOUCHED.get(part, ()))
            for (check, before, more), points in zip(with_first(checks), worth, strict=True):
                if before is check:
                    feedback = _describe_check(check, points > 0, also=more)
                else:
                    feedback = f"As for {file}: {before.name}."
                    feedback += "" if check.section == before.section else f"\nRead again: {check.section}."
                shown.append(Line(part, f"{file}: {check.name}", points * each, check.worth * each, feedback))
        words = "Not measured: scheduler.py has to keep its contract first."
        for check in self.checks.get("quality", ()):
            # A bandwidth below the best is no mistake about a section of the paper, which one could read again.
            words = _describe_check(check, counts=True) if self.quality is None else check.words or check.measured
        most, name = POINTS["quality"], "scheduler.py: bandwidth in the simulator"
        return [*shown, Line("quality", name, most * (self.quality or 0.0), most, words)]

    def row(self) -> dict[str, Any]:
        """A line of grades.csv: points, also by part, empty for what was not handed in."""
        row = {"submission": self.submission, "points": round(self.points, 2)}
        for part, share in self._collect_parts().items():
            row[f"{part}_points"] = None if share is None else round(POINTS[part] * share, 2)
        return row | self._collect_rest()

    def as_json(self) -> dict[str, Any]:
        """Parts as fractions of their points, and every check."""
        checks = {part: [check.as_json() for check in each] for part, each in self.checks.items()}
        return {
            "submission": self.submission,
            "points": self.points,
            **self._collect_parts(),
            **self._collect_rest(),
            "checks": checks,
        }

    def _collect_parts(self) -> dict[str, float | None]:
        """The fractions of the parts' points; None for what was not handed in, or not measured."""
        got = defaultdict[str, float](float)
        for line in self.lines():
            got[line.part] += line.points
        parts = {part: got[part] / POINTS[part] if part in self.checks else None for part in PARTS}
        return {**parts, "quality": self.quality}

    def _collect_rest(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("percent_of_bound", "seconds", "files", "remarks")}


@dataclass(frozen=True)
class Class:
    """The settings for grading a class: ``seed`` of cases and patterns.

    ``budget_s``: the processor time for each file of a submission; in real time it may take CLOCK times as long.
    ``place``: for their isolation; None: without.
    """

    seed: int
    budget_s: float
    place: Place | None = None

    def start(self, hash_seed: int = 0) -> Start:
        cpu_s = max(1, round(self.budget_s))
        return start_unclosed(cpu_s, hash_seed) if self.place is None else start_closed(self.place, cpu_s, hash_seed)


_cases, _quality = cache(make_cases), cache(make_quality_cases)


def grade_all(course: Class, jobs: int, made: Sequence[HandIn]) -> Generator[tuple[int, Grade]]:
    """The number of each submission with its grade, as soon as it is graded. Raises Unfit.

    The processes that grade end with this generator, and with this process, however it ends; with them end the
    submissions.
    """
    try:
        with workers(jobs) as pool:
            number = {pool.submit(grade, hand_in, course): n for n, hand_in in enumerate(made)}
            for future in as_completed(number):
                yield number[future], future.result()
    except BrokenProcessPool:
        raise Unfit("a grading process ended unexpectedly; finished grades are in grades.csv") from None


def grade(made: HandIn, course: Class) -> Grade:
    """The grade of a submission.

    Whatever the submission does, only its own grade is affected. Raises Unfit if the machine cannot start it.
    """
    clock = time.monotonic()
    checks: dict[str, list[Check]] = {}
    quality: float | None = None
    percent: float | None = None
    for part, file in PARTS.items():
        held = made.files.get(file)
        if isinstance(held, str):
            checks[part] = [Check("a file of Python", "docs/assignment/handout.md", held)]
        if not isinstance(held, Code):
            continue
        try:
            submission = Submission(course.start, held, CALL_S, Budget(CLOCK * course.budget_s))
            checks[part] = run_checks(submission, _cases(course.seed)[file])
            if file == SCHEDULER and is_measurable(checks[part]):
                quality, percent, bandwidth = measure_quality(submission, _quality(course.seed))
                checks["quality"] = [bandwidth]
        except Unfit:
            raise
        except Exception as error:  # noqa: BLE001, an unforeseen answer must not end the grading of a class
            words = f"what it answers ended the check: {type(error).__name__}: {error}"
            checks[part] = [Check("its checks come to an end", "docs/assignment/instructor.md", words)]
    files = ", ".join(made.file_names) or "nothing"
    wrong = {part: [check.words for check in each if not check.passed] for part, each in checks.items()}
    remarks = [f"{part}: {words[0]}" for part, words in wrong.items() if words]
    notes = [f"files: {files}"]
    if absent := ", ".join(file for part, file in PARTS.items() if part not in checks):
        notes = [f"{'not handed in' if checks else 'no file to grade'}: found {files}, expected {absent}"]
        remarks += notes
    remarks += made.remarks
    notes += made.remarks
    texts = _make_cell(files, 500), _make_cell("; ".join(remarks), 2000), _make_cell("; ".join(notes), 2000)
    return Grade(_make_cell(made.name, 300), checks, quality, percent, time.monotonic() - clock, *texts)


def _make_cell(text: str, most: int) -> str:
    """One line that is no formula for a spreadsheet."""
    line = to_one_line(text, most=most)
    return f"'{line}" if line[:1] in ("=", "+", "-", "@") else line


# --- what students and services are shown ----------------------------------------------------------------------


def _describe_check(check: Check, counts: bool, also: int = 0) -> str:
    """What a student reads of a check. ``counts``: whether it gives points; ``also``: how many others of its file fail
    in the same way, of which only that is said."""
    if check.passed:
        return (
            check.measured
            if counts
            else "Passed, but doing nothing passes this, too: it counts beside other checks only."
        )
    others = f" ({also} more check{'s fail' if also > 1 else ' fails'} so.)" if also else ""
    text = f"{check.words}{others}\nRead again: {check.section}."
    return f"{text}\nAn input that shows it:\n{check.example}" if check.example else text


def format_gradescope(grade: Grade) -> dict[str, Any]:
    tests = [
        {
            "name": name, "number": str(number), "score": round(points, 4), "max_score": round(most, 4),
            "status": "passed" if points >= most else "failed", "output": feedback, "tags": [part],
        }
        for number, (part, name, points, most, feedback) in enumerate(grade.lines(), 1)
    ]  # fmt: skip
    texts = dict.fromkeys(("output_format", "test_output_format", "test_name_format"), "text")
    shown = {"visibility": "visible", "stdout_visibility": "hidden", "output": _summarise(grade), **texts}
    return {"score": round(grade.points, 2), "execution_time": round(grade.seconds), "tests": tests, **shown}


def format_prairielearn(grade: Grade) -> dict[str, Any]:
    tests = [
        {
            "name": name, "description": f"part: {part}", "points": round(points, 4), "max_points": round(most, 4),
            "output": feedback,
        }
        for part, name, points, most, feedback in grade.lines()
    ]  # fmt: skip
    score = round(min(1.0, grade.points / 100), 6)
    return {"gradable": True, "score": score, "message": _summarise(grade), "tests": tests}


def format_feedback(grade: Grade) -> str:
    """For a student, where there is no service."""
    paragraphs = [grade.submission, _summarise(grade)]
    for _, name, points, most, words in grade.lines():
        paragraphs.append(f"\n{points:.2f} of {most:.2f}  {name}\n" + indent(words, "    "))
    return "\n".join(paragraphs).rstrip() + "\n"


def count_failures(graded: Sequence[Grade]) -> list[dict[str, Any]]:
    """By check: how many handed its file in, and how many of these do not have all of its points; most first."""
    handed_in, failed = Counter[str](), Counter[str]()
    for grade in graded:
        for part, name, points, most, _ in grade.lines():
            if part in grade.checks:
                handed_in[name] += 1
                failed[name] += points < most - 1e-9
    return [{"check": name, "failed": failed[name], "handed_in": handed_in[name]} for name, _ in failed.most_common()]


@dataclass(frozen=True)
class Table:
    """grades.csv of a class: ``before`` are its lines as they were, by student. ``seed`` is that of what is graded
    now."""

    path: Path
    seed: int
    before: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, path: Path, seed: int | None) -> Table:
        """With the seed of its last line where none is given, or a random one. ValueError, one sentence, where there is
        a table with other columns."""
        before = read_csv(path) if path.exists() else []
        if before and list(before[0]) != list(COLUMNS):
            raise ValueError(f"{path} has other columns than this version's: choose another --out")
        if seed is None:
            # Checks show inputs that are drawn from the seed: a short seed could be found by trying all.
            seed = int(before[-1]["seed"]) if before else secrets.randbelow(10**18)
        return cls(path, seed, {line["submission"]: dict(line) for line in before})

    def kept(self, grades: Sequence[Grade]) -> list[dict[str, Any]]:
        """The lines of those that are not graded now."""
        now = {grade.submission for grade in grades}
        return [line for name, line in self.before.items() if name not in now]

    def write(self, grades: Sequence[Grade]) -> None:
        lines = {**self.before, **{grade.submission: grade.row() | {"seed": self.seed} for grade in grades}}
        write_csv(self.path, [*lines.values()])


FORMATS = {"gradescope": format_gradescope, "prairielearn": format_prairielearn}


def _summarise(grade: Grade) -> str:
    failed = any(line.points < line.most - 1e-9 for line in grade.lines())
    sentence = " Tests that fail say what is wrong and what to read again." if failed else ""
    # The mistakes themselves stand with the tests: here they would be said twice.
    return f"{grade.points:.1f} of 100 points.{sentence}\n{grade.notes}"
