"""Submissions that mean harm, each as a student could hand it in, graded by root and by an ordinary user."""

import csv
import io
import os
import socket
import tempfile
from pathlib import Path

import pytest

from harness.network.processes import wait_until
from record.output import write_csv
from tests.classroom.mistakes import SOLUTIONS
from tests.commands import PATIENCE_S, alive, open_folder
from tests.hostile.arena import SECRET, SEED, Arena

seccomp = pytest.importorskip("seccomp", reason="python3-seccomp is not installed: there is no grading without")

pytestmark = pytest.mark.slow  # a hundred attempts, each an isolated process: a minute of a processor together
MODES = ["root", "user"] if os.geteuid() == 0 else ["user"]
HONEST = {part: (SOLUTIONS / f"{part}.py").read_text() for part in ("demand", "first_fit", "annealing")}


@pytest.fixture(scope="module")
def arenas():
    """A grader by mode, started when it is first asked for."""
    with open_folder("hostile") as place:
        made = {}
        yield place, made
        for one in made.values():
            one.end()


def started(arenas, mode):
    place, made = arenas
    if mode not in made or made[mode].process.poll() is not None:
        made[mode] = Arena(mode, Path(tempfile.mkdtemp(dir=place)))
    if made[mode].unfit:
        pytest.skip(made[mode].unfit)
    return made[mode]


@pytest.fixture(params=MODES)
def arena(request, arenas):
    return started(arenas, request.param)


@pytest.fixture
def grader(arenas):
    """For what the grader makes of answers, which is the same whoever it is: as root where that can be."""
    return started(arenas, MODES[0])


def number(name):
    """Of a system call, on this machine."""
    return seccomp.resolve_syscall(seccomp.Arch(), name)


def demand(attack, after=HONEST["demand"]):
    """A demand.py that attacks as soon as it is read, and is right about demands, should it come to that."""
    return f"{attack}\n{after}"


# --- what is not its own ------------------------------------------------------------------------------------

NEWUSER = 0x10000000
fill = """
for n in range(10_000):
    open(f"{folder}/{n}", "wb").write(bytes(1 << 20))
"""
read, peek = number("process_vm_readv"), number("ptrace")
in_child = "if pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)"
unshare, clone = number("unshare"), number("clone")
struct = "buffer = (ctypes.c_uint64 * 32)()\n"

add, look, there = number("add_key"), number("keyctl"), "b'user', b'hedera:answers'"

