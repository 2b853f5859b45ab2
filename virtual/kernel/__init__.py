"""The kernels of virtual time. Everyone has the same ones, so results of different machines compare.

`virtual.kernel.shipped` unpacks and tests it; `virtual.kernel.build` makes it again from its source, or another from
the source that HEDERA_KERNEL_SOURCE names. Other modules call `kernel()`.
"""

import os

from virtual.guest import require_programs
from virtual.kernel.shipped import NAMED, RUNS, Kernel, Say, find_built, unpack


def find_kernel(say: Say, kernel_name: str = RUNS) -> Kernel:
    """The kernel of runs, or ``kernel_name``, unpacked and tested (or, with HEDERA_KERNEL_SOURCE, compiled) now if it
    is not there yet.

    Raises UnfitMachine with the reason if that fails.
    """
    require_programs()
    if (of_user := find_built(kernel_name)) is not None:
        return of_user
    if os.environ.get(NAMED):
        from virtual.kernel.build import build

        return build(say, kernel_name)
    return unpack(say, kernel_name)
