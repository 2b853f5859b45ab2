"""Another user of the same machine: what he leaves in a root shell's environment, in shared folders, in /proc.

What the enemy wants: a line of his that root carries out, a process of root's to end or look into, a lock that he
keeps, a name of ours that he has first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from record.files import identify_pids
from tests import made
from tests.commands import PROJECT
from tests.hostile.neighbourhood import ALICE, ENEMY, SECRET, Neighbourhood, does, enemy, environment, outside
from virtual.results import copy_results

pytestmark = pytest.mark.root
SHELLS = ("root shell", "sudo")
SIMULATE = ("simulate", "--scheme", "hedera-gff", "--traffic", "stride:1", "--seconds", 3)


@pytest.fixture
def place():
    with outside() as folder:
        made = Neighbourhood(folder)
        made.taken = folder / "taken"
        made.taken.touch()
        made.taken.chmod(0o666)
        yield made
        assert made.taken.read_text() == "", "the enemy's code ran"
        made.assert_unharmed()


def payload(place):
    """What the enemy would have root run."""
    return f"import os\nopen({str(place.taken)!r}, 'a').write(f'{{__name__}} as {{os.geteuid()}}; ')\n"


MODULES = "sitecustomize usercustomize numpy click harness json argparse matplotlib mininet encodings runpy"


@pytest.mark.parametrize("variables", [(), ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONSTARTUP")], ids=len)
@pytest.mark.parametrize(("shell", "words"), [("root shell", SIMULATE), ("sudo", ("doctor",))], ids=SHELLS)
def test_modules_of_the_enemy_s(place, shell, words, variables):
    """Modules by names that Python, or we, import, where root stands, or where variables of the session say."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for folder in (place.theirs, place.theirs / "lib" / version, place.theirs / "lib" / version / "site-packages"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in MODULES.split():
            (folder / f"{name}.py").write_text(payload(place))
    place.owned()
    more = dict.fromkeys(variables, str(place.theirs))
    if more:
        more["PYTHONSTARTUP"] = str(place.theirs / "sitecustomize.py")
    done = place.hedera(shell, *words, cwd=place.theirs, **more)
    assert "ovs-vswitchd" in done.stdout or done.returncode == 0, done.stderr


PLACES = (
    "XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME MPLCONFIGDIR NUMBA_CACHE_DIR TMPDIR DASK_CONFIG MATPLOTLIBRC "
    "PIP_CONFIG_FILE PIP_PYTHON GIT_CONFIG_GLOBAL TC_LIB_DIR IP_LIB_DIR OPENSSL_CONF OPENSSL_MODULES APT_CONFIG "
    "OVS_RUNDIR OVS_SYSCONFDIR GCONV_PATH LOCPATH LANGUAGE NLSPATH TERMINFO LD_LIBRARY_PATH BASH_ENV ENV"
)


def test_what_root_s_programs_hear_of_the_session(place):
    """Variables from which tc, ip, OpenSSL, apt, Open vSwitch, libc or a shell load code or settings of his."""
    program = "import subprocess\nfrom harness import root\nroot.start()\nsubprocess.run(['env'])"
    done = place.python("root shell", program, **dict.fromkeys((*PLACES.split(), "HOME"), str(place.theirs)))
    assert "PATH=" in done.stdout
    assert str(place.theirs) not in done.stdout


def test_caches_and_settings_of_the_enemy_s(place):
    """Variables name the enemy's folder, in which every cache that we keep is a pickle that runs his code, and
    settings name his module."""
    pickled = f"cbuiltins\nexec\n(V{payload(place)!r}\ntR.".replace("\\n", "\\u000a").encode()
    made.fonts(place.place / "kept")
    made.machine_code(place.place / "kept/hedera/compiled")
    names = [path.relative_to(place.place / "kept") for path in (place.place / "kept").rglob("*") if path.is_file()]
    assert len(names) > 1
    for prefix in ("", ".cache", ".cache/hedera", ".config/matplotlib", "matplotlib", ".cache/hedera/numba"):
        for name in (*names, "matplotlibrc", "config.py"):
            path = place.theirs / prefix / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"backend: module://evil\n" if path.name == "matplotlibrc" else pickled)
    (place.theirs / "evil.py").write_text(payload(place))
    place.owned()
    was = {path: path.stat().st_mtime_ns for path in place.theirs.rglob("*")}
    draw = ("collective", "table", "--quick", "--out", place.place / "drawn")
    session = dict.fromkeys((*PLACES.split()[:9], "HOME"), str(place.theirs))
    for words in (SIMULATE, draw):
        done = place.hedera("root shell", *words, cwd=place.theirs, **session)
        assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in place.theirs.rglob("*")} == was, "nothing of root's goes there"