ATTEMPTS = {
    "It leaves its answers in its user's keyring, where the next submission finds them.": {
        **{f"keyring {ring}": f"syscall({add}, {there}, b'42', 2, {ring})" for ring in (-1, -2, -3, -4, -5)},
        "found": f"syscall({look}, 10, -4, {there}, 0)",
        "asked for": f"syscall({number('request_key')}, {there}, 0, -4)",
        "joined": f"syscall({look}, 1, b'hedera')",
    },
    "It talks to a submission beside it by locks, leases and watches of a file that both can read.": {
        name: f"import fcntl\nfile = os.open('/usr/bin/env', os.O_RDONLY)\n{how}"
        for name, how in {
            "flock": "fcntl.flock(file, fcntl.LOCK_SH)",
            "lockf": "fcntl.lockf(file, fcntl.LOCK_SH)",
            "asked for": "fcntl.fcntl(file, fcntl.F_GETLK, bytes(32))",
            "of the open file": "fcntl.fcntl(file, 37, bytes(32))",
            "lease": "fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)",
            "watch": "fcntl.fcntl(os.open('/usr/bin', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)",
            "with bits nobody reads": f"syscall({number('fcntl')}, file, 1026 | 1 << 32, 1)",
            "sync": f"syscall({number('sync')})",
            "syncfs": f"syscall({number('syncfs')}, file)",
        }.items()
    },
    "It rewrites the code that answers for it, so that whoever comes next has no limits.": {
        "a module": "open('/code/classroom/answering.py', 'a')",
        "its compiled form": "open(__import__('glob').glob('/code/classroom/__pycache__/answering*')[0], 'ab')",
        "a new module": "open('/code/numpy.py', 'w')",
        "its rights": "os.chmod('/code/classroom/answering.py', 0o777)",
        "removed": "os.unlink('/code/classroom/answering.py')",
        "renamed": "os.rename('/code/classroom', '/code/other')",
        "Python itself": "open(os.path.join(sys.prefix, 'bin', 'mine'), 'w')",
        "the environment": "open(os.__file__, 'a')",
    },
    "It looks for any place on any file system that it can write to.": {
        "somewhere": """
for line in open("/proc/self/mounts"):
    for folder, _, _ in os.walk(line.split()[1]):
        if folder.startswith(("/tmp", "/dev/shm", "/proc", "/dev/pts")):
            break
        if folder.count("/") < 4 and os.access(folder, os.W_OK):
            sys.exit(open(os.path.join(folder, "mine"), "w"))
raise OSError
""",
        "the kernel's settings": "open('/proc/sys/kernel/core_pattern', 'w')",
        "sysrq": "open('/proc/sysrq-trigger', 'w')",
        "a device": "os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))",
        "the real root": "os.listdir('/proc/1/root/boot') or os.listdir('/proc/1/cwd/boot')",
    },
    "It writes files without end to /tmp and to /dev/shm, which are the machine's memory.": {
        f: f"folder = {f!r}{fill}" for f in ("/tmp", "/dev/shm")
    },
    "It attaches to the processes above it, and reads and writes their memory.": {
        "attach to the first": f"syscall({peek}, 16, 1, 0, 0)",
        "attach to its parent": f"syscall({peek}, 16, os.getppid(), 0, 0)",
        "seize": f"syscall({peek}, 0x4206, os.getppid(), 0, 0)",
        "be traced": f"syscall({peek}, 0, 0, 0, 0)",
        "read memory": f"buffer = (ctypes.c_long * 2)(); syscall({read}, os.getpid(), buffer, 0, buffer, 0, 0)",
        "bubblewrap": """
for pid in filter(str.isdigit, os.listdir("/proc")):
    if "bwrap" in os.readlink(f"/proc/{pid}/exe"):
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
        break
else:
    raise OSError
""",
        "its environment": f"assert {SECRET!r} not in open('/proc/1/environ').read(); raise OSError",
        "its own": f"assert {SECRET!r} not in str(os.environ); raise OSError",
    },
    "It becomes root, another user or a member of a group, or is given capabilities.": {
        "root": "os.setuid(0)",
        "another": "os.setresuid(1000, 1000, 1000)",
        "a group": "os.setgid(0)",
        "groups": "os.setgroups([0])",
        "capabilities": f"""
head, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
syscall({number("capset")}, head, data)
""",
        "another root": "os.chroot('/tmp')",
    },
    "It runs setuid programs, the machine's and one of its own making, to be root for a moment.": {
        name: f"""
import shutil, subprocess
tool = shutil.which({name!r})
if tool is None:
    raise OSError
if {name!r} == "id":
    tool = shutil.copy(tool, "/tmp/mine")
    os.chmod(tool, 0o6755)
said = subprocess.run([tool, *{words!r}], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=5)
if said.returncode or "euid" not in said.stdout and {name!r} == "id":
    raise OSError
"""
        for name, words in {
            "id": [],
            "su": ["-c", "true"],
            "sudo": ["-n", "true"],
            "mount": ["-t", "tmpfs", "none", "/tmp"],
            "chage": ["-l", "root"],
            "newgrp": [],
        }.items()
    },
    "It makes a user namespace, in which it has every capability; each way there is, and dressed up.": {
        "unshare": f"syscall({unshare}, {NEWUSER})",
        "with mounts": f"syscall({unshare}, {NEWUSER | 0x20000})",
        "time": f"syscall({unshare}, 0x80)",
        "clone": f"pid = syscall({clone}, {NEWUSER | 17}, 0, 0, 0, 0)\n{in_child}",
        "clone with more bits": f"pid = syscall({clone}, {NEWUSER | 17 | 1 << 40}, 0, 0, 0, 0)\n{in_child}",
        "clone3": f"""
words = (ctypes.c_uint64 * 11)({NEWUSER}, 0, 0, 0, 17)
pid = syscall(435, words, 88)
{in_child}
""",
        "a program": """
import subprocess
if subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode:
    raise OSError
""",
        "entering one": f"syscall({number('setns')}, os.open('/proc/1/ns/user', os.O_RDONLY), 0)",
    },
    "It mounts 20 GiB of memory, or makes the read-only writable, by the old calls and the new.": {
        "a tmpfs": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, b'size=20g') == 0 or syscall(-1)",
        "writable": "libc.mount(b'', b'/code', b'', 0x1020, b'') == 0 or syscall(-1)",
        "in a namespace": f"""
syscall({number("unshare")}, {NEWUSER | 0x20000})
libc.mount(b'none', b'/tmp', b'tmpfs', 0, b'size=20g') == 0 or syscall(-1)
""",
        "unmounted": "libc.umount2(b'/tmp', 2) == 0 or syscall(-1)",
        "fsopen": "syscall(430, b'tmpfs', 0)",
        "open_tree": "syscall(428, -100, b'/', 1)",
        "mount_setattr": "syscall(442, -100, b'/code', 0, (ctypes.c_uint64 * 4)(0, 1), 32)",
        "pivot_root": f"syscall({number('pivot_root')}, b'/tmp', b'/tmp')",
    },
    "It puts memory where no limit of a process counts it: shared segments, queues, anonymous files.": {
        "shared memory": f"syscall({number('shmget')}, 0x4EDE, {1 << 30}, 0o1666)",
        "messages": f"syscall({number('msgget')}, 0x4EDE, 0o1666)",
        "semaphores": f"syscall({number('semget')}, 0x4EDE, 1, 0o1666)",
        "a queue": f"syscall({number('mq_open')}, b'hedera', 0o102, 0o666, 0)",
        "an anonymous file": f"syscall({number('memfd_create')}, b'hedera', 0)",
        "a secret one": "syscall(447, 0)",
    },
    "It knocks at the doors behind which most holes were found.": {
        "bpf": struct + f"syscall({number('bpf')}, 5, buffer, 120)",
        "perf": struct + f"buffer[0] = 1 | 128 << 32\nsyscall({number('perf_event_open')}, buffer, 0, -1, -1, 0)",
        "io_uring": struct + "syscall(425, 4, buffer)",
        "userfaultfd": f"syscall({number('userfaultfd')}, 1)",
        "asynchronous reads": struct + f"syscall({number('io_setup')}, 60000, buffer)",
        "watches": f"syscall({number('inotify_init1')}, 0)",
        "fanotify": f"syscall({number('fanotify_init')}, 0x200, 0)",
        "the kernel's log": struct + f"syscall({number('syslog')}, 3, buffer, 100)",
        "where memory lies": struct + f"syscall({number('get_mempolicy')}, buffer, 0, 0, 0, 0)",
        "without randomness": f"syscall({number('personality')}, 0x40000)",
        "comparing": f"syscall({number('kcmp')}, os.getpid(), os.getpid(), 0, 0, 0)",
        "handles": struct
        + f"buffer[0] = 64\nsyscall({number('name_to_handle_at')}, -100, b'/', buffer, (ctypes.c_int * 2)(), 0)",
        "a call that is not there yet": "syscall(600)",
    },
    "It types commands into the terminal that `hedera grade` was started from.": {
        "its terminal": "os.open('/dev/tty', os.O_RDWR)",
        "whatever it has open": """
import fcntl
for descriptor in range(3):
    fcntl.ioctl(descriptor, 0x5412, b"x")
""",
        "with bits nobody reads": f"""
import fcntl
_, mine = os.openpty()
os.setsid()
fcntl.ioctl(mine, 0x540E, 0)
syscall({number("ioctl")}, mine, 0x5412 | 1 << 32, b"x")
""",
        "pasting": """
import fcntl
_, mine = os.openpty()
os.setsid()
fcntl.ioctl(mine, 0x540E, 0)
fcntl.ioctl(mine, 0x541C, bytes([2, 0, 0, 0]))
""",
    },
    "It opens files, pipes and sockets until the machine has none left.": {
        "files": "kept = [open('/dev/null') for _ in range(2000)]",
        "sockets": "import socket; kept = [socket.socketpair() for _ in range(2000)]",
        "pipes": "kept = [os.pipe() for _ in range(2000)]",
    },
    "It looks for something to answer with: in every object, frame, importer and file that it can reach.": {
        "an object": """
import gc
names = ("_settle_in_rounds", "GlobalFirstFit", "run_checks")
if not any(getattr(o, "__name__", "") in names for o in gc.get_objects()):
    raise OSError
""",
        "a frame": """
frame, found = sys._getframe(), []
while frame:
    found += [*frame.f_locals, *frame.f_globals]
    frame = frame.f_back
if not {"_settle_in_rounds", "cases", "run_checks"} & set(found):
    raise OSError
""",
        "an importer": """
import importlib.util
for importer in sys.meta_path:
    for name in ("hedera.maxmin", "hedera.demand", "classroom.cases", "tests.classroom.solutions"):
        try:
            found = importer.find_spec(name, ["/code/hedera"])
        except (ImportError, AttributeError):
            continue
        if found and found.origin and os.path.exists(found.origin):
            break
    else:
        continue
    break
else:
    raise OSError
""",
        "a file": """
for folder, inside, files in os.walk("/"):
    inside[:] = [name for name in inside if os.path.join(folder, name) not in ("/proc", "/usr/share")]
    if {"demand.py", "global_first_fit.py", "cases.py", "mistakes.py"} & set(files):
        break
else:
    raise OSError
""",
    },
}


