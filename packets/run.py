"""Runs experiments: one in the engine, or many at once. Every result is kept, so nothing is run twice."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packets.build import engine, fingerprint
from packets.experiment import Experiment, scenario
from packets.result import Result, load, reduce, save
from results.files import make_folder


@dataclass(frozen=True)
class Task:
    """An experiment, the folder for its result, and the engine it is for: another engine gives other results."""

    experiment: Experiment
    folder: Path
    engine: str = field(default_factory=fingerprint)


def run(experiment: Experiment) -> Result:
    """Run one experiment.

    Raises NotInstalled (packets.build), or RuntimeError when the engine fails.
    """
    traffic = experiment.traffic()
    started = time.perf_counter()
    data = run_scenario(scenario(experiment, traffic))
    return reduce(experiment, traffic, data, time.perf_counter() - started)


def run_scenario(built: dict[str, Any]) -> bytes:
    """Run a scenario in the engine and return what it writes.

    Raises ValueError, one sentence, for a scenario that the engine refuses; RuntimeError when it dies.
    """
    # Files without a name: a killed process leaves nothing behind.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as question, tempfile.TemporaryFile() as answer:
        json.dump(built, question)
        question.seek(0)
        command = [str(engine()), "/dev/stdin", "/dev/stdout"]
        done = subprocess.run(command, stdin=question, stdout=answer, stderr=subprocess.PIPE, text=True, check=False)
        said = [line for line in done.stderr.splitlines() if line and not line.startswith("progress ")]
        if done.returncode == 2:
            raise ValueError(said[-1])
        if done.returncode != 0:
            message = said[-1] if said else "no message"
            raise RuntimeError(f"the packet engine ended early ({_why(done.returncode)}): {message}")
        answer.seek(0)
        return answer.read()


def _why(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"


def place(task: Task) -> Path:
    return task.folder / f"{task.experiment.key(task.engine)}.npz"


def kept_or_run(task: Task) -> Result:
    """The result of a task: from its file, or run now and kept.

    Raises RuntimeError, one sentence, if this machine (a worker of a cluster) has another engine; OSError, before
    running anything, if the result cannot be kept.
    """
    if fingerprint() != task.engine:
        raise RuntimeError(
            f"a worker has a different packet engine or ns-3 than this machine ({fingerprint()} instead of "
            f"{task.engine}), and would give different results: install the same on both"
        )
    path = place(task)
    result = load(path)
    if result is None:
        make_folder(task.folder)  # before it is run in vain
        result = run(task.experiment)
        save(result, path)
    return result


def run_many(
    label: str, experiments: Sequence[Experiment], folder: Path, jobs: int | None = None, cluster: str | None = None
) -> list[Result]:
    """The results of many experiments, in their order: from files, or run now in parallel.

    Runs go seed by seed, so that an interrupted command leaves complete seeds; the longest of each first, so that
    no long run is left alone at the end.
    """
    from results.tasks import run_tasks

    engine()  # compiled once, before many ask for it
    tasks = [Task(experiment, folder) for experiment in experiments]
    results = {task: load(place(task)) for task in tasks}
    missing = sorted((task for task, result in results.items() if result is None), key=_turn)
    if missing:
        kept = len(tasks) - len(missing)
        title = f"{label}: {len(missing)} runs" + (f", {kept} kept from before" if kept else "")
        for task, result in zip(missing, run_tasks(title, kept_or_run, missing, jobs, cluster), strict=True):
            results[task] = result
            if cluster:
                save(result, place(task))
    return [found for task in tasks if (found := results[task]) is not None]


def _turn(task: Task) -> tuple[int, float]:
    """The sort key: the seed, then minus the run's rough length, in simulated seconds of a full link."""
    experiment = task.experiment
    full = 1.0 if experiment.workload == "static" else 0.05 + experiment.load
    return experiment.seed, -full * experiment.seconds
