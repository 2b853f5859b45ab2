"""Guests, booted: what they see, what comes out of them, and that nothing of them is left."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from harness.network.processes import wait_until
from record.errors import WorkerFailed
from tests.commands import PATIENCE_S, PROJECT, open_folder, ran
from virtual import cache, kernel
from virtual import guest as guest_module
from virtual.guest import OUT, RESULTS, START_S, Guest, Original
from virtual.results import copy_results

pytestmark = pytest.mark.virtual
FOREVER = "while :; do :; done"
SMALL = {"memory_mib": 256, "real_s": float(PATIENCE_S)}


def of(job):
    """The processes that stand in that folder, or stood there when it was removed."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)") == str(job):
                found.append(int(pid))
    return found


def test_an_hour_is_over_at_once_and_the_command_s_status_comes_out(linux, tmp_path):
    with Guest(linux, ["sh", "-c", "sleep 3600; pwd; id -u; exit 7"], folder=tmp_path, memory_mib=256) as guest:
        ended = guest.wait()
        job = guest.job
    assert (ended.status, ended.stdout.split()) == (7, [str(tmp_path), "0"])
    assert ended.time_travel
    assert 3600 <= ended.simulated_s < 3610
    assert ended.real_s < 1800
    assert not job.exists()


def test_a_guest_that_sees_real_time_says_so(linux):
    with Guest(linux, ["true"], parameters=(), **SMALL) as guest:
        assert not guest.wait().time_travel


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("userspace - ptrace set fp regs failed, errno = 14", "AMX"),
        ("check_ptrace : expected SIGSTOP, got status = 9", "seccomp filters and ptrace"),
        ("/dev/shm must be not mounted noexec", "XDG_CACHE_HOME"),
        ("Bus error - the host /dev/shm or /tmp mount likely just ran out of space", "no memory"),
    ],
)
def test_a_guest_that_cannot_boot_says_why(tmp_path, line, cause):
    linux = tmp_path / "linux"
    linux.write_text(f"#!/bin/sh\necho '{line}'\necho 'Kernel panic - not syncing'\nexit 1\n")
    linux.chmod(0o755)
    with Guest(linux, ["true"], **SMALL) as guest, pytest.raises(WorkerFailed, match=cause):
        guest.wait()


def test_random_numbers_and_the_clock_are_those_of_the_seed(linux):
    script = "date +%s.%N; head -c 16 /dev/urandom | od -An -x; mktemp -u; ulimit -s; sleep 1; date +%s.%N"
    said = []
    for seed in (1, 1, 2):
        with Guest(linux, ["bash", "-c", script], seed=seed, **SMALL) as guest:
            said.append(guest.wait().stdout)
    assert said[0] == said[1] != said[2]
    assert said[0].startswith(f"{START_S}.")


def test_where_a_folder_of_the_host_is_does_not_move_the_clock(linux):
    """Below /tmp, too, where a booting guest has a file system of its own."""
    named = (Path("/", name) for name in ("usr", "bin", "sbin", "lib", "lib64"))
    system = {str(path): path for path in named if path.is_dir()}
    moments = set()
    for parent in ("/tmp", "/var/tmp"):
        with tempfile.TemporaryDirectory(dir=parent) as folder:
            world = system | {"/opt/given": Path(folder)}
            with Guest(linux, ["date", "+%s.%N"], folder=Path("/run"), world=world, **SMALL) as guest:
                moments.add(guest.wait().stdout)
    assert len(moments) == 1
    assert moments.pop().startswith(f"{START_S}.")


CLOCK = """
import ctypes, time
def by_the_kernel(clock):
    told = (ctypes.c_long * 2)()
    ctypes.CDLL(None).syscall(228, clock, told)
    return told[0] * 10**9 + told[1]
for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC):
    took = set()
    for _ in range(1000):
        times = [time.clock_gettime_ns(clock), by_the_kernel(clock), time.clock_gettime_ns(clock)]
        took |= {b - a for a, b in zip(times, times[1:])}
    print(min(took))
end, count = time.monotonic() + 0.01, 0
while time.monotonic() < end:
    count += 1
print(count // 1000, "[clock]" in open("/proc/self/maps").read())
"""


def test_a_process_reads_the_clock_from_a_page_as_the_kernel_would_tell_it(linux):
    with Guest(linux, [sys.executable, "-I", "-S", "-c", CLOCK], **SMALL) as guest:
        assert guest.wait().stdout.splitlines() == ["256", "256", "39 True"]