@pytest.mark.parametrize("what", ATTEMPTS)
def test_what_is_not_its_own(arena, what):
    """It tries what the first words of this case say, in every way that is known."""
    arena.attempt(ATTEMPTS[what])


def test_reading_other_submissions(arena):
    """It reads its neighbour's files: by their path, through /proc, and wherever else they could be."""
    arena.grade("alice", demand=HONEST["demand"])
    (path,) = arena.place.glob("*/alice/demand.py")
    arena.attempt(
        {
            "by its path": f"open({str(path)!r})",
            "through the first process": f"open('/proc/1/root' + {str(path)!r})",
            "the folder": f"os.listdir({str(arena.place)!r})",
            "anywhere": """
for folder, inside, files in os.walk("/"):
    inside[:] = [name for name in inside if os.path.join(folder, name) not in ("/proc", "/usr/share")]
    if "demand.py" in files or "grades.csv" in files or "solutions" in inside:
        break
else:
    raise OSError
""",
        }
    )


def test_links_pipes_and_devices_handed_in(arena, tmp_path):
    """What it hands in are links to others' work, pipes, devices and files of gigabytes."""
    folder = arena.place / "links" / "mallory"
    folder.mkdir(parents=True)
    (folder / "demand.py").symlink_to(SOLUTIONS / "demand.py")
    os.mkfifo(folder / "first_fit.py")
    (folder / "annealing.py").mkdir()
    with (folder / "scheduler.py").open("wb") as huge:
        huge.truncate(1 << 40)
    grade, checks = arena.grade(folder=folder)
    assert grade["points"] == 0.0
    assert {part: check[0]["name"] for part, check in checks.items()} == dict.fromkeys(
        ("demand", "first_fit", "annealing", "contract"), "a file of Python"
    )


