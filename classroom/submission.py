"""A submission: somebody's code in a process of its own, which is asked everything at once and answers line by line.
Nothing in its answers is trusted."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from record.errors import UnfitMachine, to_one_line
from record.files import temporary_folder
from traffic.user_files import read_text

PROJECT = Path(__file__).resolve().parents[1]
SCHEDULER = "scheduler.py"
NAMES = {
    "demand.py": "estimate_demands",
    "first_fit.py": "FirstFit",
    "annealing.py": "Annealing",
    SCHEDULER: "Scheduler",
}
"""The files to hand in, and the name in each: milestones on the way to Hedera, and a scheduler of the student's own."""
_ANSWER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "import runpy; runpy.run_module('classroom.answering', run_name='__main__', alter_sys=True)"
)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
MAX_FILE, MAX_ANSWER, MAX_ANSWERS = 256 << 10, 1 << 20, 8 << 20
"""Bytes of a code file, of an answer, and of all answers of a process."""
READY, DONE = b"{}\n", b'{"done": true}\n'
"""The first line, before anything is asked, and the last one."""
START_S = 60.0
"""Seconds until Python has started and gives its first answer; and then until a file is loaded."""
MEMORY = 3 << 30
"""Bytes that all processes of somebody else's code may take together."""
MOST_PROCESSES = 256
"""Where no limit of the kernel holds fewer, the count at which they are ended."""
MOST_INODES = 50_000
"""Files, folders and links in /tmp and /dev/shm: the kernel keeps a kilobyte for each, which no limit counts."""
WATCH_S = 0.1
ASLEEP_S = 10.0
"""Seconds of a file's time in which no thread of it computes or waits for a disk."""
RUBBISH = "its process answers with something that is not an answer"
_SIGNALS = {9: "killed: out of processor time, or of memory", 11: "segmentation fault", 24: "out of processor time"}


class Misbehaved(Exception):
    """The code gave no usable answer; the message says why. ``kind``: absent (the file has nothing of that name),
    raised, slow, ended, rubbish."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class Unfit(UnfitMachine):
    """This machine cannot run or isolate a process; the message says what is missing."""


@dataclass(frozen=True)
class Code:
    """A file's text, and the name in it that is meant. ``file`` is the file's name."""

    file: str
    source: str
    attribute: str


def read_code(path: Path, attribute: str) -> Code:
    """The code in a file. ValueError, one sentence, if there is none."""
    return Code(path.name, read_text(path, MAX_FILE), attribute)


Question = dict[str, Any]
"""Of an estimate, ``hosts``, ``src`` and ``dst``. Of a scheduler, a ``history`` (`classroom.answering`), and the seed
and iterations that it is made anew with (``search``)."""


@dataclass(frozen=True)
class Start:
    """How to start the answering process. ``others``: it runs somebody else's code, so its output is not shown, and
    its memory is watched. ``closed``: all that it starts is in a namespace, and ends with the first process in it."""

    command: tuple[str, ...]
    environment: dict[str, str]
    others: bool = True
    closed: bool = False


def make_answering_command(python: Path | str, code: Path | str, limits: dict[str, int]) -> tuple[str, ...]:
    """The command of the answering process. ``limits``: those of `resource`, which it sets before it reads anything."""
    return (str(python), "-s", "-c", _ANSWER, str(code), json.dumps(limits))


def start_own_process(hash_seed: int = 0) -> Start:
    """The user's own code, run as the user. Another ``hash_seed`` gives sets of strings another order."""
    environment = {**os.environ, **ONE_THREAD, "PYTHONHASHSEED": str(hash_seed), "PYTHONDONTWRITEBYTECODE": "1"}
    return Start(make_answering_command(sys.executable, PROJECT, {}), environment, others=False)


@dataclass(frozen=True, eq=False)
class Answer:
    """``values`` and ``numbers`` by name; the inputs that were written to; ``odd``: what the code answered with instead
    of numbers."""

    values: dict[str, NDArray[Any]] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    changed_inputs: tuple[str, ...] = ()
    odd: str = ""


@contextlib.contextmanager
def _start_process(start: Start, request: bytes) -> Iterator[tuple[subprocess.Popen[bytes], BinaryIO]]:
    """A process that reads a request, and its answers so far. It and all that it has started are killed when the block
    ends; an isolated one has no process left then."""
    with temporary_folder("answers", may_stay=True) as folder:
        request_file, answer_file = folder / "asked", folder / "answered"
        request_file.write_bytes(request)
        # Files and no pipes: a pipe could fill before it is read, and not every system reads one with a deadline.
        with request_file.open("rb") as stdin, answer_file.open("ab") as stdout:
            process = subprocess.Popen(
                start.command, env=start.environment, cwd="/", start_new_session=True,
                stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL if start.others else None,
            )  # fmt: skip
        try:
            with answer_file.open("rb") as answers:
                yield process, answers
        finally:
            if process.poll() is None and start.closed:
                # The kernel ends a namespace with the first process in it, which is gone when all others are.
                with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                    for first in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                        os.kill(int(first), signal.SIGKILL)
                        process.wait(10.0)
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except (AttributeError, ProcessLookupError, PermissionError):  # Windows has no groups
                    process.kill()
            process.wait()