def test_the_host_s_files_are_seen_below_layers_and_stay_as_they_are_and_results_come_out(linux, tmp_path):
    file, layer = tmp_path / "file", cache.make_folder("layers") / f"test-{os.getpid()}"
    file.write_text("host")
    script = f"cat {file}; echo guest >{file} && cat {file}; rm -r {tmp_path}; test ! -e {file} && hedera-layer-test"
    program = layer / "usr/local/bin/hedera-layer-test"
    program.parent.mkdir(parents=True)
    try:
        program.write_text(f"#!/bin/sh\necho layer >{RESULTS}/a; mkdir {RESULTS}/b; test -e /usr/bin/env\n")
        program.chmod(0o755)
        with Guest(linux, ["sh", "-c", script], layers=[layer], **SMALL) as guest:
            ended = guest.wait()
            copy_results(guest.results, tmp_path)
    finally:
        shutil.rmtree(layer)
    assert (ended.status, ended.stdout) == (0, "hostguest\n")
    assert file.read_text() == "host"
    assert (tmp_path / "a").read_text() == "layer\n"


def test_it_runs_on_one_processor_that_no_other_guest_has(linux, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # guests of tests that run beside are others'
    with Guest(linux, ["sh", "-c", FOREVER], **SMALL) as one, Guest(linux, ["sh", "-c", FOREVER], **SMALL) as two:
        assert wait_until(lambda: (one.job / "out/facts").exists() and (two.job / "out/facts").exists(), PATIENCE_S)
        sets = [os.sched_getaffinity(guest.pid) for guest in (one, two)]
    assert [len(each) for each in sets] == [1, 1]
    if len(os.sched_getaffinity(0)) > 1:
        assert sets[0] != sets[1]


@pytest.mark.parametrize(
    ("script", "limit", "said"),
    [
        (
            f"sleep 5; {FOREVER}",
            {"stalled_s": 5},
            r"has stood at [4-6] s while it computed for \d+ s in 'sh -c sleep 5",
        ),
        ("sleep infinity", {"real_s": 4}, "did not finish within 4 s"),
        ("tail /dev/zero", {}, "used up its memory"),
    ],
)
def test_a_guest_that_hangs_is_never_done_or_has_no_memory_left_is_ended(linux, script, limit, said):
    with Guest(linux, ["sh", "-c", script], **SMALL | limit) as guest:
        with pytest.raises(WorkerFailed, match=said):
            guest.wait()
        job = guest.job
    assert wait_until(lambda: not of(job), PATIENCE_S)


def test_a_guest_that_is_killed(linux):
    with Guest(linux, ["sh", "-c", FOREVER], **SMALL) as guest:
        assert wait_until(lambda: (guest.job / "out/facts").exists(), PATIENCE_S)
        processes = of(guest.job)
        os.kill(guest.pid, signal.SIGKILL)
        with pytest.raises(WorkerFailed, match="ended without a result: it was killed"):
            guest.wait()
    assert processes
    assert wait_until(lambda: not any(Path("/proc", str(pid), "exe").exists() for pid in processes), PATIENCE_S)


def test_a_process_that_has_just_begun_when_its_kernel_is_killed_is_not_left(linux, tmp_path):
    """strace holds each one back before it can ask to be killed with its kernel."""
    if shutil.which("strace") is None or ran("strace", "-o", "/dev/null", "true").returncode:
        pytest.skip("where strace does not run no process is held back")
    held = tmp_path / "linux"
    options = "-f -qq -o /dev/null -e trace=execveat -e inject=execveat:delay_exit=100000"
    held.write_text(f'#!/bin/sh\nexec strace {options} {linux} "$@"\n')
    held.chmod(0o755)
    with Guest(held, ["sh", "-c", "while :; do /bin/true; done"], **SMALL) as guest:
        assert wait_until(lambda: (guest.job / "out/facts").exists(), PATIENCE_S)
        [kernel] = Path(f"/proc/{guest.pid}/task/{guest.pid}/children").read_text().split()
        os.kill(int(kernel), signal.SIGKILL)
        assert wait_until(lambda: not of(guest.job), PATIENCE_S)


PARENT = """
import sys
from dataclasses import replace
from pathlib import Path
from virtual.guest import Guest, Original
guest = Guest(Path(sys.argv[1]), ["sh", "-c", {command!r}], memory_mib=256)
with replace(guest, original=Original(guest) if {copied} else None) as guest:
    print(guest.job, guest.pid, flush=True)
    guest.wait()
"""


def parent(linux, command, prefix=(), environment=None, copied=False):
    code = textwrap.dedent(PARENT.format(command=command, copied=copied))
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": PROJECT, "env": environment}
    return subprocess.Popen([*prefix, sys.executable, "-c", code, str(linux)], **how)


def test_a_guest_boots_where_nobody_is_root(linux):
    """As in a container without privileges: a user namespace in which there is one user, not root."""
    with open_folder("guest") as place:
        kernel = shutil.copy(linux, place)
        (place / "cache").mkdir()
        inside = ["unshare", "--user", "--map-current-user", "--"]
        if os.geteuid() == 0:
            os.chown(place / "cache", 4321, 4321)
            inside = ["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups", "--bounding-set=-all", "--", *inside]
        reads = ["test", "-r", sys.executable, "-a", "-r", __file__]
        if ran(*inside, *reads).returncode:
            pytest.skip("no ordinary user can make user namespaces here, or read this code")
        environment = {"PATH": os.environ["PATH"], "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache")}
        with parent(kernel, f"id -u >{RESULTS}/uid", inside, environment) as process:
            assert process.communicate(timeout=PATIENCE_S)[1] == ""
        assert process.returncode == 0


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_parent_dies(linux, how, copied):
    with parent(linux, f"echo >/proc/again; {FOREVER}", copied=copied) as process:
        job = Path(process.stdout.readline().split()[0])
        assert wait_until(lambda: (job / "out/facts").exists() and of(job), PATIENCE_S)
        process.send_signal(how)
        process.communicate(timeout=PATIENCE_S)
    assert wait_until(lambda: not of(job), PATIENCE_S)
    with Guest(linux, ["true"], **SMALL) as guest:
        guest.wait()
    assert not job.exists()


