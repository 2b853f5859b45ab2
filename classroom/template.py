"""The files of the assignment, and the templates that a student starts from: files that already run, with comments on
the task."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Task:
    """A milestone: its file to hand in, and the name in that file that is checked."""

    title: str
    file: str
    name: str
    section: str


MILESTONES: dict[str, Task] = {
    "demand": Task("demand estimation", "demand.py", "estimate_demands", "4.2"),
    "first-fit": Task("Global First Fit", "first_fit.py", "FirstFit", "4.3"),
    "annealing": Task("Simulated Annealing", "annealing.py", "Annealing", "4.4"),
}
"""The milestones on the way to Hedera, in their order."""
SCHEDULER = "scheduler.py"
NAMES = {task.file: task.name for task in MILESTONES.values()} | {SCHEDULER: "Scheduler"}
"""The files to hand in, and the name in each; the last one is a scheduler of the student's own."""


def class_name(path: Path) -> str:
    """The name of the class in a file: my_scheduler.py has MyScheduler."""
    words = re.findall(r"[a-zA-Z0-9]+", path.stem)
    name = "".join(word[:1].upper() + word[1:] for word in words)
    return name if name.isidentifier() else "MyScheduler"


def write_template(path: Path, milestone: str | None = None, *, handout: bool = False) -> str:
    """Write a new template, and return its FILE:NAME for `hedera scheduler check`.

    ``handout``: for students who have `classroom.check`, but not the project.

    Raises ValueError if the file already exists, or is not a .py file.
    """
    if path.suffix != ".py":
        raise ValueError(f"a scheduler is a Python file: {path}.py?")
    name = class_name(path) if milestone is None else MILESTONES[milestone].name
    text = (TEMPLATES / f"{milestone or 'scheduler'}.txt").read_text(encoding="utf-8")
    command = f"hedera scheduler check {path}:{name}" + (f" --milestone {milestone}" if milestone else "")
    filled = Template(text).substitute(
        file=path.name if handout else path, check=f"python3 check.py {path.name}" if handout else command, name=name
    )
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(filled)
    except FileExistsError:
        raise ValueError(f"{path} is there already, and is not overwritten") from None
    return f"{path}:{name}"
