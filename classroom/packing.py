"""A class's handout, without solutions; and its grader, packed for a grading service."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from string import Template

from classroom.cases import PUBLIC, cases
from classroom.sandbox import expose, packages
from classroom.submission import NAMES, ROOT, SCHEDULER

TEMPLATES = Path(__file__).with_name("templates")
"""Files that already run, with comments on the task."""
DOCUMENTS = ("assignment/handout.md", "assignment/rubric.md", "own-scheduler.md")
_SKIPPED = ("__pycache__", ".hypothesis", "runs", "build")
_SETUP = """#!/usr/bin/env bash
set -euo pipefail
[ $EUID -ne 0 ] || (apt-get update && apt-get install -y bubblewrap libseccomp2 python3 python3-seccomp python3-venv)
python3 -m venv --system-site-packages {place}/env
{place}/env/bin/pip install --require-hashes -r {place}/project/setup/requirements.lock
"""
_GRADE = """#!/usr/bin/env bash
# Closed off where this container lets bubblewrap work; else as another user, with limits alone (instructor.md).
set -uo pipefail
export HEDERA_GRADE_SEED={seed}  # not among a command's words, which every process on the machine can read
export PYTHONPATH={place}/project
grade() {{
    {place}/env/bin/python -c "from harness.cli import main; main()" \\
        grade {submission} --jobs 1 --format {service} --out {place}/grades "$@"
}}
grade
[ $? -ne 3 ] || grade --unprotected  # 3: this machine cannot isolate submissions
mkdir -p {results}
cp {place}/grades/{service}/*.json {results}/{result}
"""
_INFO = """{
  "uuid": "6f0cfd4b-5ad1-4b0c-9a5e-7b52e0f1a3c8", "title": "Hedera's schedulers", "topic": "Networks", "type": "v3",
  "gradingMethod": "External",
  "externalGradingOptions": {
    "enabled": true, "image": "YOUR-REGISTRY/hedera-grader", "entrypoint": "/hedera/run_autograder",
    "timeout": 600, "enableNetworking": false
  }
}
"""
"""The uuid identifies the question; it is the same in every package."""
_DOCKERFILE = """FROM debian:13
COPY . /hedera
RUN bash /hedera/setup.sh
"""
_AUTOGRADER = '''"""Run by Classroom 50 in a student's checkout; writes ./result.json."""

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

with tempfile.TemporaryDirectory() as place:
    zipfile.ZipFile(Path(__file__).with_name("project.zip")).extractall(place)
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", f"{place}/{script}"], env={**os.environ, "PLACE": place}, check=True)
'''
_PLACES = {
    "gradescope": ("/autograder/source", "/autograder/submission", "/autograder/results", "results.json"),
    "prairielearn": ("/hedera", "/grade/student", "/grade/results", "results.json"),
    "classroom50": ("$PLACE", ".", ".", "result.json"),
}
"""Of each service: where the package lies, where the submission, and where the result is to go, and its name."""


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
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ValueError(f"{path} is there already, and is not overwritten") from None
    return f"{path}:{name}"


def pack_handout(folder: Path) -> None:
    """Write templates, documents, modules to import, and checks with their cases, but no solution."""
    asked = json.dumps(cases(PUBLIC), allow_nan=False)
    folder.mkdir(parents=True)
    for file in NAMES:
        if file != SCHEDULER:
            shutil.copyfile(TEMPLATES / file.replace(".py", ".txt"), folder / file)
    write_template(folder / SCHEDULER, f"python3 check.py {SCHEDULER}")
    for name in DOCUMENTS:
        shutil.copyfile(ROOT / "docs" / name, folder / Path(name).name)
    expose(folder / "project", "classroom.checks")
    shutil.copyfile(ROOT / "classroom" / "check.py", folder / "check.py")
    (folder / "cases.json").write_text(asked + "\n")


def pack_grader(folder: Path, service: str, seed: int) -> Path:
    """Write the package to upload to a service or put into the course's repository; returns that file or folder.

    Raises ValueError if this is not a clone of the project, because its source is packed.
    """
    if not (ROOT / "setup" / "requirements.lock").is_file():
        raise ValueError("the grader is packed from a clone of the project, which this is not")
    folder.mkdir(parents=True)
    place, submission, results, result = _PLACES[service]
    words = {"place": place, "submission": submission, "results": results, "result": result}
    run = _GRADE.format(**words, service=service, seed=seed)
    scripts = {"setup.sh": _SETUP.format(place=place), "run_autograder": run}
    if service == "gradescope":
        return _zip(folder / "autograder.zip", scripts)
    if service == "prairielearn":
        (folder / "info.json").write_text(_INFO)
        _zip(folder / "image.zip", {**scripts, "Dockerfile": _DOCKERFILE})
    else:
        (folder / "autograder.py").write_text(_AUTOGRADER)
        _zip(folder / "project.zip", scripts)
    return folder


def _zip(path: Path, scripts: dict[str, str]) -> Path:
    """An archive of the project below ``project/``, with executable scripts at the root."""
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as archive:
        for name, text in scripts.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o100700 << 16  # the seed is in one of them
            archive.writestr(entry, text)
        for file in _sources():
            archive.write(file, Path("project") / file.relative_to(ROOT))
    return path


def _sources() -> list[Path]:
    inside = [path for package in packages() for path in sorted((ROOT / package).rglob("*"))]
    files = [path for path in inside if path.is_file() and not path.is_symlink()]
    kept = [path for path in files if not set(path.relative_to(ROOT).parts) & set(_SKIPPED)]
    kept = [path for path in kept if path.suffix in (".py", ".txt", ".csv", ".json") and path.parts[-2] != "figure9"]
    return [*kept, ROOT / "pyproject.toml", ROOT / "setup" / "requirements.lock"]
