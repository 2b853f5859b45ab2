"""What a guest carries out: the job that it was given; a line of output for each stage, a folder of results."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

GIVEN, OUT = (Path("/run/guest") / name for name in ("files/job.json", "results"))
CODE, COMPILED = "/opt/hedera", "compiled"


def main() -> None:
    """Machine code is copied: root loads none from a folder that is not its own."""
    if (given := Path(CODE, COMPILED)).is_dir():
        shutil.copytree(given, os.environ["NUMBA_CACHE_DIR"], copy_function=shutil.copyfile)
    if sys.version_info >= (3, 12):  # Mininet wants distutils, and only setuptools has it
        import setuptools  # noqa: F401
    from harness.jobs.experiment import run_experiment
    from harness.jobs.job import decoded, laid_in_guest
    from traffic.textfile import believe_only_given

    believe_only_given()
    job = decoded(GIVEN.read_bytes())
    os.chdir("/run")
    laid_in_guest(job)
    with job.files_given():
        run_experiment(job.spec, lambda raw: shutil.copytree(raw, OUT / "run"), lambda stage: print(stage, flush=True))


if __name__ == "__main__":
    from harness.errors import status_of

    sys.exit(status_of(main))
