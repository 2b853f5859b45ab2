"""The other side of `classroom.relay`: requests from a guest, answered by an isolated submission."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from classroom import protocol
from classroom.contract import Broken, valid
from classroom.process import Misbehaved
from classroom.protocol import Place, unpack
from classroom.quality import DRAWS
from classroom.relay import FOLDER, GOOD
from classroom.sandbox import Unfit
from classroom.submission import Submission
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.fattree import FatTree

CALL_S = 15.0
"""Seconds for an answer: the kernel waits three times as long for a lease (/proc/sys/fs/lease-break-time)."""
MOST = 1 << 20
"""Bytes of a question."""
LOOK_EVERY_S = 0.005
K = 4
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class Answerer:
    """Answers for a submission while the guest of one run lives: `beside` is entered with the run's folder.

    ``wrong``: the submission's mistake, if it gave an unusable answer, which ended the run. ``unfit``: why this
    machine did not start it. ``rounds``: the number of questions answered.
    """

    def __init__(self, start: Callable[[], Submission]) -> None:
        self._start = start
        self.wrong = ""
        self.unfit = ""
        self.rounds = 0

    @contextlib.contextmanager
    def beside(self, results: Path) -> Iterator[None]:
        """Answer the requests below this folder of the guest, in a thread, until the block ends."""
        folder = results / FOLDER.name
        folder.mkdir()
        # In the guest the controller runs as the user nobody; on the host only we can enter the parent folder.
        for path, mode in ((results.parent, 0o711), (results, 0o711), (folder, 0o777)):
            path.chmod(mode)
        done = threading.Event()
        answer = _held(folder / "a0")
        thread = threading.Thread(target=self._answer, args=(folder, answer, done), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _answer(self, folder: Path, answer: int, done: threading.Event) -> None:
        """Answer question by question. However this ends, the last lease is released, so that nobody waits for it."""
        try:
            with self._start() as submission:
                tree = FatTree(K)
                submission.fresh(K, DRAWS)
                while not done.wait(LOOK_EVERY_S):
                    question = folder / f"q{self.rounds}"
                    if not os.path.lexists(question):
                        continue
                    flows, links = _read(question, tree)
                    cores = valid(flows, links, submission.place(flows, links, CALL_S))
                    _write(answer, GOOD + cores.tobytes())
                    self.rounds += 1
                    following = _held(folder / f"a{self.rounds}")
                    os.close(answer)  # the lease goes with it
                    answer = following
        except (Misbehaved, Broken) as error:
            self.wrong = str(error)
        except Unfit as error:
            self.unfit = str(error)
        except (OSError, ValueError, TypeError, protocol.DecodeError) as error:
            self.unfit = f"a question from the guest cannot be read: {error}"
        finally:
            with contextlib.suppress(OSError):
                _write(answer, b"-")
            os.close(answer)


def _held(path: Path) -> int:
    """A new file; if the file system has leases, opening it elsewhere waits until it is closed here."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    os.fchmod(descriptor, 0o644)
    with contextlib.suppress(OSError):
        # By default the kernel announces a waiting opener with SIGIO, which would end us; this signal is ignored.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    return descriptor


def _write(descriptor: int, answer: bytes) -> None:
    if os.write(descriptor, answer) != len(answer):
        raise OSError("an answer was not written completely")


def _read(path: Path, tree: FatTree) -> tuple[LargeFlows, LinkState]:
    """A guest's request: a regular file of limited size, with flows and links of this tree. ValueError."""
    descriptor = os.open(path, _PLAIN)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        asked = protocol.decode_request(file.read(MOST))
    if not isinstance(asked, Place):
        raise ValueError("it is not a scheduler's request")
    links = LinkState(tree)
    links.fail(asked.down)
    return LargeFlows(**{name: unpack(column) for name, column in asked.columns.items()}), links
