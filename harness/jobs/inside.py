"""What a guest carries out: the job that it was given; a line of output for each stage, a folder of results."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

GIVEN, OUT = (Path("/run/guest") / name for name in ("files/job.json", "results"))
CODE = Path("/run/compiled")
MININET = Path("/usr/lib/python3/dist-packages/mininet")
"""The distribution's, which is plain Python, so that any Python can load it."""


def main() -> None:
    """``sys.argv[1]``: the host's folder of compiled code, if any. It is copied: what others can write, root does not
    load."""
    if sys.argv[1]:
        shutil.copytree(sys.argv[1], CODE)
        os.environ["NUMBA_CACHE_DIR"] = str(CODE)
    if find_spec("mininet") is None:  # an environment that does not see the system's packages sees this one alone
        place = Path("/run/python")
        place.mkdir()
        (place / MININET.name).symlink_to(MININET)
        sys.path.append(str(place))
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
    from harness.errors import exit_in_words

    exit_in_words(main)
