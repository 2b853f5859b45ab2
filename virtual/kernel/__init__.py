"""The kernel of virtual time. Everyone has the same one, so results of different machines compare.

`virtual.kernel.shipped` unpacks and tests it; `virtual.kernel.build` makes it again from its source, or another from
the source that HEDERA_KERNEL_SOURCE names. Other modules call `kernel()`.
"""

from virtual.kernel.shipped import kernel

__all__ = ["kernel"]
