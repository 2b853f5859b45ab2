"""The kernel of virtual time. Everyone has the same one, so results of different machines compare.

`virtual.kernel.shipped` unpacks and tests it; `virtual.kernel.build` makes it again from its source. Other modules call
`kernel()`.
"""

from __future__ import annotations

from virtual.guest import require_programs
from virtual.kernel.shipped import Kernel, Say, built, unpacked


def kernel(say: Say) -> Kernel:
    """The kernel, unpacked and tested now if it is not there yet. Raises Unavailable with the reason if that fails."""
    require_programs()
    return built() or unpacked(say)