def test_a_full_disk_is_told_and_not_a_result(linux, tmp_path):
    mount = 'mount -t tmpfs -o size=4m,mode=700 small "$1" && shift && exec "$@"'
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", str(tmp_path)]
    if ran(*inside, "true").returncode:
        pytest.skip("this machine has no user namespaces for ordinary users, so no small disk without root")
    command = f"head -c 8000000 /dev/zero >{RESULTS}/zeros; sleep 20; true"
    with parent(linux, command, inside, os.environ | {"XDG_CACHE_HOME": str(tmp_path)}) as process:
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "did not fit on the disk" in said


@pytest.mark.parametrize(
    ("limit", "cause"),
    [
        ("ulimit -n 300", "open files"),
        ("ulimit -f 1024", "in one file"),
        ("ulimit -v 500000", "address space"),
        ("ulimit -i 0", "pending signals"),
    ],
)
def test_a_limit_that_is_too_low_is_named_before_anything_is_made(linux, tmp_path, limit, cause):
    with limited(linux, limit, os.environ | {"XDG_CACHE_HOME": str(tmp_path)}) as process:
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "UnfitMachine: " in said
    assert cause in said
    assert not (tmp_path / "hedera").exists()


@pytest.mark.parametrize("limit", ["ulimit -Sn 64", "ulimit -l 0"])
def test_a_limit_that_a_shell_may_raise_is_raised_for_the_guest_alone(linux, limit):
    with limited(linux, limit, os.environ) as process:
        assert process.communicate(timeout=PATIENCE_S)[1] == ""
    assert process.returncode == 0


def limited(linux, limit, environment):
    return parent(linux, "true", ["bash", "-c", f'{limit}; exec "$@"', "bash"], environment)


def test_a_guest_holds_few_files_open_however_many_it_reads(linux, tmp_path):
    for number in range(400):
        (tmp_path / str(number)).write_text("x" * 5000)
    with Guest(linux, ["sh", "-c", f"cat {tmp_path}/* | wc -c; sleep 1"], **SMALL) as guest:
        most = 0

        def count(_):
            nonlocal most
            with contextlib.suppress(OSError):
                most = max(most, len(os.listdir(f"/proc/{guest.pid}/fd")))

        assert guest.wait(count).stdout == "2000000\n"
    assert 0 < most < 128


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("start_userspace : socketpair failed, errno = 24", "EMFILE"),
        ("start_userspace : clone failed, errno = 11", "EAGAIN"),
        ("guest: sync: error syncing: Disk quota exceeded", "disk"),
        ("guest: sync: error syncing: Read-only file system", "read-only"),
        ("something nobody foresaw", "something nobody foresaw"),
    ],
)
def test_the_cause_of_what_did_not_come_out_is_read_and_not_guessed(tmp_path, monkeypatch, line, cause):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    linux = tmp_path / "linux"
    linux.write_text(f"#!/bin/sh\necho '{line}'\ntouch out/unwritten\n")
    linux.chmod(0o755)
    with Guest(linux, ["true"], **SMALL) as guest, pytest.raises(WorkerFailed, match=cause) as failed:
        guest.wait()
    kept = list(cache.make_folder("consoles").iterdir())
    assert [str(path) in str(failed.value) for path in kept] == [True] * (cause == line)


