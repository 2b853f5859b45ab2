"""A class's handout, without solutions; and its grader, packed for a grading service."""

from __future__ import annotations

import io
import json
import os
import re
import uuid
import zipfile
from pathlib import Path
from string import Template

from classroom.cases import PUBLIC, make_cases, make_quality_cases
from classroom.sandbox import expose, list_packages
from classroom.submission import NAMES, PROJECT, SCHEDULER
from record.files import write_whole

TEMPLATES = Path(__file__).with_name("templates")
"""Files that already run, with comments on the task."""
DOCUMENTS = ("assignment/handout.md", "assignment/rubric.md", "own-scheduler.md", "examples/random_paths.py")
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)#\s]+)[^)\s]*\)")
SECONDS, TIMEOUT_S = 12, 600
"""Processor seconds for each file in a package: the longest submission takes CLOCK times that for each of four files,
which is less than the longest time that PrairieLearn allows."""
_FAILED = "Grading did not come to an end, so this 0 says nothing of the submission: tell your instructor."
_PLACES = {
    "gradescope": ("/autograder/source", "/autograder/submission", "/autograder/results"),
    "prairielearn": ("/hedera", "/grade/student", "/grade/results"),
}
"""Of each service: where the package lies, where the submission, and where results.json is to go."""


def write_template(path: Path, check: str | None = None) -> str:
    """Write a new scheduler to start from, which says how to ``check`` it, and return its FILE:NAME.

    Raises ValueError if the file already exists, or is not a .py file.
    """
    if path.suffix != ".py":
        raise ValueError(f"a scheduler is a Python file: {path}.py?")
    name = "".join(word[:1].upper() + word[1:] for word in re.findall(r"[a-zA-Z0-9]+", path.stem))
    name = name if name.isidentifier() else "MyScheduler"
    words = {"file": path if check is None else path.name, "name": name}
    words["check"] = check or f"hedera scheduler check {path}:{name}"
    text = Template((TEMPLATES / "scheduler.txt").read_text(encoding="utf-8")).substitute(words)
    if os.path.lexists(path):
        raise ValueError(f"{path} is there already, and is not overwritten")
    write_whole(path, text)
    return f"{path}:{name}"


def pack_handout(folder: Path) -> None:
    """Write templates, documents, modules to import, and checks with their cases, but no solution."""
    cases_json = json.dumps(make_cases(PUBLIC) | {"quality": make_quality_cases(PUBLIC)}, allow_nan=False)
    for file in NAMES:
        if file != SCHEDULER:
            write_whole(folder / file, (TEMPLATES / file.replace(".py", ".txt")).read_bytes())
    write_template(folder / SCHEDULER, f"python3 check.py {SCHEDULER}")
    packed = {Path(name).name for name in DOCUMENTS}
    for name in DOCUMENTS:
        text = (PROJECT / "docs" / name).read_text(encoding="utf-8").replace("docs/examples/", "")
        text = _LINK.sub(lambda to: f"[{to[1]}]({Path(to[2]).name})" if Path(to[2]).name in packed else to[1], text)
        write_whole(folder / Path(name).name, text)
    expose(folder / "project", "classroom.checks")
    write_whole(folder / "check.py", (PROJECT / "classroom" / "check.py").read_bytes())
    write_whole(folder / "cases.json", cases_json + "\n")


def pack_grader(folder: Path, service: str, seed: int) -> Path:
    """Write the package to upload to a service or put into the course's repository; returns that file or folder.

    Raises ValueError if this is not a clone of the project, because its source is packed.
    """
    if not (PROJECT / "setup" / "requirements.lock").is_file():
        raise ValueError("the grader is packed from a clone of the project, which this is not")
    from classroom.grading import FORMATS, Grade

    nothing = Grade("", {}, None, None, 0.0, "not looked at", _FAILED, _FAILED)
    words: dict[str, object] = dict(zip(("place", "submission", "results"), _PLACES[service], strict=True))
    words |= {"service": service, "seed": seed, "seconds": SECONDS, "timeout": TIMEOUT_S, "uuid": uuid.uuid4()}
    words |= {"names": ", ".join(NAMES), "failed": json.dumps(FORMATS[service](nothing))}

    def fill(name: str) -> str:
        return Template((TEMPLATES / "grader" / f"{name}.txt").read_text(encoding="utf-8")).substitute(words)

    scripts = {name: fill(name.removesuffix(".sh")) for name in ("setup.sh", "run_autograder")}
    if service == "gradescope":
        return _write_zip(folder / "autograder.zip", scripts)
    for name in ("info.json", "question.html"):
        write_whole(folder / name, fill(name.partition(".")[0]))
    _write_zip(folder / "image.zip", {**scripts, "Dockerfile": fill("Dockerfile")})
    return folder


def _write_zip(path: Path, scripts: dict[str, str]) -> Path:
    """An archive of the project below ``project/``, with executable scripts at its top."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in scripts.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o100700 << 16  # the seed is in one of them
            archive.writestr(entry, text)
        for package in list_packages():
            for file in sorted((PROJECT / package).rglob("*.*")):
                if file.suffix in (".py", ".txt", ".csv", ".json") and file.is_file() and not file.is_symlink():
                    archive.write(file, "project" / file.relative_to(PROJECT))
        for name in ("pyproject.toml", "setup/requirements.lock"):
            archive.write(PROJECT / name, f"project/{name}")
    write_whole(path, packed.getvalue())
    return path
