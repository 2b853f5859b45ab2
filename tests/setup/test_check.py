"""check.sh, with stand-ins for all that it calls: it ends, with everything that it started."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.network.processes import wait_until
from tests.in_guests import together

ROOT = Path(__file__).parents[2]
PYTEST = f"""#!{sys.executable}
import os, pathlib, subprocess, sys, time
here, words = pathlib.Path({{here!r}}), " ".join(sys.argv[1:])
child = subprocess.Popen(["sleep", "3600"])
(here / f"{{{{os.getpid()}}}}.began").write_text(words)
(here / f"{{{{child.pid}}}}.began").write_text("a child of it")
print("output of", words, flush=True)
try:
    time.sleep(3600 if any(word in words for word in (here / "lasts").read_text().split(",") if word) else 0)
    sys.exit(5 if words == (here / "fails").read_text() else 0)
except KeyboardInterrupt:
    (here / f"{{{{os.getpid()}}}}.ended").write_text(words)
    sys.exit(2)
finally:
    child.kill()
    child.wait()
"""


@pytest.fixture
def place(tmp_path):
    shutil.copy(ROOT / "check.sh", tmp_path)
    for name in ("setup/install.sh", ".venv/bin/ruff", ".venv/bin/mypy", ".venv/bin/pytest"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PYTEST.format(here=str(tmp_path)) if "pytest" in name else "#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    for name, unless in (("python", '[ "$1" != -c ] || exit 0'), ("hedera", '[ "$2" != status ] || exit 1')):
        (tmp_path / ".venv/bin" / name).write_text(f'#!/bin/sh\n{unless}\nexec "${{0%/*}}/pytest" "$@"\n')
        (tmp_path / ".venv/bin" / name).chmod(0o755)
    (tmp_path / ".venv" / "installed-check").touch()
    (tmp_path / "lasts").touch()
    (tmp_path / "fails").touch()
    yield tmp_path
    for pid in alive(tmp_path):
        os.kill(pid, signal.SIGKILL)


def alive(place):
    """What was started and has not ended, by its id."""
    pids = [int(path.stem) for path in place.glob("*.began")]
    stats = {pid: Path(f"/proc/{pid}/stat") for pid in pids}
    return [pid for pid, stat in stats.items() if stat.exists() and ") Z " not in stat.read_text()]


def began(place):
    """What pytest was asked for."""
    return sorted(text for path in place.glob("*.began") if (text := path.read_text()) != "a child of it")


@pytest.fixture
def nobody(tmp_path, monkeypatch):
    """A shell that takes itself for an ordinary user's."""
    (tmp_path / "id").write_text("#!/bin/sh\necho 1234\n")
    (tmp_path / "id").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def check(place, *arguments, **settings):
    return subprocess.Popen(
        [place / "check.sh", *arguments],
        env={**os.environ, **settings},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


TOGETHER = f"-n {len(os.sched_getaffinity(0)) + 1} --dist worksteal"
WHOLE = pytest.param((), marks=pytest.mark.root, id="whole")
QUICK = pytest.param(("--quick",), id="quick")


@pytest.mark.root
def test_it_runs_all_of_them_and_shows_what_they_say(place):
    process = check(place)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    asked = ["-m alone --ignore tests/kernel", "-m alone tests/kernel", f"{TOGETHER} -m not alone"]
    assert began(place) == asked
    assert all(f"output of {words}\n" in said for words in asked)


@pytest.mark.root
@pytest.mark.parametrize(
    "part", [f"{TOGETHER} -m not alone", "-m alone tests/kernel", "-m alone --ignore tests/kernel"]
)
def test_one_part_that_fails_fails_all(place, part):
    (place / "fails").write_text(part)
    process = check(place)
    process.communicate(timeout=120)
    assert process.returncode == 5
    assert len(began(place)) == 3


@pytest.mark.root
def test_where_guests_are_fast_real_time_keeps_what_only_it_has(place):
    (place / ".venv/bin/hedera").write_text("#!/bin/sh\necho Linux 7.2.13 in seccomp mode, from here\n")
    process = check(place)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert began(place) == [
        "-m alone and real --ignore tests/kernel",
        "-m alone and real tests/kernel",
        "-m tests.in_guests -m alone and not real",
        f"{TOGETHER} -m not alone",
    ]


USER_S = [
    "-m tests.in_guests",
    f"{TOGETHER} -m not root and not virtual",
    f"{TOGETHER} -m virtual and not root",
]


def test_without_root_what_needs_it_runs_in_guests(place, nobody):
    process = check(place)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert began(place) == USER_S


@pytest.mark.parametrize("part", USER_S)
def test_and_one_part_of_those_that_fails_fails_all(place, nobody, part):
    (place / "fails").write_text(part)
    process = check(place)
    process.communicate(timeout=120)
    assert process.returncode == 5
    assert began(place) == USER_S


def test_compiled_tests_are_kept_but_by_root_in_another_s_folder(place, nobody, tmp_path):
    """Else each pytest compiles all of them anew."""
    (place / ".venv/bin/pytest").write_text(f"#!/bin/sh\nenv >{tmp_path}/said\n")
    check(place, "-k", "fattree", PYTHONDONTWRITEBYTECODE="1").communicate(timeout=120)
    assert "PYTHONDONTWRITEBYTECODE" not in (tmp_path / "said").read_text()
    for name, says in (("id", 0), ("stat", 1234)):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {says}\n")
        (tmp_path / name).chmod(0o755)
    check(place, "-k", "fattree").communicate(timeout=120)
    assert "PYTHONDONTWRITEBYTECODE=1\n" in (tmp_path / "said").read_text()


def test_without_root_options_are_for_tests_that_need_none(place, nobody):
    process = check(place, "-k", "fattree")
    process.communicate(timeout=120)
    assert began(place) == ["-m not root -k fattree"]


def test_without_root_mininet_has_to_be_there(place, nobody):
    (place / ".venv/bin/python").write_text("#!/bin/sh\nexit 1\n")
    process = check(place)
    _, said = process.communicate(timeout=120)
    assert (process.returncode, began(place)) == (3, [])
    assert said == "check.sh: not set up yet: sudo setup/install.sh --check\n"


@pytest.mark.parametrize(
    ("arguments", "lasts", "parts"),
    [
        pytest.param(("--quick",), "not root", 1, id="quick"),
        pytest.param((), "not alone", 1, id="side by side", marks=pytest.mark.root),
        pytest.param((), "alone --ignore,tests/kernel", 3, id="kernel and alone", marks=pytest.mark.root),
        pytest.param(None, "tests.in_guests,not virtual", 2, id="beside guests"),
    ],
)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_ends_all_of_it(place, arguments, lasts, parts, number, status, request):
    """What a terminal sends goes to the group of the shell; a cancelled job is told by its shell alone."""
    (place / "lasts").write_text(lasts)
    if arguments is None:
        request.getfixturevalue("nobody")
    process = check(place, *arguments or ())
    assert wait_until(lambda: len(began(place)) == parts and len(alive(place)) >= 2 * lasts.count(",") + 2, 20)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == status
    assert alive(place) == []
    assert len(list(place.glob("*.ended"))) == lasts.count(",") + 1, "each ends in order"
    assert len(began(place)) == parts, "nothing is begun after it"


@pytest.mark.parametrize("arguments", [WHOLE, QUICK])
def test_it_has_an_end(place, arguments):
    (place / "lasts").write_text("alone,root,kernel")
    process = check(place, *arguments, HEDERA_CHECK_S="2")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 124
    assert "check.sh: not done within 2 s, so stopped (set HEDERA_CHECK_S for more)\n" in said
    assert alive(place) == []


def test_small_files_share_a_guest_but_for_those_that_make_networks():
    """Every file is in one group; what is found first is begun first, and has most tests."""
    counts = {
        "tests/harness/test_faults.py": 2,
        "tests/workers/test_keys.py": 10,
        "tests/files/test_unprivileged.py": 12,
        "tests/harness/sweep/test_page.py": 3,
        "tests/hostile/test_watch.py": 39,
    }
    assert together(counts) == [
        ["tests/hostile/test_watch.py"],
        ["tests/files/test_unprivileged.py", "tests/workers/test_keys.py"],
        ["tests/harness/sweep/test_page.py"],
        ["tests/harness/test_faults.py"],
    ]
