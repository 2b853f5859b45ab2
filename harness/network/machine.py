"""What this machine is and has: cores, datapath, tools and their versions, POX. Looks, changes nothing."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from record.errors import UnfitMachine


@dataclass(frozen=True)
class Tool:
    """A program the harness runs, the Debian package it comes from, the versions that valid runs were made with, and
    the option that asks for its version."""

    name: str
    package: str
    tried: tuple[str, ...]
    option: str = "--version"


_OPEN_VSWITCH, _IPROUTE = ("3.1.0", "3.5.0"), ("6.1.0", "6.15.0")
MININET = ("2.3.0",)
TOOLS = (
    Tool("mnexec", "mininet", MININET, "-v"),
    Tool("ovs-vswitchd", "openvswitch-switch", _OPEN_VSWITCH),
    Tool("ovsdb-server", "openvswitch-common", _OPEN_VSWITCH),
    Tool("ovs-vsctl", "openvswitch-switch", _OPEN_VSWITCH),
    Tool("iperf", "iperf", ("2.1.8", "2.2.1")),
    Tool("bwm-ng", "bwm-ng", ("0.6.3",)),
    Tool("ip", "iproute2", _IPROUTE, "-V"),
    Tool("tc", "iproute2", _IPROUTE, "-V"),
    Tool("ethtool", "ethtool", ("6.1", "6.14.2")),
    Tool("setpriv", "util-linux", ("2.38.1", "2.41.5")),
)
"""The programs of a run. The versions are those of Debian 12 and 13 (docs/notes/footprint.md); every run.json has those
of its own run."""
PYTHONS, KERNELS = ("3.11", "3.13"), ("6.18", "7.2")

RIGHTS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}
"""Capabilities that real time takes and that engines of containers do not leave to root, with their bits."""
NO_MININET = (
    "Mininet was not found. It is a system package (apt-get install mininet), seen by environments made with "
    "python3 -m venv --system-site-packages; setup/install.sh does both"
)
SYSCTL = Path("/proc/sys/net/ipv4")
CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
FACTS = "HEDERA_GUEST_FACTS"
"""The variable in which a guest is told what was looked up before it was booted (`load_known_facts`)."""
LIBRARIES = ("numpy", "numba", "matplotlib", "networkx", "click", "rich", "jinja2", "os-ken")


@cache
def load_known_facts() -> dict[str, Any]:
    """What whoever booted this guest knows already: ``tools`` (version by name), and the ``revision`` of git. Empty
    where time is real."""
    # To start a program takes a guest 10 ms, and ten tools would be asked. Outside a guest the variable means nothing.
    return dict(json.loads(os.environ.get(FACTS, "{}"))) if time_travels() else {}


@cache
def find_version(tool: Tool) -> str | None:
    """The version a tool reports (``present`` when it reports none); None when it does not run."""
    # The folders of administrators' programs are not in an ordinary user's PATH.
    program = shutil.which(tool.name, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin")
    if program is None:
        return None
    if known := load_known_facts().get("tools", {}).get(tool.name):
        return str(known)
    try:
        # A tool that hangs as it tells its version is as one that is not there.
        done = subprocess.run([program, tool.option], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
    return match.group() if match else "present"


def find_library_version(name: str) -> str | None:
    """The installed version of a Python package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def has_kernel_datapath() -> bool:
    """Whether this kernel has Open vSwitch's datapath, built in or as a module (which asking loads)."""
    from harness.network.netlink import has_family

    try:
        return has_family("ovs_datapath")
    except OSError:
        return False


def require_datapath() -> None:
    """UnfitMachine where this kernel lacks Open vSwitch's datapath, which real time needs."""
    if not has_kernel_datapath():
        raise UnfitMachine(
            "real time needs Open vSwitch's kernel module, which is missing here (linux-modules-extra on Ubuntu has "
            "it): use --time virtual, which needs nothing"
        )


def list_congestion_controls() -> list[str]:
    """The congestion control algorithms of TCP that the kernel has loaded."""
    return (SYSCTL / "tcp_available_congestion_control").read_text().split()


