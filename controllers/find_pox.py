"""Where POX is. It comes from a checkout, not from a package index: ``pip install pox`` is something else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path


def find_pox(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The POX checkout named by POX_DIR, else the first of ~/pox and /opt/pox that is there, else None.

    Under sudo, ~ is also the home of the user who called it. Raises ValueError, with one sentence, when
    POX_DIR is set and names something else.
    """
    named = environ.get("POX_DIR")
    if named:
        if not _is_checkout(Path(named)):
            raise ValueError(f"POX_DIR is {named}, but there is no POX checkout (no pox.py) there")
        return Path(named)
    users = ["~", *(f"~{user}" for user in [environ.get("SUDO_USER")] if user)]
    homes = [Path(os.path.expanduser(user)) / "pox" for user in users]
    return next((place for place in [*homes, Path("/opt/pox")] if _is_checkout(place)), None)


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
