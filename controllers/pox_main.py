"""POX with our component: ``python -m controllers.pox_main ~/pox openflow.of_01 controllers.pox_component``.

POX comes from a checkout, not from a package index: ``pip install pox`` is something else.

This does what ``pox.py`` does, for POX 0.7 (gar, what a plain clone of POX is) as well as 0.8 (halosaur). Where 0.7
differs: it looks for components below ``pox`` first and gives up when a name with a dot is not there, and SIGTERM
kills it.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import controllers


def main(argv: list[str]) -> None:
    """Run the POX checkout ``argv[0]`` with the rest as its command line; exit 2 when it is none."""
    checkout, *rest = argv or [""]
    if not (Path(checkout) / "pox" / "boot.py").is_file():
        print(f"controllers.pox_main: first name a POX checkout; {checkout!r} is none", file=sys.stderr)
        sys.exit(2)
    sys.path.insert(0, str(Path(checkout).resolve()))  # where boot looks for POX's own folders
    sys.modules["pox.controllers"] = controllers
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from pox.boot import boot  # type: ignore[import-not-found,unused-ignore]

    boot(rest)


if __name__ == "__main__":
    main(sys.argv[1:])
