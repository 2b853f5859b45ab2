"""Any command in virtual time: `run`, and `hedera guest` around it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from record.errors import WorkerFailed
from virtual.apt import layer
from virtual.guest import MEMORY_MIB, PATH, VIRTUAL, Ended, Guest
from virtual.kernel import kernel
from virtual.results import copy_results, read_small

SCRIPT = Path(__file__).with_name("command.sh")
PROGRAMS = {
    "mn": "mininet",
    "mnexec": "mininet",
    "ovs-vsctl": "openvswitch-switch",
    "ovs-testcontroller": "openvswitch-testcontroller",
    "iperf": "iperf",
    "ip": "iproute2",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
    "ps": "procps",
    "stty": "coreutils",
}
"""What a Mininet program starts, and the packages it comes from: fetched and unpacked where it is not installed."""
PRIVATE = ("LD_", "BASH_", "XDG_RUNTIME_DIR", "DBUS_", "SSH_", "TMUX")
"""Variables that mean nothing in a guest, or harm there, by how they begin."""
UNTIL_S = 900.0
"""Of its own clock: how long a command may take."""
SHOWN = 5
"""So many of the programs that still run when it is ended are named."""
SETTLED_S = 11
"""What passes of the guest's time before a command that no person waits for (`SCRIPT`)."""


def run(
    command: Sequence[str],
    *,
    out: Path | str | None = None,
    keep: Sequence[str] = (),
    stdin: bytes = b"",
    stdout: BinaryIO | None = None,
    stderr: BinaryIO | None = None,
    terminal: tuple[int, int] | None = None,
    environment: Mapping[str, str] | None = None,
    packages: Collection[str] = (),
    memory_mib: int = MEMORY_MIB,
    seed: int = 0,
    until_s: float = UNTIL_S,
    real_s: float = 3600.0,
    say: Callable[[str], None] = lambda sentence: None,
) -> Ended:
    """Run a command as root of a guest, in the folder one stands in, on this machine's files, which it cannot change.

    What it writes below ``$OUT`` is copied into the folder ``out``; files named by ``keep``, relative to the folder
    one stands in, are copied back there. ``stdout`` and ``stderr`` (default: this process's) get what it writes, as it
    writes it. ``terminal``: a person's, for reading and for writing; then time is real. ``environment``: this
    process's, if not told. ``packages``: of the distribution; those that are not installed are fetched and laid over
    this machine's files, for the guest alone. ``until_s``, ``real_s``: it is ended after so many seconds of its own
    clock, unless it has a terminal, and of ours; what it has written until then is there. Returns its exit status, what
    it took by its own clock and by ours, and whether its time was virtual (`Ended`, whose output is empty).

    Raises UnfitMachine where no guest can be had, WorkerFailed when it hangs, is ended, or leaves what is refused;
    ValueError for a path of ``keep`` that leads out of the folder, and for what is no package's name.
    """
    for path in keep:
        if os.path.isabs(path) or ".." in Path(path).parts:
            raise ValueError(f"{path} is not below the folder that the command stands in")
    for package in packages:
        if not re.fullmatch("[a-z0-9][a-z0-9+.-]+", package):
            raise ValueError(f"{package!r} is no name of a package")
    missing = {package for program, package in PROGRAMS.items() if shutil.which(program, path=PATH) is None}
    over = layer(sorted({*missing, *packages})) if missing or packages else None
    given = dict(os.environ if environment is None else environment)
    shown = {name: value for name, value in given.items() if not name.startswith(PRIVATE)}
    path = ":".join(dict.fromkeys([*filter(None, given.get("PATH", "").split(":")), *PATH.split(":")]))
    with (
        TemporaryFile() as written,
        TemporaryFile() as complained,
        open(f"/proc/self/fd/{written.fileno()}", "rb") as printed,  # each has a place of its own in the file
        open(f"/proc/self/fd/{complained.fileno()}", "rb") as moaned,
    ):
        files, clock = {"stdin": stdin}, VIRTUAL
        lines: list[tuple[int | None, int]] = [(None, written.fileno()), (None, complained.fileno())]
        if terminal is not None:
            columns, rows = os.get_terminal_size(terminal[1])
            files, clock, lines = {"terminal": f"{rows} {columns}\n".encode()}, (), [terminal]
        streams = ((printed, stdout or sys.stdout.buffer), (moaned, stderr or sys.stderr.buffer))

        def pass_on(_: object = None) -> None:
            for source, to in streams:
                shutil.copyfileobj(source, to)
                to.flush()

        with Guest(
            kernel(say).linux,
            ["bash", str(SCRIPT), f"{until_s:g}", *keep, "--", *command],
            environment={**shown, "PATH": path},
            layers=[over] if over else (),
            files=files,
            memory_mib=memory_mib,
            real_s=real_s,
            seed=seed,
            parameters=clock,
            lines=lines,
        ) as guest:
            try:
                ended = guest.wait(pass_on)
            finally:
                pass_on()
                if out is not None and (guest.results / "out").is_dir():
                    copy_results(guest.results / "out", Path(out), replace=True)
            if (guest.results / "keep").is_dir():
                copy_results(guest.results / "keep", Path.cwd(), replace=True)
            if (guest.results / "waited").exists():
                running = read_small(guest.results / "waited", 10_000).split("\n")[:-1]
                names = "; ".join(line[:120] for line in running[-SHOWN:])
                raise WorkerFailed(
                    f"the command was ended after {until_s:g} s of its own clock; what still ran: {names}"
                )
            if (guest.results / "lost").exists():
                raise WorkerFailed("not everything that was to be kept was there, or could be copied")
    return replace(ended, simulated_s=ended.simulated_s - (0 if terminal else SETTLED_S))