FAKES = "ip tc git ovs-vsctl ovs-vswitchd iperf bwm-ng mnexec modprobe uname sh"


def test_programs_by_the_names_of_ours(place):
    """PATH of a user's session: ip, tc, git, ovs-vsctl and others of the enemy's come first in it, in a folder of his,
    and in one of root's that everybody may write to."""
    (place.place / "loose").mkdir()
    (place.place / "loose").chmod(0o1777)
    for name in FAKES.split():
        for path in (place.theirs / name, place.place / "loose" / name):
            path.write_text(f"#!/bin/sh\necho {name} >>{place.taken}\n")
            path.chmod(0o755)
    place.owned()
    first = f"{place.place}/missing:{place.place}/loose:{place.theirs}"
    done = place.hedera("root shell", "doctor", PATH=f"{first}:/usr/sbin:/usr/bin:/sbin:/bin")
    assert "ovs-vswitchd" in done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_root_stands_in_the_enemy_s_clone(place, shell):
    """Root calls its own `hedera` in a clone of the enemy's: with a git that runs a program, settings for every tool,
    and a results folder that is a link to root's."""
    clone = place.theirs / "clone"
    (clone / ".git").mkdir(parents=True)
    (clone / ".git" / "config").write_text(f"[core]\n\tfsmonitor = touch {place.taken}.git; false\n")
    (clone / "matplotlibrc").write_text("backend: module://evil\n")
    (clone / "evil.py").write_text(payload(place))
    (clone / "results").symlink_to(place.roots if shell == "root shell" else place.alices)
    place.owned()
    assert "ovs-vswitchd" in place.hedera(shell, "doctor", cwd=clone).stdout
    if shell == "root shell":
        draw = ("figure", 3, "-k", 4, "--max-flows", 2, "--seeds", 1, "--jobs", 1)
        assert place.hedera(shell, *draw, cwd=clone).returncode == 1
    assert not Path(f"{place.taken}.git").exists()


@pytest.mark.parametrize("kind", ["his folder", "his link", "a folder for all", "a file", "a pipe"])
def test_the_folder_of_runs_is_taken_before_the_first_run(place, kind):
    """/run/hedera is the enemy's before root first needs it (where /run is not root's alone): root does not believe
    it, in one sentence, and writes nothing there."""
    where = place.theirs / "hedera"
    if kind == "his folder":
        where.mkdir()
    elif kind == "his link":
        where.symlink_to(place.roots)
    elif kind == "a folder for all":
        where = place.place / "hedera"
        where.mkdir()
        where.chmod(0o1777)
    elif kind == "a file":
        where.touch()
    else:
        os.mkfifo(where)
    place.owned()
    done = place.python(
        "root shell",
        f"""
from record.errors import UnfitMachine
from harness.network import cleanup
from harness.network.cleanup import sole_use
cleanup.HOME = Path({str(where)!r})
for use in (cleanup.run_folder, sole_use):
    try:
        with use():
            print("used")
    except UnfitMachine as error:
        print(error)
""",
    )
    assert done.stdout == f"{where} is not a folder that only root can write to, so it is not believed: remove it\n" * 2
    assert not where.is_dir() or where.is_symlink() or list(where.iterdir()) == []


GRABS = """
import fcntl, os, sys, time
for name in sys.argv[1:]:
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            fcntl.flock(os.open(name, flags), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
print(flush=True)
time.sleep(60)
"""
BEGINS = {
    "a run": "from harness.network import cleanup as f\nf.HOME = Path({!r})\nwith f.sole_use(): print('mine')",
    "a sweep": "from harness.jobs.carry_out import alone_in\nwith alone_in(Path({!r})): print('mine')",
}


@pytest.mark.parametrize("what", BEGINS)
def test_a_neighbour_holds_every_lock_that_he_can(place, what):
    """The enemy locks a folder that he may read, and each file in it that he can open, as root begins."""
    folder = place.place / "shown"
    folder.mkdir(mode=0o755)
    begin = BEGINS[what].format(str(folder))
    place.python("root shell", begin)
    with enemy(GRABS, folder, *folder.iterdir(), stdout=subprocess.PIPE) as grabbing:
        grabbing.stdout.readline()
        assert place.python("root shell", begin).stdout == "mine\n"
        grabbing.kill()


