"""`hedera doctor`: every requirement, what was found, what is needed, and the command that mends it."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.network import cpulimit, machine, run_program
from harness.network.cleanup import list_leftovers
from record.errors import RunFailed, UnfitMachine, WorkerFailed
from virtual import kernel, limits
from virtual.guest import Guest, find_memory_folder

SMALLEST = limits.Needs(processes=48, memory_mib=1024)
"""What the guest of a run with k = 4 takes (`harness.run.job.Job.needs`)."""


@dataclass(frozen=True)
class Finding:
    """One requirement. ``ok`` is None for what is good to have but not needed."""

    item: str
    found: str
    needed: str
    ok: bool | None
    fix: str = ""


def _describe_tried(versions: Sequence[str]) -> str:
    """Others may do as well: a run that is valid says that they do."""
    return f"tried: {', '.join(versions)}"


def _require_item(item: str, present: bool, fix: str) -> Finding:
    return Finding(item, "yes" if present else "no", "yes", present, "" if present else fix)


def _require_version(item: str, version: str | None, needed: str, fix: str) -> Finding:
    return Finding(item, version or "missing", needed, version is not None, fix if version is None else "")


def make_optional(item: str, value: str, needed: str, fix: str = "") -> Finding:
    """A finding that is good to have. It has a ``fix`` where something is not as it should be, and is ok otherwise."""
    return Finding(item, value, needed, None if fix else True, fix)


_rows_of_others: list[Callable[[], Finding]] = []


def register(row: Callable[[], Finding]) -> None:
    """Have `examine` show one row more: what a room above this one needs of the machine (`studies.requirements`)."""
    _rows_of_others.append(row)


def examine(time: str, as_root: Sequence[Finding]) -> list[Finding]:
    """All findings for runs in ``real`` or ``virtual`` time, in the order a newcomer would mend them.

    ``as_root``: those of `examine_as_root`; empty where nothing of ours is root.
    """
    version = machine.find_library_version
    wanted = [(tool.name, machine.find_version(tool), tool.tried, tool.package) for tool in machine.TOOLS]
    wanted.append(("mininet (Python)", version("mininet"), machine.MININET, "mininet"))
    programs = [
        _require_version(name, version_found, _describe_tried(versions), f"apt-get install {package}")
        for name, version_found, versions, package in wanted
    ]
    system = [
        _require_version("Python", platform.python_version(), f"3.10 or later; {_describe_tried(machine.PYTHONS)}", ""),
        _require_version("kernel", platform.release(), _describe_tried(machine.KERNELS), ""),
    ]
    libraries = [_require_version(name, version(name), "pinned", "setup/install.sh") for name in machine.LIBRARIES]
    left = list_leftovers()
    killed = make_optional(
        "leftovers of killed runs", ", ".join(left) or "none", "none", "hedera clean" if left else ""
    )
    others = (_check_pox(), *(row() for row in _rows_of_others), killed)
    if time == "virtual":
        return [
            *system,
            *map(_make_fetched, programs),
            *libraries,
            *as_root,
            *_check_limits(),
            *_check_guests(),
            *others,
        ]
    needs_root = _require_item("root", bool(as_root), "run it with sudo, or hedera doctor --time virtual")
    return [needs_root, *system, *programs, *libraries, *as_root, *others]


def examine_as_root() -> list[Finding]:
    """The findings that only root can make: its rights, and the features of the kernel."""
    lacking = machine.find_lacking_rights()
    rights = _require_item("root's rights", not lacking, f"{lacking}: docs/container.md, or --time virtual")
    if lacking:
        return [rights]
    options = "a kernel with CONFIG_NET_SCH_TBF and CONFIG_NET_NS"
    extra = "apt-get install linux-modules-extra-$(uname -r) (Ubuntu); or --time virtual"
    return [
        rights,
        _require_item("network namespaces and tbf, bfifo", _can_shape(), options),
        _require_item("TCP cubic", "cubic" in machine.list_congestion_controls(), "modprobe tcp_cubic"),
        _require_item("Open vSwitch in the kernel", machine.has_kernel_datapath(), extra),
        _check_host_limits(),
    ]


def _check_host_limits() -> Finding:
    item = "limits of hosts (--host-cpu)"
    try:
        return make_optional(item, f"control groups in {cpulimit.find_hierarchy()}", "optional")
    except UnfitMachine as reason:
        return make_optional(item, "no", "optional", str(reason))


def _make_fetched(finding: Finding) -> Finding:
    """A program that is fetched and laid over a guest's root where this machine has none."""
    if finding.ok or shutil.which("apt-get") is None:
        return finding
    return replace(finding, ok=None, fix="fetched for guests when the first one is booted; needs no root")