BOMB = """
import os, time
try:
    while True:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
except OSError:
    pass
"""


def test_killing_whoever_there_is(arena):
    """It kills every process that it can, those of its own user first."""
    attack = """
import os, signal
for pid in (-1, 1, os.getppid(), *range(2, 40)):
    try:
        pid == os.getpid() or os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
"""
    grade, _ = arena.grade(demand=demand(attack))
    assert grade["demand"] in (0.0, 1.0), "it may well have killed what answers for it"


def test_refusing_to_end(arena):
    """It ignores every signal, and sleeps in each of its threads, children and exit handlers."""
    attack = """
import atexit, os, signal, sys, threading, time
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
def sleep():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
atexit.register(sleep)
for _ in range(8):
    threading.Thread(target=sleep).start()
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        sleep()
def estimate_demands(src, dst, num_hosts):
    sleep()
"""
    assert arena.ask(attack, call_s=2.0) == "it did not answer within 2 s"


def test_the_network(arena):
    """It calls home: over TCP, UDP, the machine's own sockets, and what knows no network namespace."""
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as named:
        tcp.bind(("127.0.0.1", 0))
        named.bind(f"\0hedera-hostile-{os.getpid()}")
        for server in (tcp, named):
            server.listen()  # the kernel lets in whoever reaches it
        port, name = tcp.getsockname()[1], named.getsockname()
        arena.attempt(
            {
                "tcp": f"socket.create_connection(('127.0.0.1', {port}), 2)",
                "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
                "ipv6": "socket.create_connection(('::1', 9), 2)",
                "an abstract name": f"socket.socket(socket.AF_UNIX).connect({name!r})",
                "the host of a virtual machine": "socket.socket(40)",
                "its own buffers, which nothing counts": "socket.socketpair()",
                "netlink": "socket.socket(socket.AF_NETLINK)",
                "packets": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
                "with bits nobody reads": f"syscall({number('socket')}, 40 | 1 << 32, 1, 0)",
                "the kernel's ciphers": "socket.socket(socket.AF_ALG)",
            },
            "import socket",
        )


