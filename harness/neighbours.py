"""What else runs on this machine: others' emulated networks, other runs of ours, and how busy it is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hedera.text import printable

OURS = ("run", "sweep", "demo", "table", "hifi", "grade", "doctor")
"""Commands that take a processor for long, or the machine for themselves."""
SWITCHES = ("ovs-vswitchd", "ovs-testcontrol", "ofdatapath")
MININET = "mininet:"
"""How Mininet marks the shell of every node: at the end of its command line."""
LONGEST = 60


@dataclass(frozen=True)
class Process:
    """A process of this machine: its id, and the words that it was started with."""

    pid: int
    words: tuple[str, ...]

    @property
    def of_a_network(self) -> str:
        """What part of an emulated network it is; empty for none."""
        name = os.path.basename(self.words[0])
        if name in SWITCHES:
            return name
        return "Mininet node" if self.words[-1].startswith(MININET) else ""

    @property
    def ours(self) -> str:
        """Which command of this project it is; empty for none."""
        for word, following in zip(self.words[:3], self.words[1:4], strict=False):
            if os.path.basename(word) == "hedera" and following in OURS:
                told = printable(" ".join(self.words[self.words.index(word) + 1 :]))
                return f"hedera {told[:LONGEST]}" + ("..." if len(told) > LONGEST else "")
        return ""


def processes(proc: Path = Path("/proc")) -> Iterator[Process]:
    """Those of this machine that we may see, but for this one and those that it comes from.

    A process may call itself anything: what is told of it is a hint to who reads it, and nothing is decided by it.
    """
    own = set(_line_of(os.getpid(), proc))
    for entry in proc.iterdir():
        if not entry.name.isdigit() or int(entry.name) in own:
            continue
        try:
            words = (entry / "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
        except OSError:  # it has ended
            continue
        if words != [""]:
            yield Process(int(entry.name), tuple(words))


def _line_of(pid: int, proc: Path) -> Iterator[int]:
    """A process, who started it, and so on."""
    while pid > 0:
        yield pid
        try:
            pid = int((proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return


def networks(found: list[Process]) -> str:
    """Others' emulated networks in words, with a process of each kind; empty where there is none.

    Where a run of ours goes on, they may be its own.
    """
    kinds = Counter(each.of_a_network for each in found if each.of_a_network)
    first = {each.of_a_network: each.pid for each in reversed(found) if each.of_a_network}
    return ", ".join(f"{number} {kind} (process {first[kind]})" for kind, number in kinds.items())


def runs(found: list[Process]) -> list[str]:
    """Other commands of ours, each once by its process that is the oldest of its words."""
    told: dict[str, int] = {}
    for each in found:
        if each.ours:
            told[each.ours] = min(each.pid, told.get(each.ours, each.pid))
    return [f"{words} (process {pid})" for words, pid in told.items()]


def load() -> float:
    """How many processes wanted a processor in the last minute, on average; of the whole machine."""
    return os.getloadavg()[0]