def _check_guests() -> list[Finding]:
    """The kernel of virtual time, tested, and how it holds processes; a guest with as many as a run of k = 4 has."""
    # Both rows say what is wrong where the kernel cannot be had, because without it no guest can be tried.
    item, size = "kernel for virtual time", "a guest of that size"
    try:
        booted = kernel.find_kernel(lambda sentence: None)
    except UnfitMachine as reason:
        return [_require_item(name, False, str(reason)) for name in (item, size)]
    tested = make_optional(item, f"Linux {booted.release}, {booted.mode} mode", "yes", booted.slow or "")
    count = SMALLEST.processes
    # Programs that sleep stand for those of a run of k = 4. Eight places are left for the guest's own programs.
    script = f"for i in $(seq {count - 8}); do sleep 2 & done; sleep 1; jobs -r | wc -l"
    command, memory_mib = ["bash", "-c", script], SMALLEST.memory_mib
    try:
        with Guest(
            booted.linux, command, folder=Path("/"), memory_mib=memory_mib, processes=count, real_s=120
        ) as guest:
            ended = guest.wait()
    except (UnfitMachine, WorkerFailed) as reason:
        return [tested, _require_item(size, False, str(reason))]
    correct = ended.stdout.strip() == str(count - 8)
    return [tested, _require_item(size, correct, f"it said {ended.stderr.strip()[-200:]!r}")]


def _check_limits() -> list[Finding]:
    """What a guest of k = 4 takes of the shell and of the machine. What it raises by itself is good."""
    findings = []
    for limit in limits.list_limits(SMALLEST):
        raised = f", raised to {limit.needs:,} for each guest" if limit.has < limit.needs <= limit.may else ""
        most = "no limit" if min(limit.has, limit.may) == limits.UNLIMITED else f"{limit.has:,}"
        fix = "" if limit.enough else limit.sentence()
        findings.append(Finding(f"{limit.name} (guests)", most + raised, f"{limit.needs:,}", limit.enough, fix))
    return [
        *findings,
        make_optional(
            "memory file of guests", str(find_memory_folder(SMALLEST.memory_mib) or "the user's cache"), "any"
        ),
    ]


def _can_shape() -> bool:
    """Make a namespace that ends with its command, and shape a veth in it as a run would."""
    script = (
        "ip link add name v0 type veth peer name v1 && "
        "tc qdisc add dev v0 root handle 1: tbf rate 10mbit burst 3028 limit 75000 && "
        "tc qdisc add dev v0 parent 1:1 handle 10: bfifo limit 75000"
    )
    try:
        run_program(["unshare", "--net", "sh", "-c", script], seconds=10)
    except RunFailed:
        return False
    return True


def _check_pox() -> Finding:
    try:
        pox = machine.find_pox()
    except ValueError as error:
        return make_optional("POX", "POX_DIR is wrong", "optional", str(error))
    if pox is None:
        return make_optional("POX", "not found", "optional", "setup/install.sh --pox")
    old = f"it needs Python 2: git -C {pox} checkout halosaur" if machine.is_too_old_pox(pox) else ""
    return make_optional("POX", f"{machine.read_pox_version(pox)} in {pox}", "optional", old)