# --- more than its share ----------------------------------------------------------------------------------


def test_raising_its_limits(arena):
    """It raises its limits, and puts itself before everybody else."""
    tries = {
        name: f"import resource; resource.prlimit(0, resource.RLIMIT_{name}, (-1, -1))"
        for name in ("AS", "CPU", "FSIZE", "NOFILE", "NPROC", "MEMLOCK", "CORE")
    }
    if arena.mode == "root" and has_capability(24):  # CAP_SYS_RESOURCE; else whoever has set it may lower it
        tries["last when memory is out"] = "os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'0')"
    arena.attempt(
        tries
        | {
            "niceness": "os.nice(-5)",
            "real time": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
            "another group": "open('/sys/fs/cgroup/cgroup.procs', 'w')",
        }
    )


def has_capability(which):
    with open("/proc/self/status") as lines:
        (mine,) = (line.split()[1] for line in lines if line.startswith("CapEff"))
    return int(mine, 16) >> which & 1


MANY = """
import os, time
for _ in range(40):
    if os.fork() == 0:
        taken = []
        while True:
            taken.append(bytearray(os.urandom(1 << 20) * 32))
time.sleep(60)
"""
LINKS = "import os, itertools\nfor n in itertools.count(): os.symlink('x', f'/{(\"tmp\", \"dev/shm\")[n % 2]}/{n}')"
ENDED = {
    "It takes memory until there is none.": ("x = []\nwhile True: x.append(bytearray(1 << 26))", 60.0, "emory"),
    "It takes memory in many processes, each below its limit.": (MANY, 20.0, "took more than 3 GiB of memory"),
    "It makes links without end, each of which the kernel remembers.": (LINKS, 60.0, "made more than 50000 files"),
    "It forks until it cannot, in sessions of their own, and goes on.": (f"{BOMB}\nwhile True: pass", 6.0, ""),
    "Its file does not end when it is read, and the next time.": ("import time\ntime.sleep(600)", 5.0, "5 s in all"),
    "Nor do two processes.": ("import os\nos.fork()\nwhile True: pass", 5.0, "5 s in all"),
    "Its file is one that Python's parser dies of.": ("(" * 100_000, 60.0, ""),
    "It crashes.": ("import ctypes\nctypes.string_at(0)", 60.0, ""),
    "Its stack is deep.": ("import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()", 60.0, ""),
    "Its names are long.": ("import hedera." + "a" * 200_000, 60.0, ""),
}