def count_processors() -> int:
    """How many processors this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0))


def time_travels() -> bool:
    """Whether this is a kernel whose clock waits for whoever computes: a guest of ours (docs/virtual-time.md)."""
    try:
        return CLOCK.read_text().strip() == "time-travel-clock"
    except OSError:
        return False


def require_root() -> None:
    """UnfitMachine when this process is not root's, or is root's without some rights, which it names."""
    if os.geteuid() != 0:
        raise UnfitMachine("network namespaces need root: run it with sudo")
    if lacking := find_lacking_rights():
        raise UnfitMachine(
            f"{lacking}, and real time takes that (docs/container.md); --time virtual needs no rights at all"
        )


def find_lacking_rights(status: Path = Path("/proc/self/status"), ids: Path = Path("/proc/self/uid_map")) -> str:
    """The rights that networks in real time take and that root does not have here, as in a container. Empty where it
    has them all."""
    match = re.search(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE)
    has = int(match.group(1), 16) if match else 0
    missing = [name for name, bit in RIGHTS.items() if not has >> bit & 1]
    if missing:
        return f"root lacks {', '.join(missing)} here"
    if ids.read_text().split() != ["0", "0", str(2**32 - 1)]:
        return "root is root of a user namespace here, and not of the machine"
    return ""


def require_tools() -> None:
    """UnfitMachine names what is missing, programs or Mininet, and the command that installs it."""
    if find_spec("mininet") is None:
        raise UnfitMachine(NO_MININET)
    missing = [tool for tool in TOOLS if find_version(tool) is None]
    if missing:
        names = ", ".join(tool.name for tool in missing)
        packages = " ".join(dict.fromkeys(tool.package for tool in missing))
        raise UnfitMachine(f"{names} missing or not working: apt-get install {packages} (or run setup/install.sh)")


@cache
def describe_machine() -> dict[str, Any]:
    """What a result says of the machine on which it was measured, by the names of its environment."""
    return {
        "kernel": platform.release(),
        "system": _read_os_release(),
        "processor": read_processor_model(),
        "cores": count_processors(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "python": platform.python_version(),
        "tools": {tool.name: find_version(tool) or "missing" for tool in TOOLS},
        "libraries": {name: find_library_version(name) or "missing" for name in LIBRARIES},
        "congestion_controls": list_congestion_controls(),
    }


def _read_os_release() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"


def read_processor_model() -> str:
    match = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match.group(1) if match else platform.machine()


# --- POX, of which there is a checkout and no package -----------------------------------------------------------------


def find_pox(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The POX checkout named by POX_DIR, else the first of ~/pox, /opt/pox and what setup/install.sh --pox fetched that
    is there, else None.

    Under sudo, ~ is also the home of the user who called it. Raises ValueError, with one sentence, when
    POX_DIR is set and names something else.
    """
    named = environ.get("POX_DIR")
    if named:
        if not is_pox_checkout(Path(named)):
            raise ValueError(f"POX_DIR is {named}, but there is no POX checkout (no pox.py) there")
        return Path(named)
    users = ["~", *(f"~{user}" for user in [environ.get("SUDO_USER")] if user)]
    homes = [Path(os.path.expanduser(user)) for user in users]
    places = [*(home / "pox" for home in homes), Path("/opt/pox"), *(home / ".cache/hedera/pox" for home in homes)]
    return next((place for place in places if is_pox_checkout(place)), None)


def read_pox_version(checkout: Path) -> str:
    """The version of a checkout, as in ``0.8.0 (halosaur)``; ``unknown`` when its core does not say."""
    source = (checkout / "pox" / "core.py").read_text()
    number = re.search(r"^ +(?:self\.)?version *= *\((\d+), *(\d+), *(\d+)\)", source, re.MULTILINE)
    name = re.search(r"^ +(?:self\.)?version_name *= *[\"'](\w+)[\"']", source, re.MULTILINE)
    return f"{'.'.join(number.groups())} ({name[1]})" if number and name else "unknown"


def is_too_old_pox(checkout: Path) -> bool:
    """Whether a checkout is older than 0.7 (gar), the first that runs on Python 3."""
    numbers = re.match(r"(\d+)\.(\d+)", read_pox_version(checkout))
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < (0, 7)


def is_pox_checkout(place: Path) -> bool:
    return (place / "pox.py").is_file() and (place / "pox" / "core.py").is_file()
