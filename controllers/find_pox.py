"""Where POX is: it is in no package registry, so it is found at run time."""

from __future__ import annotations

import os
from pathlib import Path


def find_pox() -> Path | None:
    """The first of POX_DIR, ~/pox (of the user behind sudo, too) and /opt/pox that holds ``pox.py``, or None.

    When POX_DIR is set it alone counts.
    """
    if named := os.environ.get("POX_DIR"):
        places = [Path(named)]
    else:
        homes = [Path.home()]
        if invoker := os.environ.get("SUDO_USER"):
            homes.append(Path(f"~{invoker}").expanduser())
        places = [*(home / "pox" for home in homes), Path("/opt/pox")]
    return next((place.resolve() for place in places if (place / "pox.py").is_file()), None)
