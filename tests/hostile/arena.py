"""A grader in a process of its own, as root or as an ordinary user, that attacks are tried on.

It is asked in lines of JSON; what it answers, or that it is gone, says how an attack went.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.commands import PATIENCE_S, PROJECT
from tests.made import machine_code

USER = 21987
"""The ordinary user, where root tries."""
SEED = 917263545
CALL_S, PROCESSOR_S = 10.0, 12.0
"""For an answer, on the clock, and of processor time: short, so that what hangs does so for seconds."""
ESTIMATE = {"src": [0, 1], "dst": [1, 0], "hosts": 2}
SECRET = "canary-in-the-grader's-environment"


class Arena:
    """The grader's process; ``mode``: root or user."""

    def __init__(self, mode: str, place: Path) -> None:
        self.mode, self.place, self.slack_s = mode, place, None
        drop = ()
        if mode == "user" and os.geteuid() == 0:
            drop = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--")
            os.chown(place, USER, USER)
        machine_code(place / "compiled", USER if drop else None)
        place.chmod(0o755)
        environment = dict.fromkeys(("HOME", "TMPDIR", "NUMBA_CACHE_DIR"), str(place))
        environment |= {"PATH": os.environ["PATH"], "SECRET": SECRET, "PYTHONWARNINGS": "ignore"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [*drop, sys.executable, "-B", "-m", "tests.hostile.arena"]
        self.process = subprocess.Popen(command, cwd=PROJECT, env=environment, **pipes)
        self.unfit = self._read()["unfit"]

    def _read(self):
        line = self.process.stdout.readline()
        assert line, f"the grader is gone: {self.process.wait()}"
        return json.loads(line)

    def begin(self, **request):
        """Ask, and do not wait for the answer."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def _asked(self, **request):
        self.begin(**request)
        return self._read()

    def ask(self, source, call_s=CALL_S):
        """What becomes of a file with ``estimate_demands`` in it that is asked once: None where it answers, or what is
        said of it. Nothing of it is left afterwards, anywhere."""
        words = self._asked(op="ask", source=source, call_s=call_s)["words"]
        self.assert_nothing_is_left()
        return words

    def attempt(self, tries, head=""):
        """Assert that none of these statements, by what they would mean, goes through in a submission."""
        loop_over = f"for name, statement in {list(tries.items())!r}:\n    attempt(name, statement)\n"
        words = self.ask(f"{IN_A_SUBMISSION}\n{head}\n{loop_over}")
        assert words is None, words

    def grade(self, name="mallory", budget_s=60.0, folder=None, **files):
        """The grade of a submission with these files (by part), or of what lies in a folder, and its checks."""
        if folder is None:
            folder = Path(tempfile.mkdtemp(dir=self.place)) / name
            folder.mkdir()
        for part, source in files.items():
            (folder / f"{part}.py").write_text(source)
        for path in (folder, folder.parent):
            path.chmod(0o755)
        clock = time.monotonic()
        answer = self._asked(op="grade", folder=str(folder), budget_s=budget_s)
        self.took_s = time.monotonic() - clock
        self.assert_nothing_is_left()
        return answer["grade"], answer["checks"]

    def know_slack(self):
        """``slack_s``: what this machine, now, may need besides a budget to start, end and tell."""
        if self.slack_s is None:
            self.grade("slack", demand="def estimate_demands(src, dst, num_hosts):\n    return 1 / 0\n")
            self.slack_s = 30 + 5 * self.took_s

    def assert_nothing_is_left(self):
        """No process or file of any submission."""
        left = submissions_alive(self.process.pid)
        assert left == [], left
        kept = {path.name for path in self.place.glob("hedera-grade-*/*")}
        assert kept <= {"code", "filter"}, kept

    def end(self):
        """End the grader, and see that it takes with it what it made."""
        self.process.stdin.close()
        try:
            assert self.process.wait(PATIENCE_S) == 0
            assert list(self.place.glob("hedera-grade-*")) == []
        finally:
            self.process.stdout.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)


def submissions_alive(grader):
    """Processes that the grader has started, or that are of a user of submissions, seen from outside."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, ppid = stat.parent.name, int(stat.read_text().rpartition(")")[2].split()[1])
            words = (stat.parent / "cmdline").read_bytes()
            elsewhere = words.replace(f"/proc/{grader}/".encode(), b"")  # a look at all processes, by set-up's grep
            if ppid == grader or f"/{grader}/".encode() in elsewhere:
                found.append((pid, words))
    return found


IN_A_SUBMISSION = '''
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
won = []

def syscall(*words):
    """A system call by its number; OSError when it is refused."""
    result = libc.syscall(*(ctypes.c_long(w) if isinstance(w, int) else w for w in words))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def attempt(name, statement):
    """Go through with it, or be refused, or killed; in a child. All else is a mistake of the attacker's."""
    child = os.fork()
    if child == 0:
        status = 78
        try:
            exec(statement, dict(globals()))
            status = 77
        except OSError:
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status > 0:
        won.append(name if status == 77 else f"{name} (no attempt: it failed by itself)")

def estimate_demands(src, dst, num_hosts):
    if won:
        raise RuntimeError("BROKE OUT: " + ", ".join(won))
    return [1.0] * len(src)
'''


def _serve() -> None:
    """Answer the other side of `Arena`."""
    from classroom import grading
    from classroom.intake import hand_ins
    from classroom.sandbox import prepared, require_closed, start_closed
    from classroom.submission import Code, Misbehaved, Submission, Unfit

    grading.CALL_S = CALL_S

    def tell(**answer: object) -> None:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    with contextlib.ExitStack() as stack:
        try:
            place = stack.enter_context(prepared())
            require_closed(place)
        except Unfit as error:
            tell(unfit=str(error))
            return
        course = grading.Class(SEED, PROCESSOR_S, place)
        tell(unfit=None)
        for line in sys.stdin:
            request = json.loads(line)
            if request["op"] == "ask":
                words, code = None, Code("theirs.py", request["source"], "estimate_demands")
                start = lambda hash_seed: start_closed(place, round(PROCESSOR_S), hash_seed)  # noqa: E731
                (replies,) = Submission(start, code, request["call_s"]).ask([[ESTIMATE]])
                try:
                    replies.begin()
                    answer = replies.next()
                    words = f"answered with {answer.odd}" if answer.odd else None
                except Misbehaved as error:
                    words = str(error)
                tell(words=words)
            else:
                grading.CLOCK = request["budget_s"] / PROCESSOR_S
                one = grading.grade(hand_ins([Path(request["folder"])], single=True)[0][0], course).as_json()
                tell(grade=one, checks=one.pop("checks"))


if __name__ == "__main__":
    _serve()
