"""Virtual time: a Linux of our own that runs as an ordinary process. Its clock stands still while anything computes.

The kernel is User-Mode Linux with its time-travel mode (arch/um/kernel/time.c), compiled from the distribution's
source by `virtual.kernel`; `virtual.guest` boots it for one command. Nothing here needs root.
"""