def _read_threads(pid: int, file: str) -> Iterator[str]:
    """What the kernel says in ``file`` of each thread of a process; each may end while it is looked at."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                yield Path(f"/proc/{pid}/task/{thread}/{file}").read_text()


def _list_family(pid: int) -> Iterator[int]:
    yield pid
    for children in _read_threads(pid, "children"):
        for child in children.split():
            yield from _list_family(int(child))


def _is_asleep(pid: int) -> bool:
    """Whether none of its threads computes, can, or waits for a disk."""
    return all(stat.rpartition(")")[2].split()[0] not in "RD" for stat in _read_threads(pid, "stat"))


def _measure_memory(pid: int) -> int:
    """Bytes that are a process's own, in memory or swapped out, and of its page tables."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        return sum(map(int, re.findall(r"^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+)", status, re.M))) << 10
    return 0


def _count_inodes(family: Sequence[int]) -> int:
    """Files in the folders that isolated processes can write to, seen through whichever of them shows these."""
    most = 0
    for place in (Path(f"/proc/{pid}/root/{folder}") for pid in family for folder in ("tmp", "dev/shm")):
        with contextlib.suppress(OSError):
            if place.stat().st_dev != Path("/", *place.parts[4:]).stat().st_dev:  # else it is not isolated, or not yet
                about = os.statvfs(place)
                most = max(most, about.f_files - about.f_ffree)
    return most


