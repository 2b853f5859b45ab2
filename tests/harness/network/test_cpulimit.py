"""What hosts may take of processors. What the kernel does with it takes control groups of version 2, which tests/kernel
has where this machine has none."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.network import cleanup, cpulimit
from harness.network.cleanup import remove_leftovers, run_folder
from harness.network.cpulimit import HANDED_DOWN, HostGroups, compute_quota, find_groups_left, find_hierarchy
from harness.network.processes import Children
from record.errors import RunFailed, UnfitMachine, UserMistake
from record.files import name_owner


@pytest.mark.parametrize(
    ("share", "processors", "expected"),
    [
        (0.0625, 1, (6250, 100_000)),  # the replication's, as Mininet 2.3.0 computes it
        (0.0625, 8, (50_000, 100_000)),
        (1, 2, (200_000, 100_000)),
        (4 / 8**3, 1, (1000, 128_000)),
        (0.001, 1, (1000, 1_000_000)),
    ],
)
def test_quota_and_period_are_mininet_s(share, processors, expected):
    assert compute_quota(share, processors) == expected


def test_a_share_that_no_period_is_long_enough_for_is_refused():
    with pytest.raises(UserMistake, match=r"--host-cpu must be at least 0\.0005 on this machine, not 0\.0004"):
        compute_quota(0.0004, 2)


@pytest.fixture
def mounted(tmp_path):
    """A file of mounts: those of version 2 with these controllers, if any, and such lines."""

    def write(controllers, *lines):
        if controllers is not None:
            (tmp_path / "unified").mkdir()
            (tmp_path / "unified" / "cgroup.controllers").write_text(f"{controllers}\n")
            lines = (*lines, f"cgroup2 {tmp_path}/unified cgroup2 rw,nosuid 0 0")
        path = tmp_path / "mounts"
        path.write_text("".join(f"{line}\n" for line in ("proc /proc proc rw 0 0", *lines)))
        return path

    return write


OLD = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0"


def test_the_cpu_controller_of_version_2_is_found(mounted, tmp_path):
    assert find_hierarchy(mounted("cpuset cpu io memory")) == tmp_path / "unified"


@pytest.mark.parametrize(
    ("controllers", "lines", "why"),
    [
        (None, [OLD], "version 1 has it here"),
        ("", [OLD], "version 1 has it here"),
        ("memory", [], "it is not there"),
        (None, [], "no such groups are mounted"),
    ],
)
def test_a_machine_without_it_is_told_why(mounted, controllers, lines, why):
    with pytest.raises(UnfitMachine, match=f"version 2, and {why}"):
        find_hierarchy(mounted(controllers, *lines))


def test_a_machine_that_refuses_groups_is_told_so(mounted, tmp_path, monkeypatch):
    mounts = mounted("cpu")
    monkeypatch.setattr(cpulimit, "find_hierarchy", lambda: find_hierarchy(mounts))
    (tmp_path / "unified" / HANDED_DOWN).mkdir()  # nobody can write to it
    with pytest.raises(UnfitMachine, match=r"refuses control groups in .*is a directory.*--cgroupns=host"):
        HostGroups("1-2", 0.5, tmp_path)


# --- in a kernel that has them ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """That of a run, for as long as the test takes."""
    try:
        root = find_hierarchy()
        (root / "hedera-test").mkdir()
        (root / "hedera-test").rmdir()
    except (OSError, UnfitMachine) as reason:
        pytest.skip(str(reason))
    monkeypatch.setattr(cleanup, "HOME", tmp_path / "run")
    with run_folder() as place:
        yield place
    assert find_groups_left() == {}


def busy(children, groups, host="h"):
    return children.spawn("busy", ["sh", "-c", "while :; do :; done"], group=groups.of_host(host))


def spent_s(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.root
@pytest.mark.real
@pytest.mark.parametrize("share", [0.0625, 0.25])
def test_a_busy_loop_in_a_host_gets_its_share(folder, share):
    with Children() as children:
        groups = HostGroups(name_owner(), share / cpulimit.count_processors(), folder)  # one loop takes one processor
        loop = busy(children, groups)
        time.sleep(0.5)
        before, began = spent_s(loop.pid), time.monotonic()
        time.sleep(6)
        took = (spent_s(loop.pid) - before) / (time.monotonic() - began)
        assert took < 1.1 * share + 0.01, "ticks of 10 ms"
        assert took > 0.8 * share, "or others kept it from that"
        assert groups.read_back() == {"host_cpu_max": f"{round(share * 100_000)} 100000", "hosts_limited": 1}
        assert 2 < groups.throttled_s()["h"] < 7
        (groups.of_host("h").parent / "cpu.max").write_text("max 100000")
        with pytest.raises(RunFailed, match=r"hosts have not the limit of .*: h \(max 100000\)"):
            groups.read_back()


@pytest.mark.root
@pytest.mark.real
def test_without_a_limit_the_loop_takes_more(folder):
    with Children() as children:
        loop = children.spawn("busy", ["sh", "-c", "while :; do :; done"])
        began = time.monotonic()
        time.sleep(3)
        assert spent_s(loop.pid) / (time.monotonic() - began) > 0.3


@pytest.mark.root
@pytest.mark.real
@pytest.mark.parametrize("by_others", [False, True])
def test_what_a_killed_run_leaves_is_undone_by_the_next(folder, by_others):
    handed_down = find_hierarchy() / HANDED_DOWN
    before = handed_down.read_text()
    other = find_hierarchy() / "of-others"
    program = (
        "import os, sys, time\nfrom pathlib import Path\nfrom harness.network import cleanup\n"
        "from harness.network.cpulimit import HostGroups\nfrom record.files import name_owner\n"
        f"cleanup.HOME = Path({str(cleanup.HOME)!r})\n"
        "held = cleanup.run_folder()\ngroups = HostGroups(name_owner(), 0.5, held.__enter__())\n"
        "groups.of_host('h').write_text(str(os.getpid()))\nprint('in', flush=True)\ntime.sleep(600)\n"
    )
    try:
        handed_down.write_text("-cpu")
        run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert run.stdout.readline() == "in\n"
        assert "cpu" in handed_down.read_text().split()
        assert len(find_groups_left()) == 1
        assert remove_leftovers().removed == [], "it lives"
        if by_others:
            other.mkdir()
            (other / "cpu.weight").write_text("200")
        run.kill()
        run.communicate()
        assert len(remove_leftovers().removed) == (2 if by_others else 3)
        assert find_groups_left() == {}
        assert ("cpu" in handed_down.read_text().split()) is by_others
    finally:
        if by_others and other.exists():
            other.rmdir()
        if "cpu" in before.split():
            handed_down.write_text("+cpu")
