"""What a guest carries out: the job that it was given, a line of standard output for each stage, a folder of results.

It keeps the machine code that it compiled, for the next guests.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

GIVEN, OUT = (Path("/run/guest") / name for name in ("files/job.json", "results"))
CODE = Path("/run/compiled")


def main() -> None:
    """``sys.argv[1]``: the host's folder of machine code. It is copied: what others can write, root does not load."""
    shutil.copytree(sys.argv[1], CODE, dirs_exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = str(CODE)
    brought = {path.relative_to(CODE): path.stat().st_mtime for path in CODE.rglob("*")}
    from harness.jobs.job import decoded, laid_in_guest
    from harness.run.experiment import run_experiment

    job = decoded(GIVEN.read_bytes())
    os.chdir("/run")
    laid_in_guest(job)
    with job.files_given():
        run_experiment(job.spec, OUT / "run", lambda stage: print(stage, flush=True))
    with suppress(OSError):
        for path in CODE.rglob("*"):
            name = path.relative_to(CODE)
            if path.is_file() and brought.get(name) != path.stat().st_mtime:
                (OUT / "compiled" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, OUT / "compiled" / name)


if __name__ == "__main__":
    from harness.cli.words import exit_in_words

    exit_in_words(main)