@pytest.mark.parametrize("what", ENDED)
def test_more_than_there_is(arena, what):
    """It does what the first words of this case say, and whoever comes next has what it should."""
    source, budget_s, said = ENDED[what]
    arena.know_slack()
    grade, _ = arena.grade(demand=source, budget_s=budget_s)
    assert grade["points"] == 0.0
    assert said in grade["remarks"]
    assert grade["remarks"].isprintable()
    assert budget_s == 60.0 or arena.took_s < budget_s + arena.slack_s  # the first one waits for the grader's own cases
    assert arena.ask(HONEST["demand"]) is None


OVERDONE = {
    "It leaves 1,200 nested folders behind, which no recursive clean-up survives.": """
import os
for base in ("/code", "/dev/shm", "/tmp"):
    try:
        os.chdir(base)
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
    except OSError:
        pass
""",
    "It starts threads without end.": """
import threading, time
try:
    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
except RuntimeError:
    alive = threading.active_count()
assert alive <= 64, f"BROKE OUT: {alive} threads"
""",
    "It prints without end, to whatever is open.": """
import os, threading
def shout():
    while True:
        os.write(1, b"x" * 65536)
        os.write(2, b"x" * 65536)
threading.Thread(target=shout, daemon=True).start()
""",
}


@pytest.mark.parametrize("what", OVERDONE)
def test_what_is_overdone_beside_right_answers(arena, what):
    """It does what the first words of this case say, and what it answers is judged all the same."""
    grade, _ = arena.grade(demand=demand(OVERDONE[what]))
    assert grade["demand"] == 1.0, grade["remarks"]


def test_slow_answers(arena):
    """It answers rightly, each time just before nobody waits any longer."""
    slow = HONEST["demand"].replace(
        "    demand = np.zeros(len(src))\n", "    demand = np.zeros(len(src)); import time; time.sleep(1)\n"
    )
    assert slow != HONEST["demand"]
    arena.know_slack()
    grade, checks = arena.grade(demand=slow, budget_s=5.0)
    assert grade["demand"] < 1
    assert arena.took_s < 5 + arena.slack_s
    assert any(check["words"] == "its 5 s in all are used up" for check in checks["demand"])


# --- answers that are none --------------------------------------------------------------------------------

OPEN_FILE = """
import os, stat
def regular(number):
    try:
        return stat.S_ISREG(os.fstat(number).st_mode)
    except OSError:
        return False
answers = max(filter(regular, range(3, 20)))
"""


@pytest.mark.parametrize(
    "rubbish",
    [
        "b'hello\\n'",
        "b'\\xff\\xfe\\n'",
        "b'[' * 500_000 + b'\\n'",
        "b'9' * 900_000 + b'\\n'",
        "b'x' * (4 << 20)",
        'b\'{"values": {"demand": [[1], [1, 2]]}}\\n\'',
        "b'{\"changed_inputs\": 5}\\n'",
        "b'\"\"\\n'",
    ],
)
def test_rubbish_on_the_line(grader, rubbish):
    """It writes to the line to the grader itself."""
    attack = f"{OPEN_FILE}\ndef estimate_demands(src, dst, num_hosts):\n    os.write(answers, {rubbish})\n"
    drip = "    import time\n    while True:\n        os.write(answers, b'x')\n        time.sleep(0.001)\n"
    words = grader.ask(attack + drip, call_s=3.0)
    assert words == "its process answers with something that is not an answer"