def test_the_test_of_a_kernel_passes_here_and_fails_what_does_not_travel(linux, tmp_path):
    assert kernel.test(linux) in ("seccomp", "ptrace")
    with pytest.raises(kernel.UnfitMachine, match="does not run on this machine"):
        kernel.test(Path("/bin/true"))


# --- copies -----------------------------------------------------------------------------------------------------------

TICKS = "import threading, time\nticks = []\ndef tick():\n    while True: time.sleep(0.25); ticks.append(time.time())\n"
COPIED = f"""
exec >{OUT}/stdout 2>&1
"$PYTHON" -ISc '{TICKS}
threading.Thread(target=tick).start()
while True: time.sleep(1); open("/run/ticks", "w").write(repr(ticks))' >/dev/null 2>&1 &
echo before >/run/file; sleep 2.5
exec >&- 2>&-
echo >/proc/again
exec >>{OUT}/stdout 2>&1
cat {OUT}/files/mine /run/file; echo mine >>/run/file
sleep 2; cat /run/ticks /run/file; head -c 16 /dev/urandom | od -An -x; grep Cpus_allowed_list /proc/self/status
exit "$(cat {OUT}/files/mine)"
"""


def copied(linux, command=COPIED):
    return Guest(linux, ["bash", "-c", command], environment={"PYTHON": sys.executable}, files={"given": b""}, **SMALL)


def test_a_copy_goes_on_as_a_guest_of_its_own_would(linux):
    first = copied(linux)
    original, said = Original(first), {}
    with contextlib.closing(original):
        for status in (3, 4):
            with replace(first, files={**first.files, "mine": b"%d" % status}, original=original) as copy:
                ended = copy.wait()
                said[status] = (ended.status, ended.stdout, ended.simulated_s)
                assert (ended.time_travel, ended.stderr) == (True, "")
                assert Path("/proc", str(original._guest.pid)).exists()
    with replace(first, files={**first.files, "mine": b"3"}) as own:
        ended = own.wait()
    assert (ended.status, ended.stdout, ended.simulated_s) == said[3]
    assert said[4] == (4, said[3][1].replace("3", "4", 1), said[3][2])
    assert said[3][1].count("before") == 2
    assert not original.job.exists()
    assert wait_until(lambda: not of(original.job), PATIENCE_S)


def test_copies_run_on_processors_and_in_folders_of_their_own(linux, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # as above
    ours = len(os.sched_getaffinity(0))
    first = copied(linux, "echo >/proc/again; while :; do :; done")
    with contextlib.closing(Original(first)) as original, contextlib.ExitStack() as held:
        copies = [held.enter_context(replace(first, original=original)) for _ in range(min(2, ours))]
        places = [Path("/proc", str(copy.pid)) for copy in copies]
        assert wait_until(
            lambda: [place.joinpath("cwd").readlink() for place in places] == [c.job for c in copies], PATIENCE_S
        )
        status = [place.joinpath("status").read_text() for place in places]
        assert len({line for text in status for line in text.splitlines() if "Cpus_allowed_list" in line}) == len(
            copies
        )
        os.kill(copies[0].pid, signal.SIGKILL)
        with pytest.raises(WorkerFailed, match="killed"):
            copies[0].wait()
        for _ in range(20):  # given up at once, perhaps before they stand there
            with replace(first, original=original) as copy:
                copies.append(copy)
    assert wait_until(lambda: not any(map(of, [original.job, *(copy.job for copy in copies)])), PATIENCE_S)


def test_an_original_that_ends_or_has_ended_makes_no_copies(linux):
    with pytest.raises(WorkerFailed):
        Original(copied(linux, "true"))
    first = copied(linux, "echo >/proc/again")
    with contextlib.closing(Original(first)) as original:
        assert original.ready
        os.kill(original._guest.pid, signal.SIGKILL)
        assert wait_until(lambda: not original.ready, PATIENCE_S)
        with pytest.raises(WorkerFailed, match="has ended"), replace(first, original=original):
            pass


def test_an_original_without_room_for_another_memory_is_not_ready(linux, monkeypatch):
    with contextlib.closing(Original(copied(linux, "echo >/proc/again"))) as original:
        monkeypatch.setattr(
            guest_module, "has_room", lambda folder, mib: folder not in {original.job, Path("/dev/shm")}
        )
        assert not original.ready
