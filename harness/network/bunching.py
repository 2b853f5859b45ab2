"""Leave for ports to send in bunches: with a setting of HTB's, a timer for several packets instead of one for each.

A port that is full needs a timer for every packet, and what leaves packet by packet is received, forwarded and
acknowledged so: docs/notes/emulation.md has what that costs. HTB with hysteresis lets a class run up a debt before it
has to wait, so that packets leave some together, at the same rate. Linux has it as one setting for the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.network.modules import load
from harness.network.settings import Setting

HYSTERESIS = Setting(
    Path("/sys/module/sch_htb/parameters/htb_hysteresis"),
    "a change of sch_htb's htb_hysteresis",
    lambda text: text in ("0", "1"),
)


@contextmanager
def bunched(run_folder: Path, datapath: str) -> Iterator[bool]:
    """Have the setting while the block runs. Whether there is one: some kernels have no HTB, and in a container it
    may not be ours to set.

    Not on the kernel datapath: there a packet belongs to its sender's socket until it arrives, and TCP keeps no more
    than two of what it hands over at once on the way (TCP small queues). What keeps a bunch within its bucket, that
    hosts hand over little at once, would keep every queue of the network empty.
    """
    if datapath == "kernel":
        yield False
        return
    if not HYSTERESIS.path.exists():
        load("sch_htb")
    with HYSTERESIS.changed_where_allowed("1", run_folder) as there:
        yield there