WRITES = {
    "record": (*SIMULATE, "--record", "{}"),
    "new": ("scheduler", "new", "{}"),
    "grade": ("grade", "{class}", "--seed", 1, "--out", "{}"),
}


@pytest.mark.parametrize("what", WRITES)
def test_a_link_where_a_command_writes(place, what):
    """Root gives a command a path in the enemy's folder, in which a link leads to root's own: as a folder on the way,
    and, where a file is written, as that file."""
    (place.theirs / "link").symlink_to(place.roots)
    (place.theirs / "file.py").symlink_to(place.roots / "precious")
    place.owned()
    (place.place / "class" / "ann").mkdir(parents=True)
    (place.place / "class" / "ann" / "demand.py").write_text("")
    for path in (place.theirs / "link" / "new.py", place.theirs / "file.py"):
        known = {"{}": path, "{class}": place.place / "class"}
        done = place.hedera("root shell", *(known.get(word, word) for word in WRITES[what]))
        assert done.returncode != 0 or (what, path.name) == ("record", "file.py"), done.stderr
        assert place.treasures() == place.before
    (place.theirs / "file.py").unlink()  # `--record` has replaced the link


def test_links_in_a_guest_s_results(tmp_path):
    """Where `hedera guest --out` and `--keep` write, folders and files are the enemy's links to root's."""
    for folder in ("left/deep", "out", "roots"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("left/file", "left/deep/file", "roots/file"):
        (tmp_path / name).write_text(name)
    (tmp_path / "out/file").symlink_to(tmp_path / "roots/file")
    (tmp_path / "out/deep").symlink_to(tmp_path / "roots")
    os.chown(tmp_path / "out/deep", ENEMY, ENEMY, follow_symlinks=False)
    with pytest.raises(PermissionError):
        copy_results(tmp_path / "left", tmp_path / "out", replace=True)
    assert [path.read_text() for path in (tmp_path / "roots").iterdir()] == ["roots/file"]
    assert (tmp_path / "out/file").read_text() == "left/file"


@pytest.mark.parametrize("victim", ["root shell", "user"])
def test_names_of_ours_in_tmp(place, victim):
    """In /tmp, folders by names as ours have, of runs that are over, with links to others' files in them: `hedera
    clean` takes those of who calls it, not the enemy's, and never what they lead to."""
    names = [f"hedera-{kind}-{identify_pids()}-1-2-enemy{os.getpid()}" for kind in ("grade", "truth", "run")]
    names.append(f"hedera-grade-enemy{os.getpid()}")
    planted = [Path("/tmp") / name for name in names]
    own = Path(f"/tmp/hedera-grade-{identify_pids()}-1-2-own{os.getpid()}")
    try:
        own.mkdir()
        (own / "inside").symlink_to(place.alices)
        for path in planted:
            does(f"import os; os.mkdir({str(path)!r}); os.symlink({str(place.roots)!r}, {str(path / 'inside')!r})")
        os.chown(own, *[0 if victim == "root shell" else ALICE] * 2)
        done = place.hedera(victim, "clean")
        assert done.returncode == 0, done.stderr
        assert f"removed {own}\n" in done.stdout
        assert all((path / "inside").is_symlink() for path in planted)
    finally:
        subprocess.run(["rm", "-rf", own, *planted], check=True)


LOOKS = """
import ctypes, os, resource, signal, sys
libc, pid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
def ptrace():
    if libc.ptrace(16, pid, 0, 0):
        raise OSError(ctypes.get_errno(), "")
for name, attempt in {
    "its memory": lambda: open(f"/proc/{pid}/mem", "rb"),
    "its environment": lambda: open(f"/proc/{pid}/environ", "rb").read(),
    "its files": lambda: os.listdir(f"/proc/{pid}/fd"),
    "its place": lambda: os.readlink(f"/proc/{pid}/cwd"),
    "its root": lambda: os.listdir(f"/proc/{pid}/root"),
    "its limits": lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0)),
    "traced": ptrace,
    "ended": lambda: os.kill(pid, signal.SIGKILL),
}.items():
    try:
        attempt()
        print(name)
    except OSError:
        pass
"""


def test_looking_into_the_child_that_stays_root(place):
    """The enemy calls sudo: our process is his from then on, and its child stays root's. He reads that one's memory,
    environment and open files, traces it, ends it."""
    program = f"""
import os, sys, time; sys.path.insert(0, {str(PROJECT)!r})
from harness import root
root.start()
print(os.getresuid(), root.find_root().pid, flush=True)
time.sleep(60)
"""
    victim = subprocess.Popen(
        [sys.executable, "-I", "-c", program],
        env=environment("root shell", place) | {"SUDO_UID": str(ENEMY), "SUDO_GID": str(ENEMY)},
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    try:
        who, _, child = victim.stdout.readline().strip().rpartition(" ")
        assert who == str((ENEMY,) * 3)
        assert does(LOOKS, child) == ""
        assert Path("/proc", child).exists()
    finally:
        victim.kill()
        victim.communicate()


TRIES = {
    "a file of root's": "open({precious!r})",
    "what lies beside its code": "open({beside!r})",
    "its code": "open({code!r}, 'a')",
    "a file in root's folder": "open({precious!r} + '2', 'w')",
    "root's number": "os.setuid(0)",
    "another's number": "os.setuid(1000)",
    "another's group": "os.setgroups([0])",
    "root's processes": "os.kill({pid}, 0)",
    "the memory of root's processes": "open('/proc/{pid}/mem', 'rb')",
    "the environment of root's processes": "open('/proc/{pid}/environ').read(1)",
    "tracing root's processes": "call('ptrace', 16, {pid}, 0, 0)",
    "a file by its handle": "call('open_by_handle_at', -100, ctypes.create_string_buffer(128), 0)",
    "another root": "os.chroot('/tmp')",
    "a mount": "call('mount', b'none', b'/tmp', b'tmpfs', 0, None)",
    "its mounts undone": "call('umount2', {hidden!r}.encode(), 2)",
    "a device": "os.mknod('/tmp/dev-' + str(os.getpid()), 0o20600, os.makedev(1, 1))",
    "a raw socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)",
    "the clock": "time.clock_settime(time.CLOCK_REALTIME, time.time())",
    "a program that has root's number": "su()",
    "a capability": "call('prctl', 47, 2, 2, 0, 0)",
    "the folder of runs": "open('/run/hedera/' + str(os.getpid()), 'w')",
    "the lock of runs": "open('/run/hedera/lock')",
    "what is kept of compiled code": "open('/root/.cache/' + str(os.getpid()), 'w')",
}


CONFINED = f"from harness.run.controller import confine, choose_environment\nalice = ({ALICE}, {ALICE})\n"


def test_a_scheduler_that_wants_root_s_rights(place):
    """A student's scheduler, as the root child starts the controller that has it, after alice called sudo."""
    code, precious, beside = (str(place.roots / name) for name in ("code.py", "precious", "beside"))
    known = {"precious": precious, "beside": beside, "code": code, "hidden": str(place.roots), "pid": os.getpid()}
    tries = {what: statement.format(**known) for what, statement in TRIES.items()}
    program = f"""
import ctypes, os, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def su():
    if subprocess.run(["su", "-c", "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode:
        raise OSError
def call(name, *words):
    if getattr(libc, name)(*words) == -1:
        raise OSError(ctypes.get_errno(), "")
for what, statement in {tries!r}.items():
    try:
        exec(statement)
        print("got", what)
    except OSError as error:
        pass
print("tried all")
"""
    Path(code).write_text(program)
    Path(beside).write_text(SECRET)
    place.before = place.treasures()
    done = place.python(
        "sudo",
        f"""
import subprocess
{CONFINED}
command = [*confine(alice, Path("/run")), sys.executable, "-I", "-c", {program!r}]
done = subprocess.run(command, env=choose_environment(alice), cwd="/", capture_output=True, text=True)
print(done.returncode, done.stdout, done.stderr)
""",
    )
    assert done.stdout.split() == ["0", "tried", "all"], done.stdout


def test_what_a_scheduler_hears_of_root_s_session(place):
    """Its environment holds nothing of root's but what programs need to start."""
    done = place.python(
        "root shell",
        f"""
import subprocess
{CONFINED}
command = [*confine(alice, Path("/run")), "env"]
print(subprocess.run(command, env=choose_environment(alice), cwd="/", capture_output=True, text=True).stdout)
""",
        AWS_SECRET_ACCESS_KEY=SECRET,
        SSH_AUTH_SOCK="/root/agent",
        LD_LIBRARY_PATH="/x",
        PYTHONPATH="/x",
    )
    names = {line.partition("=")[0] for line in done.stdout.split()}
    assert names <= {"PATH", "LANG", "LC_ALL", "TZ", "HOME", "NUMBA_CACHE_DIR", "POX_DIR", "PYTHONDONTWRITEBYTECODE"}
