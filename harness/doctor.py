"""`hedera doctor`: every requirement, what was found, what is needed, and the command that mends it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from controllers.pox_main import find_pox, pox_version, too_old
from harness.network import machine
from harness.network.cpulimit import HostGroups
from harness.network.footprint import leftovers
from packets import build as packet_engine
from results.temporary import owner_name
from virtual import apt, kernel
from virtual.errors import Unavailable

SHAPED_S = 10.0


@dataclass(frozen=True)
class Finding:
    """One requirement. ``ok`` is None for what is good to have but not needed."""

    item: str
    found: str
    needed: str
    ok: bool | None
    fix: str = ""


def examine(time: str, as_root: Sequence[Finding]) -> list[Finding]:
    """All findings for runs in ``real`` or ``virtual`` time, in the order a newcomer would mend them.

    ``as_root``: those of `examine_as_root`; empty where nothing of ours is root.
    """
    virtual = time == "virtual"
    needs_root = _there("root", bool(as_root), "run it with sudo, or hedera doctor --time virtual")
    return [
        *(() if virtual else (needs_root,)),
        *(_of_guests(_tool(tool)) if virtual else _tool(tool) for tool in machine.TOOLS),
        _of_guests(_mininet()) if virtual else _mininet(),
        *(_library(name) for name in machine.LIBRARIES),
        *as_root,
        *((_guest_kernel(),) if virtual else ()),
        _pox(),
        _packets(),
        _leftovers(),
        _load(),
    ]


def examine_as_root() -> list[Finding]:
    """What only root finds out: its rights, and the kernel's features."""
    lacking = machine.lacking_rights()
    rights = _there("root's rights", not lacking, f"{lacking}: docs/container.md, or --time virtual")
    return [rights] if lacking else [rights, *_kernel_features()]


def _of_guests(found: Finding) -> Finding:
    """A program that is fetched and laid over a guest's root where this machine has none."""
    if found.ok:
        return found
    try:
        apt.available()
    except Unavailable:
        return found
    return replace(found, ok=None, fix="fetched for guests when the first one is booted; needs no root")


def _guest_kernel() -> Finding:
    """The kernel of virtual time, tested: which one it is, and how it holds its processes."""
    item = "kernel for virtual time"
    try:
        found = kernel.kernel(lambda sentence: None)
    except Unavailable as reason:
        return Finding(item, "no", "yes", False, str(reason))
    how = f"Linux {found.release}, {found.mode} mode"
    return Finding(item, how, "yes", None if found.slow else True, found.slow or "")


def _tool(tool: machine.Tool) -> Finding:
    version = machine.version_of(tool)
    fix = f"apt-get install {tool.package}"
    if version is None:
        return Finding(tool.name, "missing", tool.needed or "any", False, fix)
    ok = machine.at_least(version, tool.needed)
    return Finding(tool.name, version, tool.needed or "any", ok, "" if ok else fix)


def _mininet() -> Finding:
    version = machine.library_version("mininet")
    if version is None:
        return Finding("mininet (Python)", "missing", "2.3.0", False, "apt-get install mininet")
    return Finding("mininet (Python)", version, "2.3.0", machine.at_least(version, "2.3.0"))


def _library(name: str) -> Finding:
    version = machine.library_version(name)
    return Finding(name, version or "missing", "pinned", version is not None, "" if version else "setup/install.sh")


def _kernel_features() -> list[Finding]:
    shaper = _shaper_works()
    cubic = "cubic" in machine.congestion_controls()
    kernel = machine.kernel_datapath()
    with HostGroups(owner_name(), 1.0) as groups:
        pass
    extra = "apt-get install linux-modules-extra-$(uname -r) (Ubuntu)"
    return [
        _there("network namespaces and tbf, bfifo", shaper, "a kernel with CONFIG_NET_SCH_TBF and CONFIG_NET_NS"),
        _there("TCP cubic", cubic, "modprobe tcp_cubic"),
        _there("Open vSwitch in the kernel", kernel, f"{extra}; or --time virtual"),
        _sessions(),
        _there("CPU limit per host", groups.applied, groups.reason, optional=True),
    ]


def _there(item: str, found: bool, hint: str, optional: bool = False) -> Finding:
    good = True if found else None if optional else False
    return Finding(item, "yes" if found else "no", "optional" if optional else "yes", good, "" if found else hint)


def _shaper_works() -> bool:
    """Make a namespace that ends with its command, and shape a veth in it as a run would."""
    script = (
        "ip link add name v0 type veth peer name v1 && "
        "tc qdisc add dev v0 root handle 1: tbf rate 10mbit burst 3028 limit 75000 && "
        "tc qdisc add dev v0 parent 1:1 handle 10: bfifo limit 75000 && tc -j qdisc show dev v0"
    )
    try:
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, timeout=SHAPED_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and any(q["kind"] == "tbf" for q in json.loads(done.stdout))


def _sessions() -> Finding:
    """Whether work of others at low priority stays out of the way (docs/notes/emulation.md)."""
    setting = Path("/proc/sys/kernel/sched_autogroup_enabled")
    grouped = setting.exists() and setting.read_text().strip() != "0"
    name, needed = "processors shared by session", "no, beside other work"
    if not grouped:
        return Finding(name, "no", needed, True)
    hint = "sysctl kernel.sched_autogroup_enabled=0 while measuring, if others work here at low priority"
    return Finding(name, "yes", needed, None, hint)


def _pox() -> Finding:
    try:
        pox = find_pox()
    except ValueError as error:
        return Finding("POX", "POX_DIR is wrong", "optional", None, str(error))
    if pox is None:
        return Finding(
            "POX", "not found", "optional", None, "git clone -b halosaur https://github.com/noxrepo/pox ~/pox"
        )
    version = f"{pox_version(pox)} in {pox}"
    if too_old(pox):
        return Finding("POX", version, "optional", None, f"it needs Python 2: git -C {pox} checkout halosaur")
    return Finding("POX", version, "optional", True)


def _packets() -> Finding:
    item, needed = "ns-3 (hedera hull)", f"optional, {packet_engine.known_versions()}"
    try:
        return Finding(item, packet_engine.version(), needed, True)
    except packet_engine.NotInstalled as missing:
        return Finding(item, "not ready", needed, None, str(missing))


def _leftovers() -> Finding:
    left = leftovers()
    if left:
        return Finding("leftovers of killed runs", ", ".join(left), "none", None, "hedera clean")
    return Finding("leftovers of killed runs", "none", "none", True)


def _load() -> Finding:
    load, usable = os.getloadavg()[0], machine.processors()
    idle = load < BUSY * usable
    wait = "" if idle else "wait until it ends, or --time virtual, where runs only take longer"
    found = f"{load:.1f} on {usable} usable processors"
    return Finding(LOAD, found, f"below {BUSY * usable:g}", True if idle else None, wait)


LOAD = "load"
BUSY = 0.5
"""Of the processors: with so much load beside it a run in real time is seldom valid."""


def busy(findings: Sequence[Finding]) -> bool:
    return any(each.item == LOAD and not each.ok for each in findings)
