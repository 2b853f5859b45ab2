"""Any command in virtual time: `run`, and `hedera guest` around it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from record.errors import WorkerFailed
from virtual.apt import make_layer
from virtual.guest import MEMORY_MIB, VIRTUAL, Ended, Guest
from virtual.kernel import find_kernel
from virtual.kernel.build import PROGRAMS as PROGRAMS_KERNEL
from virtual.limits import PATH
from virtual.results import copy_results, read_small

SCRIPT = Path(__file__).with_name("command.sh")
PROGRAMS = {
    "mn": "mininet",
    "mnexec": "mininet",
    "cgcreate": "cgroup-tools",
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
OTHERS = {
    "arping": "arping", "brctl": "bridge-utils", "curl": "curl", "D-ITGSend": "d-itg", "dig": "bind9-dnsutils",
    "dnsmasq": "dnsmasq-base", "hping3": "hping3", "ifconfig": "net-tools", "iperf3": "iperf3",
    "ip6tables": "iptables", "iptables": "iptables", "nc": "netcat-openbsd", "netperf": "netperf", "nft": "nftables",
    "nmap": "nmap", "sshd": "openssh-server", "tcpdump": "tcpdump", "telnet": "inetutils-telnet",
    "traceroute": "traceroute", "tshark": "tshark", "vconfig": "vlan", "vtysh": "frr", "wget": "wget", "zebra": "frr",
}  # fmt: skip
"""What such programs ask for now and then, and its packages: named where it is missing."""
MISSING = re.compile(
    r"(?:^|[\s'\"`/:])(?P<a>[\w.+-]+): (?:command )?not found\b"
    r"|Cannot find required executable (?P<b>[\w.+-]+)|No such file or directory: '(?:/[\w/.-]*/)?(?P<c>[\w.+-]+)'",
    re.MULTILINE,
)
"""How shells, Mininet and Python say that a program is not there."""
HEADER = 18
"""Bytes of Ethernet's head, with a VLAN's tag."""
READ = 1 << 20
"""So much of what a command has written is looked at for that, from its end."""
LINK_MBPS = 10_000.0
"""The rate of a link that has none: that of a fast network card, and less than what such links carry on a machine (10
to 50 Gb/s). Without one, TCP sends as fast as computing goes, which takes no time, and the clock hardly moves."""
MOST_MBPS = 4_000_000
WAITED = 1000
"""So many packets have to wait for such a link before it is told."""
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
    link_mbps: float = LINK_MBPS,
    offload: bool = True,
    until_s: float = UNTIL_S,
    real_s: float = 3600.0,
    say: Callable[[str], None] = lambda sentence: None,
) -> Ended:
    """Run a command as root of a guest, in the folder one stands in, on this machine's files, which it cannot change.

    What it writes below ``$OUT`` is copied into the folder ``out``; files named by ``keep``, relative to the folder
    one stands in, are copied back there. ``stdout`` and ``stderr`` (default: this process's) get what it writes, as it
    writes it. ``terminal``: a person's, for reading and for writing; then time is real. ``environment``: this
    process's, if not told. ``packages``: of the distribution; those that are not installed are fetched and laid over
    this machine's files, for the guest alone. ``link_mbps``: the rate of links (veth) that have no queue, and so no
    rate; 0: none. ``offload``: whether a packet on a link may stand for many, up to 64 kB, as Linux has it; else links
    carry packets of their MTU. ``until_s``, ``real_s``: it is ended after so many seconds of its own
    clock, unless it has a terminal, and of ours; what it has written until then is there. Returns its exit status, what
    it took by its own clock and by ours, and whether its time was virtual (`Ended`, whose output is empty).

    Raises UnfitMachine where no guest can be had, WorkerFailed when it hangs, is ended, or leaves what is refused;
    ValueError for a path of ``keep`` that leads out of the folder, and for what is no package's name.
    """
    if not (0 <= link_mbps <= MOST_MBPS and link_mbps == int(link_mbps)):
        raise ValueError(f"a link's rate is a whole number of Mb/s up to {MOST_MBPS:,}, or 0 for none")
    for path in keep:
        if os.path.isabs(path) or ".." in Path(path).parts:
            raise ValueError(f"{path} is not below the folder that the command stands in")
    for package in packages:
        if not re.fullmatch("[a-z0-9][a-z0-9+.-]+", package):
            raise ValueError(f"{package!r} is no name of a package")
    missing = {package for program, package in PROGRAMS.items() if shutil.which(program, path=PATH) is None}
    over = make_layer(sorted({*missing, *packages})) if missing or packages else None
    variables = dict(os.environ if environment is None else environment)
    shown = {name: value for name, value in variables.items() if not name.startswith(PRIVATE)}
    path = ":".join(dict.fromkeys([*filter(None, variables.get("PATH", "").split(":")), *PATH.split(":")]))
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
            find_kernel(say, PROGRAMS_KERNEL).linux,
            ["bash", str(SCRIPT), f"{until_s:g}", *keep, "--", *command],
            environment={**shown, "PATH": path},
            layers=[over] if over else (),
            files=files,
            memory_mib=memory_mib,
            real_s=real_s,
            seed=seed,
            parameters=(*clock, f"veth.rate={link_mbps:.0f}", f"veth.segments={0 if offload else 1}"),
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
            facts = guest.results / "links"
            facts_told = read_small(facts, 200).split("\n") if facts.exists() else []
            unheard = guest.results / "missing"
            absent = read_small(unheard, 10_000).split() if unheard.exists() else []
        notes = [
            *_describe_links(facts_told, link_mbps, offload),
            *_find_missing(absent, _read_end(moaned), _read_end(printed)),
        ]
    return replace(ended, simulated_s=ended.simulated_s - (0 if terminal else SETTLED_S), notes=tuple(notes))


def _describe_links(facts_told: Sequence[str], link_mbps: float, offload: bool) -> Iterator[str]:
    """What is to be said of links and limits, by what the guest has counted (command.sh)."""
    matches = (re.fullmatch("([a-z_]{1,20})=([0-9]{1,20})", line) for line in facts_told)
    counts = {match[1]: int(match[2]) for match in matches if match}
    if counts.get("limited"):
        yield "limits on processors are taken and slow nobody: computing takes no time here"
    if counts.get("waited", 0) >= WAITED:
        yield f"links without a rate had {link_mbps:,.0f} Mb/s, and were full (--link-rate)"
    mean, mtu = counts.get("mean", 0), counts.get("mean_mtu", 0)
    if offload and mean > mtu + HEADER:
        yield (
            f"packets on the busiest link with a queue had {mean:,} bytes on average, and its MTU is {mtu:,}: "
            "--no-offload has packets of the MTU"
        )


def _read_end(stream: BinaryIO) -> str:
    """The end of what was written to a file."""
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - READ))
    return stream.read().decode(errors="replace")


def _find_missing(names: Sequence[str], *texts: str) -> Iterator[str]:
    """The programs that shells of a command, or by what it has written it itself, did not find."""
    said = (next(filter(None, match.groups())) for text in texts for match in MISSING.finditer(text))
    for name in dict.fromkeys([*names, *said]):
        if shutil.which(name, path=PATH) is None and (package := (PROGRAMS | OTHERS).get(name)):
            yield f"{name} is not on this machine: --with {package}"