class Budget:
    """Real seconds to wait for a submission: from start-up to end, all its processes together."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self.left_s, self.over, self.asleep_s = seconds, f"its {seconds:g} s in all are used up", 0.0


class Replies:
    """The answers to the questions of a check, in their order."""

    def __init__(self, answers: Sequence[Sequence[Answer | Misbehaved]]) -> None:
        self._ahead = list(map(list, answers))
        self._now: list[Answer | Misbehaved] = []

    def begin(self) -> None:
        """Go on to the next question."""
        self._now = self._ahead.pop(0)

    def next(self) -> Answer:
        """The next answer to it. Raises Misbehaved."""
        answer = self._now.pop(0) if self._now else Misbehaved("rubbish", "it gives fewer answers than it should")
        if isinstance(answer, Misbehaved):
            raise answer
        return answer


@dataclass(eq=False)
class Submission:
    """A submission's code. ``start``: how, by the seed of Python's hashes. ``call_s``: seconds for an answer.
    ``budget``: for all answers together.

    If it does not even start, which is never the submission's doing, the methods raise Unfit.
    """

    start: Callable[[int], Start]
    code: Code
    call_s: float = 20.0
    budget: Budget = field(default_factory=Budget)
    hash_seed: int = 0
    _unloaded: Misbehaved | None = field(default=None, init=False)

    def another(self) -> Submission:
        """The same code with another seed of Python's hashes."""
        return Submission(self.start, self.code, self.call_s, self.budget, self.hash_seed + 1)

    def load(self) -> None:
        """Load the code, and ask nothing. Raises Misbehaved."""
        self._ask([])
        if self._unloaded is not None:
            raise self._unloaded

    def ask(self, checks: Sequence[Sequence[Question]]) -> list[Replies]:
        """The replies to each check's questions. A process that ends takes with it what was left of a check; the next
        one gets another process. Code that cannot be loaded is not tried again, and fails every question."""
        replies: list[Replies] = []
        while len(replies) < len(checks):
            replies += self._ask(checks[len(replies) :])
        return replies

    def _ask(self, checks: Sequence[Sequence[Question]]) -> list[Replies]:
        """The replies of one process: to all checks, or up to the one that it did not survive."""
        questions = [(n, question) for n, check in enumerate(checks) for question in check]
        answers: list[list[Answer | Misbehaved]] = [[] for _ in questions]
        at, last, clock = -1, len(checks) - 1, time.monotonic()
        try:
            if self._unloaded is None:
                file = to_one_line(self.code.file)
                code = {**asdict(self.code), "file": f"/submission/{file}"}
                request = json.dumps({"code": code, "questions": [question for _, question in questions]}).encode()
                with contextlib.closing(self._read_lines(request)) as lines:
                    for reply in map(json.loads, iter(partial(next, lines), DONE)):
                        if "begins" in reply:
                            at = min(max(at, int(reply["begins"])), len(questions) - 1)
                            continue
                        answer = self._parse_reply(reply)
                        if at >= 0:
                            answers[at].append(answer)
                        elif isinstance(answer, Misbehaved):
                            raise answer
                        elif answer.odd:
                            raise Misbehaved("absent", f"there is no {self.code.attribute} in {file}")
        except Unfit:
            raise
        except Exception as wrong:  # noqa: BLE001, whatever it is that is wrong with an answer
            error = wrong if isinstance(wrong, Misbehaved) else Misbehaved("rubbish", RUBBISH)
            if at < 0:
                self._unloaded = error
            else:
                last = questions[at][0]
                for rest in answers[at:]:
                    rest.append(error)
        finally:  # its end counts, too: the kernel takes long to remove a million files
            self.budget.left_s -= time.monotonic() - clock
        if self._unloaded is not None:
            answers = [[self._unloaded] for _ in questions]
        return [Replies([a for (m, _), a in zip(questions, answers, strict=True) if m == n]) for n in range(last + 1)]

    def _read_lines(self, request: bytes) -> Generator[bytes]:
        """Every line of a process but the first, which says that it is ready; until then no code of a submission runs.
        Raises Misbehaved, and Unfit if it does not become ready."""
        if self.budget.left_s <= 0:
            raise Misbehaved("slow", self.budget.over)
        ends_s, start = time.monotonic() + self.budget.left_s, self.start(self.hash_seed)
        with _start_process(start, request) as (process, answers):

            def line(seconds: float, watched: bool = start.others) -> bytes:
                """The next one, within so many seconds and before the budget ends."""
                due_s, read = time.monotonic() + seconds, b""
                while True:
                    ended = process.poll() is not None  # known before reading, so that nothing is missed
                    read += answers.readline(MAX_ANSWER + 1 - len(read))
                    whole = read.endswith(b"\n")
                    if len(read) > MAX_ANSWER or answers.tell() > MAX_ANSWERS or (ended and read and not whole):
                        raise Misbehaved("rubbish", RUBBISH)
                    if whole:
                        return read
                    if ended:  # behind a shell or bubblewrap a signal is its number plus 128
                        status = process.returncode
                        number = -status if status < 0 else status - 128
                        cause = _SIGNALS.get(number, f"signal {number}" if 0 < number < 65 else f"status {status}")
                        raise Misbehaved("ended", f"its process ended ({cause})")
                    if watched:
                        self._watch(list(_list_family(process.pid)), start.closed)
                    if time.monotonic() > min(due_s, ends_s):
                        late = f"it did not answer within {seconds:g} s"
                        raise Misbehaved("slow", self.budget.over if ends_s < due_s else late)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(WATCH_S)

            try:
                line(START_S, watched=False)
            except Misbehaved as error:
                if time.monotonic() > ends_s:
                    raise
                raise Unfit(f"Python did not start to run a submission: {error}") from None
            yield line(START_S)
            while True:
                yield line(self.call_s)

    def _watch(self, family: Sequence[int], closed: bool) -> None:
        """Raise Misbehaved when processes take too much together: the kernel's limits are for each of them."""
        over = ""
        if sum(map(_measure_memory, family)) > MEMORY:
            over = f"its processes took more than {MEMORY >> 30} GiB of memory"
        elif len(family) > MOST_PROCESSES:
            over = f"it started more than {MOST_PROCESSES} processes"
        elif closed and _count_inodes(family) > MOST_INODES:
            over = f"it made more than {MOST_INODES} files"
        elif all(map(_is_asleep, family)):
            self.budget.asleep_s += WATCH_S
            if self.budget.asleep_s > ASLEEP_S:
                over = self.budget.over = f"it slept for more than {ASLEEP_S:g} s in all"
                self.budget.left_s = 0.0
        if over:
            raise Misbehaved("ended", over)

    def _parse_reply(self, reply: dict[str, Any]) -> Answer | Misbehaved:
        """What a line says. Raises whatever it is that is wrong with it."""
        if error := to_one_line(reply.get("error", "")):
            where = f" (line {line} of {to_one_line(self.code.file)})" if (line := int(reply.get("line", 0))) else ""
            return Misbehaved("raised", f"it raises {error}{where}")
        values = {name: np.asarray(numbers) for name, numbers in reply.get("values", {}).items()}
        if any(array.dtype.kind not in "biuf" for array in values.values()):
            raise ValueError
        numbers = {name: float(number) for name, number in reply.get("numbers", {}).items()}
        changed_inputs = tuple(to_one_line(name, most=20) for name in reply.get("changed_inputs", ())[:9])
        return Answer(values, numbers, changed_inputs, to_one_line(reply.get("odd", ""), most=100))
