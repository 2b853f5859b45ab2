"""Virtual time: a Linux of our own that runs as an ordinary process. Its clock stands still while anything computes.

The kernel is User-Mode Linux with its time-travel mode (arch/um/kernel/time.c), compiled from the distribution's
source by `virtual.kernel`; `virtual.guest` boots it for one command. Nothing here needs root.
"""

TIED = ("setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", '[ "$PPID" = "$0" ] || exit 125; unset PWD; exec "$@"')
"""A prefix for a command that ends with the process whose number comes next, which starts it, even if that has ended
before it could be tied. A shell would tell where it stands (PWD)."""