def forged(**fields):
    """A search whose answers are replaced before they are sent."""
    told = "; ".join(f"fields[{name!r}] = {value}" for name, value in fields.items())
    return f"""
import json
was = json.dumps
def dumps(fields):
    if "energy" in fields.get("numbers", ()):
        {told}
    return was(fields)
json.dumps = dumps
"""


FORGED = {
    "an energy without end": forged(numbers="{'energy': float('inf'), 'initial_energy': 0}"),
    "an energy of NaN": forged(numbers="{'energy': float('nan'), 'initial_energy': 0}"),
    "no state": forged(values="{'core': fields['values']['core']}"),
    "nothing placed": forged(values="{}"),
    "cores beyond any": forged(values="{**fields['values'], 'core_of': [2**62] * 16}"),
    "cores of NaN": forged(values="{**fields['values'], 'core': [float('nan')] * 32}"),
    "a matrix": forged(values="{**fields['values'], 'core_of': [[0, 0]] * 8}"),
    "text": forged(values="{**fields['values'], 'core': ['x'] * 32}"),
    "inputs it was not given": forged(changed_inputs="['\x1b[2J' * 1000]"),
    "something else than arrays": forged(values="'none'"),
    "an error of a megabyte": forged(error="'x' * 900_000", line="2**63"),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_answer(grader, how):
    """It forges what its process says of a period of its search, and ends the class's grading by it."""
    grade, _ = grader.grade(annealing=FORGED[how] + HONEST["annealing"])
    assert grade["annealing"] < 1
    assert grade["remarks"].startswith("annealing: ")
    assert "ended the check" not in grade["remarks"], "it was found out where it came in"
    assert len(grade["remarks"]) < 600


@pytest.mark.parametrize(
    "value",
    [
        "[float('nan')] * len(src)",
        "np.zeros(1 << 24)",
        "np.ma.masked_all(len(src))",
        "type('\\x1b[31m' * 9999, (), {})()",
        "np.array(['\\x07'] * len(src))",
        "range(1 << 60)",
    ],
)
def test_a_strange_demand(grader, value):
    """Its demands are infinite, no numbers, too many, objects, or have names that a terminal obeys."""
    attack = f"import numpy as np\ndef estimate_demands(src, dst, num_hosts):\n    return {value}"
    grade, _ = grader.grade(demand=attack)
    assert grade["demand"] <= 0.4
    assert grade["remarks"].isprintable()


# --- words ------------------------------------------------------------------------------------------------

OBEYED = "\x1b]0;owned\x07\x1b[2J\r\n\u202e\x9b31m"


@pytest.mark.parametrize(
    "how",
    [
        f"raise ValueError({OBEYED!r} * 10_000)",
        f"return type({OBEYED!r} * 100, (), {{}})()",
        f"raise type({OBEYED!r}, (Exception,), {{}})",
        f"exec(compile('raise ValueError', {'/submission/' + OBEYED!r}, 'exec'))",
        "raise ValueError('=HYPERLINK(\"http://192.0.2.1\")')",
        "raise ValueError('\\ud800' * 1000)",
    ],
)
def test_words_that_a_terminal_obeys(grader, how):
    """What it says turns the grader's terminal, its spreadsheet or its pager against the grader."""
    attack = f"def estimate_demands(src, dst, num_hosts):\n    {how}"
    grade, checks = grader.grade(demand=attack)
    assert grade["remarks"].startswith("demand: ")
    for text in [grade["remarks"], *(check["words"] for check in checks["demand"])]:
        assert text.isprintable()
        assert len(text) <= 1000
    assert all(line.isprintable() for check in checks["demand"] for line in check["example"].split("\n"))


@pytest.mark.parametrize("name", [OBEYED, '=HYPERLINK("x")', "a,b\n9,9", "\udcff\udcfe"])
def test_a_name_that_a_terminal_obeys(grader, name, tmp_path):
    """Its folder's name does so."""
    grade, _ = grader.grade(os.fsdecode(os.fsencode(name)), demand=HONEST["demand"])
    assert grade["submission"].isprintable()
    assert grade["submission"][0] not in "=+-@"
    path = write_csv(tmp_path / "grades.csv", [grade])
    (row,) = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    assert row["points"] == "20"


# --- work that is not its own -----------------------------------------------------------------------------

STOLEN = """
import importlib, sys
sys.modules.pop("hedera", None)
{name} = importlib.import_module("{module}").{what}
"""


def test_the_project_s_own_schedulers(grader):
    """It wraps the project's own schedulers, by way of sys.modules and importlib, where no import is to be seen."""
    grade, _ = grader.grade(
        demand=STOLEN.format(module="hedera.demand", name="estimate_demands", what="estimate_demands"),
        first_fit=STOLEN.format(module="hedera.global_first_fit", name="FirstFit", what="GlobalFirstFit"),
        annealing=STOLEN.format(module="hedera.simulated_annealing", name="Annealing", what="SimulatedAnnealing"),
        scheduler=STOLEN.format(module="hedera.clos", name="Scheduler", what="ClosColouring"),
    )
    assert grade["points"] == 0.0
    assert grade["remarks"].count("No module named") == 4


def test_the_seed_of_the_grading(grader):
    """It looks for the seed of the grading, which says what traffic is to come, in all that it is given."""
    look = f"""
import gc, glob, sys
def seen():
    told = [repr(sys.argv), *(repr(open(p, "rb").read()) for p in glob.glob("/proc/[0-9]*/cmdline"))]
    frame = sys._getframe()
    while frame:
        told += [repr(v)[:10_000] for v in frame.f_locals.values() if "told" not in frame.f_locals]
        frame = frame.f_back
    if any(str({SEED // 7} * 7) in text for text in told):
        raise RuntimeError("BROKE OUT: it is there")
"""
    scheduler = """
class Scheduler:
    def __init__(self, tree, rng, options):
        seen()
    def place(self, flows, links):
        seen()
        return flows.hashed
"""
    annealing = HONEST["annealing"].replace(
        "        self.flows, self.capacity", "        seen()\n        self.flows, self.capacity"
    )
    grade, checks = grader.grade(scheduler=look + scheduler, annealing=look + annealing)
    assert "BROKE OUT" not in str(checks)
    assert grade["quality"] == 0.0
    assert grade["annealing"] == 1.0, grade["remarks"]


def test_living_on_when_the_grader_is_killed(arena):
    """It does all it can not to die with the grader, which is killed outright while it runs."""
    attack = f"""
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
for number in signal.valid_signals() - {{signal.SIGKILL, signal.SIGSTOP}}:
    signal.signal(number, signal.SIG_IGN)
libc.prctl(1, 0)
libc.syscall({number("prctl")}, 1 | 1 << 32, 0)
{BOMB}
open("/tmp/there", "w").close()
while True:
    time.sleep(60)
"""
    with open_folder("hostile") as place:
        other = Arena(arena.mode, place)
        assert not other.unfit
        other.begin(op="ask", source=attack, call_s=60.0)
        assert wait_until(lambda: len(children_of(other.process.pid)) > 30, PATIENCE_S)
        mine = children_of(other.process.pid)
        other.process.kill()
        other.process.wait()
        other.process.stdin.close()
        other.process.stdout.close()
        assert wait_until(lambda: not any(alive(pid) for pid in mine), PATIENCE_S)
    assert arena.ask(HONEST["demand"]) is None


def children_of(pid):
    """All that a process has started, and what that has."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            mine = [int(child) for child in file.read().split()]
    except OSError:
        return []
    return [*mine, *(other for child in mine for other in children_of(child))]
