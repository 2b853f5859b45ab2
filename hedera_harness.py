"""What an installed `hedera` begins with: all of the project's packages lie in the folder of this file.

Their names (`results`, `plots`) are ordinary ones, which another package of the same environment may have: an
installed copy keeps them in a folder of its own, and ahead of the others only in processes of this command.
"""

import gc
import os
import sys
import warnings
from pathlib import Path
from typing import Any


def __getattr__(name: str) -> Any:
    """The library (docs/library.md); from here on our packages come before others of their names.

    `differences`, the former name of `compare_schemes`, is there until the next release, and says so.
    """
    if name == "differences":
        warnings.warn("hedera_harness.differences is called compare_schemes now", DeprecationWarning, stacklevel=2)
        name = "compare_schemes"
    if name not in ("compare_schemes", "plot", "run", "simulate", "sweep"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from harness import library

    return getattr(library, name)


def main() -> None:
    """Entry point of the `hedera` command; root's rights are given up before anything else is imported."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from harness.root import start

    start()
    if not os.access(__file__, os.R_OK):
        place = Path(__file__).parent
        words = f"hedera: user {os.geteuid()}, for whom sudo runs this, cannot read {place}: "
        sys.stderr.write(words + "have it where that user can, or use a root shell (sudo -i)\n")
        sys.exit(3)
    # Each thread of NumPy's takes 41 MB of addresses, which 64 processors make 2.6 GB.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports make much and leave no garbage: to look for it as often as Python does is a tenth of what starting takes.
    gc.set_threshold(50_000)
    from harness.cli import main as command

    command()
