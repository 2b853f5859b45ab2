"""POX with our component: ``python -m controllers.pox_main ~/pox openflow.of_01 controllers.pox_component``.

POX comes from a checkout, not from a package index: ``pip install pox`` is something else.

This does what ``pox.py`` does, for POX 0.7 (gar, what a plain clone of POX is) as well as 0.8 (halosaur). Where 0.7
differs: it looks for components below ``pox`` first and gives up when a name with a dot is not there, and SIGTERM
kills it.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import controllers


def find_pox(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The POX checkout named by POX_DIR, else the first of ~/pox, /opt/pox and what setup/install.sh --pox fetched that
    is there, else None.

    Under sudo, ~ is also the home of the user who called it. Raises ValueError, with one sentence, when
    POX_DIR is set and names something else.
    """
    named = environ.get("POX_DIR")
    if named:
        if not _is_checkout(Path(named)):
            raise ValueError(f"POX_DIR is {named}, but there is no POX checkout (no pox.py) there")
        return Path(named)
    users = ["~", *(f"~{user}" for user in [environ.get("SUDO_USER")] if user)]
    homes = [Path(os.path.expanduser(user)) for user in users]
    places = [*(home / "pox" for home in homes), Path("/opt/pox"), *(home / ".cache/hedera/pox" for home in homes)]
    return next((place for place in places if _is_checkout(place)), None)


def pox_version(checkout: Path) -> str:
    """The version of a checkout, as in ``0.8.0 (halosaur)``; ``unknown`` when its core does not say."""
    source = (checkout / "pox" / "core.py").read_text()
    number = re.search(r"^ +(?:self\.)?version *= *\((\d+), *(\d+), *(\d+)\)", source, re.MULTILINE)
    name = re.search(r"^ +(?:self\.)?version_name *= *[\"'](\w+)[\"']", source, re.MULTILINE)
    return f"{'.'.join(number.groups())} ({name[1]})" if number and name else "unknown"


def too_old(checkout: Path) -> bool:
    """Whether a checkout is older than 0.7 (gar), the first that runs on Python 3."""
    numbers = re.match(r"(\d+)\.(\d+)", pox_version(checkout))
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < (0, 7)


def _is_checkout(place: Path) -> bool:
    return (place / "pox.py").is_file() and (place / "pox" / "core.py").is_file()


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
