"""Tests of real networks in virtual time: files in guests of their own, as many at once as there are processors.

    python -m tests.in_guests [-m MARKERS] [FILE ...]

Needs no root, and no quiet machine. What only real time has is marked `real`, and left out here.
"""

from __future__ import annotations

import argparse
import os
import pwd
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import matplotlib

from harness.jobs.guests import GuestImage, prepare
from hedera.compiled import find_code_folder
from record.errors import UnfitMachine, WorkerFailed
from virtual.guest import Ended, Guest, Progress

PROJECT = Path(__file__).resolve().parents[1]
WHICH = "root and not real"
NONE_LEFT = 5
"""pytest's status when there was no test to run."""
INTERRUPTED = 130
REAL_S = 3600.0
"""After so long a guest is ended; on a quiet machine the longest takes three minutes."""
TOGETHER, NETWORK = 24, 4
"""So many tests share a guest, as a boot, and finding the tests, take some 4 s of a processor; one that makes a network
counts as so many."""


def groups(which: str, within: list[str]) -> list[list[str]]:
    """The files with such tests, the longest first, in groups that share a guest."""
    asked = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-m", which, *within]
    said = subprocess.run(asked, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    counts = dict(line.rsplit(": ", 1) for line in said.splitlines() if ".py: " in line)
    weights = {
        name: int(n) * (NETWORK if "mark.alone" in (PROJECT / name).read_text() else 1) for name, n in counts.items()
    }
    made: list[list[str]] = []
    for name in sorted(weights, key=lambda name: -weights[name]):
        room = (group for group in made if sum(weights[other] for other in group) + weights[name] <= TOGETHER)
        if (group := next(room, None)) is None:
            made.append(group := [])
        group.append(name)
    return made


HOME = Path(pwd.getpwuid(0).pw_dir)
AT_HOME = f"""
mount -t tmpfs -o mode=700 home {HOME} && mkdir -p {HOME}/.cache/hedera/compiled || exit 1
cp -r "$1" {HOME}/.cache/hedera/compiled/ && cp -r "$2" {HOME}/.cache/matplotlib || exit 1
shift 2
exec "$@"
"""
"""Root in there has no rights to its home's files where we are not root here: it gets one, with what its programs
would else make again and again, machine code and a list of fonts."""


class Stopped(Exception):
    """Nobody waits for these guests any more."""


def tested(names: list[str], which: str, image: GuestImage, stop: threading.Event) -> Ended:
    """What pytest said of files."""

    def go_on(_: Progress) -> None:
        if stop.is_set():
            raise Stopped

    at_home: list[str] = []
    if os.geteuid() != 0:
        at_home = ["sh", "-c", AT_HOME, "sh", str(find_code_folder()), matplotlib.get_cachedir()]
    # Root in there may not see what root's tests left in /tmp out here.
    how = ["-p", "no:cacheprovider", "--basetemp=/run/pytest", "--durations=5", "-m", which]
    pytest = [sys.executable, "-m", "pytest", *how, *names]
    kept = {name: value for name, value in os.environ.items() if name.startswith(("HEDERA_", "POX_"))}
    with Guest(
        image.kernel.linux,
        [*at_home, str(PROJECT / "tests/reachable.sh"), *pytest],
        folder=PROJECT,
        environment={**kept, "HOME": str(HOME)},
        layers=image.layers,
        real_s=REAL_S,
        stalled_s=REAL_S,
    ) as guest:
        return guest.wait(go_on)


def main(arguments: list[str]) -> int:
    """0 when all passed, 1 when one did not, 3 when this machine cannot have guests."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("-m", dest="which", default=WHICH, help="as for pytest (default: %(default)s)")
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args(arguments)
    try:
        image = prepare(lambda sentence: print(sentence, file=sys.stderr))
    except UnfitMachine as reason:
        print(reason, file=sys.stderr)
        return reason.exit_status
    failed = 0
    at_once = len(os.sched_getaffinity(0))
    stop = threading.Event()
    with ThreadPoolExecutor(at_once) as pool:
        doing = {
            pool.submit(tested, names, asked.which, image, stop): " ".join(names)
            for names in groups(asked.which, asked.files)
        }
        try:
            for each in as_completed(doing):
                try:
                    ended = each.result()
                except WorkerFailed as reason:
                    print(f"{doing[each]}: {reason}", flush=True)
                    failed += 1
                    continue
                print(f"{doing[each]}, in {ended.real_s:.0f} s\n{ended.stdout}{ended.stderr}", flush=True)
                failed += ended.status not in (0, NONE_LEFT)
        except KeyboardInterrupt:
            stop.set()
            pool.shutdown(cancel_futures=True)
            return INTERRUPTED
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
