"""The machine code of a run's inner loops, made here once: in guests it would be made again in every one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from harness.run.source import ROOT

MARK = "of-runs"
"""A file that says that all of it is there."""
HERE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "import runpy; runpy.run_module('harness.jobs.compiled', run_name='__main__', alter_sys=True)"
)


def compiled_for_runs(say: Callable[[str], None]) -> Path | None:
    """The folder with it (`hedera.compiled`), complete; None where this user cannot keep any."""
    from hedera.compiled import code_folder

    folder = code_folder()
    if folder is not None and not (folder / MARK).exists():
        say("compiling what runs need, once: a minute or less ...")
        subprocess.run([sys.executable, "-I", "-c", HERE, str(ROOT)], check=True, cwd="/")
    return folder


def main() -> None:
    """Have every scheme place flows, and the verdict find their fair rates, once."""
    from controllers.hedera_loop import warm_up
    from controllers.settings import Settings
    from hedera.compiled import code_folder
    from hedera.maxmin import max_min_rates
    from hedera.schemes import SCHEMES

    for scheme in SCHEMES.values():
        if scheme.scheduler is not None:
            settings = Settings(scheme=scheme.name)
            warm_up(settings, settings.tree)
    max_min_rates([[0]], [1.0])
    if (folder := code_folder()) is not None:
        (folder / MARK).touch()


if __name__ == "__main__":
    main()
