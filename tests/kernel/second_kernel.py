"""A kernel to test on that has what many lack: Open vSwitch's kernel datapath, netem, fq, cgroup version 2.

Where this machine's own kernel has the module, commands simply run here. Else Debian's user-mode-linux, a Linux
kernel that runs as an ordinary process, is fetched by apt, with apt's signatures, into a cache, and boots in a few
seconds on this machine's files; /run is empty there and vanishes, and so does /tmp unless we are below it. It has one
processor and starts processes slowly. Where neither is to be had, `Unavailable` says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from harness.network.machine import has_kernel_datapath
from tests.commands import PATIENCE_S

LAB = Path(os.environ.get("HEDERA_KERNEL_LAB") or Path.home() / ".cache" / "hedera-second-kernel")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MODULES = ("openvswitch", "veth", "sch_tbf", "sch_htb", "sch_netem", "sch_fq", "sch_red", "tcp_dctcp")
FETCH_S = float(PATIENCE_S)
LOOK_S = 1.0


class Unavailable(Exception):
    """There is no such kernel here; the message says why."""


class Ended(NamedTuple):
    """Exit status and output of a command. ``waiting``: for which share of its time the second kernel was ready to run
    and this machine's processors were at other work (0 where the command ran on this machine's own kernel)."""

    status: int
    said: str
    waiting: float


def run(command: str, *, seconds: float, boot: str = "") -> Ended:
    """A shell command on a kernel with Open vSwitch's module, in the current folder.

    ``boot`` are parameters of the kernel, which a kernel that is running already cannot be given. Raises
    Unavailable when there is no such kernel, TimeoutExpired when it takes longer than ``seconds``.
    """
    if has_kernel_datapath() and not boot:
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(["bash", "-c", command], timeout=seconds, check=False, **both)
        return Ended(done.returncode, done.stdout, 0.0)
    return _boot(_linux(), command, seconds, boot)


def _linux() -> Path:
    """The kernel, fetched when it is not there yet; its modules are in ``unpacked`` beside it."""
    linux = LAB / "linux"
    if linux.exists():
        return linux
    if os.geteuid() != 0 or os.uname().machine != "x86_64":
        raise Unavailable("the second kernel needs root, and a processor of the x86-64 family")
    if not KEYRING.exists():
        raise Unavailable("the second kernel comes from Debian, whose archive keyring is not here")
    LAB.mkdir(mode=0o700, parents=True, exist_ok=True)
    (LAB / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (LAB / "sources.sources").write_text(
        f"Types: deb\nURIs: {_mirror()}\nSuites: sid\nComponents: main\nSigned-By: {KEYRING}\n"
    )
    apt = ["apt-get", "-qq", "-oAPT::Sandbox::User=root", "-oDir::Etc::sourceparts=/dev/null"]
    apt += [f"-oDir::Etc::sourcelist={LAB}/sources.sources", f"-oDir::State::Lists={LAB}/lists"]
    _run([*apt, "update"])
    _run([*apt, "download", "user-mode-linux", "libc6"])
    for package in LAB.glob("*.deb"):
        _run(["dpkg", "-x", str(package), "unpacked"])
    if shutil.which("patchelf") is None:
        raise Unavailable("the second kernel needs patchelf (setup/install.sh --check installs it)")
    libraries = next(LAB.glob("unpacked/**/libc.so.6")).parent
    half = LAB / "linux.partial"
    shutil.copy2(LAB / "unpacked/usr/bin/linux.uml", half)
    # It is linked to a newer C library than this machine may have.
    loader = str(libraries / "ld-linux-x86-64.so.2")
    _run(["patchelf", "--set-interpreter", loader, "--set-rpath", str(libraries), str(half)])
    half.rename(linux)
    return linux


def _mirror() -> str:
    """Where this machine's apt gets Debian's packages from."""
    told = _run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)", "Created-By: Packages"])
    for line in told.splitlines():
        address, _, origin = line.partition(" ")
        if origin.startswith("Debian") and "security" not in address:
            return address
    raise Unavailable("the second kernel comes from Debian, and apt knows no mirror of it")


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, cwd=LAB, capture_output=True, text=True, timeout=FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took more than {FETCH_S:g} s to fetch the second kernel") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no word"]
        raise Unavailable(f"the second kernel cannot be had: {command[0]} says {said[-1]}")
    return done.stdout


_INIT = """#!/bin/bash
export PATH={path} HOME={home} LANG=C.UTF-8 TERM=dumb
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs run /run
mount -t devtmpfs dev /dev; mkdir -p /dev/shm /dev/pts; mount -t tmpfs shm /dev/shm; mount -t devpts pts /dev/pts
mount -t cgroup2 none /sys/fs/cgroup; echo +cpu >/sys/fs/cgroup/cgroup.subtree_control; ln -sf /proc/self/fd /dev/fd
mkdir -p /run/modules/lib/modules; mount --bind {modules} /run/modules/lib/modules
for module in {names}; do modprobe -d /run/modules $module; done
ip link set lo up; sysctl -qw kernel.printk='1 1 1 1'
cd "$(cat {job}/folder)" || exit; [ "${{PWD#/tmp/}}" != "$PWD" ] || mount -t tmpfs tmp /tmp
bash {job}/command >{job}/output 2>&1; echo $? >{job}/status; sync; halt -f -p
"""


def _wait(booted: subprocess.Popen[bytes], seconds: float) -> float:
    """Wait for the end of the kernel; the share of the time for which it waited for a processor. TimeoutExpired."""
    began = time.monotonic()
    waited_s = 0.0
    while True:
        try:
            booted.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            # The scheduler's account of a process: ns that it ran, ns that it waited (Documentation/scheduler).
            waited_s = int(Path(f"/proc/{booted.pid}/schedstat").read_text().split()[1]) * 1e-9
            if time.monotonic() - began > seconds:
                raise
        else:
            return waited_s / (time.monotonic() - began)


def _boot(linux: Path, command: str, seconds: float, parameters: str) -> Ended:
    with tempfile.TemporaryDirectory(dir=LAB, prefix="job.") as name:
        job = Path(name)
        modules = next(LAB.glob("unpacked/**/modules.dep")).parent.parent
        (job / "folder").write_text(os.getcwd())
        (job / "command").write_text(command)
        init = job / "init"
        told = {"path": os.environ["PATH"], "home": os.environ.get("HOME", "/root"), "names": " ".join(MODULES)}
        init.write_text(_INIT.format(job=job, modules=modules, **told))
        init.chmod(0o700)
        options = f"root=/dev/root rootfstype=hostfs rootflags=/ rw mem=3G init={init} seccomp=on"
        machine = [str(linux), *f"{options} con=null con0=null,fd:1 {parameters}".split()]
        with (job / "console").open("wb") as console:
            booted = subprocess.Popen(
                machine, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True
            )
            try:
                waiting = _wait(booted, seconds)
            finally:
                booted.kill()
                booted.wait()
        status = job / "status"
        if not status.exists():
            last = (job / "console").read_text(errors="replace").splitlines()[-3:]
            raise Unavailable(f"the second kernel did not boot: {' / '.join(last)}")
        return Ended(int(status.read_text()), (job / "output").read_text(errors="replace"), waiting)
