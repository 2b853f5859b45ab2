"""What the tests would not notice: on how many of a few small changes of the code, drawn by a seed, a test fails.

    python -m benchmarks.mutants [--count 20] [--seed 1] [--revision HEAD]

Cosmic Ray makes them as `mutants.toml` says, one after the other, in a clone of the revision; survivors are shown
with their changes. Needs more than the checks do: .venv/bin/pip install --require-hashes --no-deps -r
setup/requirements-measure.lock
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

ROOT = Path(__file__).resolve().parents[1]
SETTINGS, SESSION = "benchmarks/mutants.toml", "mutants.sqlite"


def draw(session: Path, count: int, seed: int) -> None:
    """Leave only ``count`` of a session's mutants that no filter has skipped."""
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    with use_db(session, WorkDB.Mode.open) as db:
        found = {}
        for item in db.pending_work_items:
            (what,) = item.mutations
            found[str(what.module_path), what.start_pos, what.operator_name, what.occurrence] = item.job_id
        for place in found.keys() - set(random.Random(seed).sample(sorted(found), count)):
            db.set_result(found[place], WorkResult(worker_outcome=WorkerOutcome.SKIPPED))


@click.command(help=__doc__)
@click.option("--count", default=20, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--revision", default="HEAD", show_default=True)
def main(count: int, seed: int, revision: str) -> None:
    tools = Path(sys.executable).parent
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}

        def run(*command: str | Path) -> None:
            subprocess.run(command, cwd=folder, env=environment, check=True)

        run("git", "clone", "--quiet", ROOT, ".")
        run("git", "checkout", "--quiet", revision)
        run("cp", ROOT / SETTINGS, SETTINGS)
        run("ln", "-s", ROOT / ".venv", ".venv")
        run("cosmic-ray", "init", SETTINGS, SESSION)
        run("cr-filter-operators", SESSION, SETTINGS)
        draw(Path(folder, SESSION), count, seed)
        run("cosmic-ray", "exec", SETTINGS, SESSION)
        run("cr-report", "--surviving-only", "--show-diff", SESSION)


if __name__ == "__main__":
    main()
