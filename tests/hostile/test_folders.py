"""A results folder that means harm: another user's, or made by another user in a folder of a group.

What the enemy wants: a line of his in a file of root's or alice's, a new file in a folder of theirs, to read what
they alone may read, or that they wait for ever.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request

import pytest

from tests.hostile.neighbourhood import (
    ALICE,
    HEDERA,
    SECRET,
    VICTIMS,
    Neighbourhood,
    does,
    enemy,
    environment,
    good_run,
    identity,
    outside,
    reachable_by_alice,
    sweep_of,
)

pytestmark = pytest.mark.root
WRITTEN = (
    "report.html",
    "figures/summary.csv",
    "figures/summary.md",
    "figures/differences.csv",
    "figures/figure9.png",
    "figures/figure9.svg",
    "figures/figure9-normalised.png",
    "figures/figure9-normalised.svg",
    "figures/completion.csv",
    "figures/completion.png",
    "figures/rates/stride_4-trial-1.png",
)
"""All that `hedera report` writes."""


@pytest.fixture(params=VICTIMS)
def victim(request):
    return _possible(request.param)


def _possible(victim):
    if victim == "user" and not reachable_by_alice():
        pytest.skip("this checkout, or its Python, is out of an ordinary user's reach")
    return victim


@pytest.fixture
def place():
    with outside() as folder:
        made = Neighbourhood(folder)
        yield made
        made.assert_unharmed()


def trap(place, victim, folder):
    """The enemy's results folder is ready."""
    place.owned()
    place.open_to(victim)
    place.before = place.treasures()
    return folder


class Reported:
    """What a report has done with a folder in which something of the enemy's lay at every name that it writes."""

    def __init__(self, victim, kind, folder):
        place = Neighbourhood(folder)
        folder = sweep_of(place.theirs / "r")
        for name in WRITTEN:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            aim = place.victim_s(victim) / name.replace("/", "-")
            aim.write_text(SECRET)
            aim.chmod(0o600)
            os.chown(aim, *[0 if victim == "root shell" else ALICE] * 2)
            if kind == "link":
                path.symlink_to(aim)
            elif kind == "dangling link":
                aim.unlink()
                path.symlink_to(aim)
            elif kind == "second name":  # as where fs.protected_hardlinks is off
                os.link(aim, path)
            else:
                os.mkfifo(path, 0o666)
        place.owned(links=kind != "second name")
        place.open_to(victim)
        place.before = {} if kind == "second name" else place.treasures()
        self.place, self.folder, self.victim, self.kind = place, folder, victim, kind
        self.done = place.hedera(victim, "report", folder)

    def aim(self, name):
        return self.place.victim_s(self.victim) / name.replace("/", "-")


KINDS = ("link", "dangling link", "second name", "pipe")


@pytest.fixture(scope="module", params=[(v, k) for v in VICTIMS for k in KINDS], ids=lambda pair: "-".join(pair))
def reported(request):
    victim, kind = request.param
    with outside() as folder:
        yield Reported(_possible(victim), kind, folder)


@pytest.mark.parametrize("name", WRITTEN)
def test_something_else_at_a_name_that_report_writes(reported, name):
    """A link to the victim's file, one to a file that is to be, a second name of the file, or a pipe that nobody
    reads, where `hedera report` writes: it is replaced, and what it led to stays as it was."""
    assert reported.done.returncode == 0, reported.done.stderr
    aim, ours = reported.aim(name), reported.folder / name
    assert aim.read_text() == SECRET if reported.kind != "dangling link" else not aim.exists()
    assert ours.is_file()
    assert not ours.is_symlink()
    if reported.kind == "second name" and "rates" in name:
        return  # as new as the run, and so left alone
    assert ours.stat().st_nlink == 1
    assert SECRET.encode() not in ours.read_bytes()
    if reported.kind != "second name":
        reported.place.assert_unharmed()


@pytest.mark.parametrize("name", ["figures", "figures/rates"])
def test_a_subfolder_that_is_a_link(place, victim, name):
    """`figures`, or `rates` in it, leads to a folder of the victim's: nothing is written there, in one sentence."""
    folder = sweep_of(place.theirs / "r")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(place.victim_s(victim))
    done = place.hedera(victim, "report", trap(place, victim, folder))
    assert done.returncode == 1
    assert done.stderr == f"hedera: will not write through a link: {folder / name}\n"


@pytest.mark.parametrize("name", ["report.html", "figures/summary.csv", "figures"])
def test_a_folder_or_a_file_in_the_way(place, victim, name):
    """A folder where a file is to be, a file where a folder is to be: one sentence, and nothing half-written."""
    folder = sweep_of(place.theirs / "r")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("") if name == "figures" else (folder / name).mkdir()
    done = place.hedera(victim, "report", trap(place, victim, folder))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert str(folder / name) in done.stderr
    assert not list(folder.rglob("*.partial"))


def test_the_results_folder_itself_is_a_link_to_root_s(place, victim):
    """What is to be reported on is the enemy's link to a folder that the victim alone can write to."""
    aim = place.victim_s(victim) / "r"
    sweep_of(aim)
    for path in (aim, *aim.rglob("*")):
        os.chown(path, *[0 if victim == "root shell" else ALICE] * 2)
    (place.theirs / "r").symlink_to(aim)
    done = place.hedera(victim, "report", trap(place, victim, place.theirs / "r"))
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") <= 4


SWAPS = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
a, b = (os.fsencode(name) for name in sys.argv[1:])
print("swapping", flush=True)
while os.getppid() != 1:
    libc.renameat2(-100, a, -100, b, 2)  # each gets the other's name at once
"""


@pytest.mark.real  # in virtual time no clock stops who computes without end
@pytest.mark.parametrize("deep", [False, True], ids=["the folder", "the one above it"])
def test_a_folder_that_turns_into_a_link_and_back(place, victim, deep):
    """The enemy swaps a folder for a link to one of the victim's, thousands of times a second, so as to hit the
    moment between the look and the write."""
    shared = place.place / "shared"
    shared.mkdir()
    shared.chmod(0o777)  # root's, and everybody's: where root stays root
    below = "rates" if deep else "."
    (place.victim_s(victim) / below).mkdir(exist_ok=True)
    os.chown(place.victim_s(victim) / below, *[0 if victim == "root shell" else ALICE] * 2)
    does(f"import os; os.umask(0); os.makedirs({str(shared / 'figures' / below)!r}, exist_ok=True)")
    does(f"import os; os.symlink({str(place.victim_s(victim))!r}, {str(shared / 'other')!r})")
    place.before = place.treasures()
    swapping = enemy(SWAPS, shared / "figures", shared / "other", stdout=subprocess.PIPE)
    try:
        swapping.stdout.readline()
        done = place.python(
            victim,
            f"""
import time
from files.writer import write_whole
from files.rights import make_folder
written = refused = 0
end = time.monotonic() + 2
while time.monotonic() < end:
    try:
        write_whole(Path({str(shared / "figures" / below / "x")!r}), str(written))
        make_folder(Path({str(shared / "figures" / below / "new")!r}))
        written += 1
    except OSError:
        refused += 1
print(written, refused)
""",
        )
    finally:
        swapping.kill()
        swapping.communicate()
    written, refused = map(int, done.stdout.split())
    assert min(written, refused) > 0, "else nothing was tried"


HALF = (
    ".live.json.partial",
    ".run.json.partial",
    ".sweep.json.partial",
    ".trial-1.partial",
    "grades.csv.1.part",
)


def test_the_names_of_earlier_versions_half_written_files(place, victim):
    """Links at names that files had while they were written, and at those they get: of the live file, a result, a
    sweep's settings, a run's folder, a table, recorded flows."""
    folder = place.theirs / "r"
    folder.mkdir()
    for name in (
        *HALF,
        ".live.json",
        "run.json",
        "sweep.json",
        "grades.csv",
        "flows.csv",
        "new.csv",
        ".flows.csv.partial",
    ):
        (folder / name).symlink_to(place.victim_s(victim) / ("made" if name == "new.csv" else "precious"))
    (folder / "trial-1").symlink_to(place.victim_s(victim))
    raw = place.place / "raw"
    done = place.python(
        victim,
        f"""
import time
from dataclasses import dataclass
from commands.output import write_csv
from harness.errors import HarnessError
from harness.sweep.store import new_run, require_writable, write_json
from results.live import Live, write_live
from traffic.flowfile import write_flows
folder, raw = Path({str(folder)!r}), Path({str(raw)!r})
@dataclass(frozen=True)
class Row: x: int = 1
require_writable(folder)
write_live(folder, Live(written=1, jobs=1, done=0, seconds_left=1))
write_json(folder / "run.json", [])
write_json(folder / "sweep.json", [])
write_csv(folder / "grades.csv", [Row()])
write_csv(folder / "new.csv", [Row()])
write_flows(folder / "flows.csv", [])
for name in ("trial-1", "trial-2"):
    try:
        with new_run(folder / name, raw):
            (raw / "x").write_text("x")
    except (OSError, HarnessError) as error:
        print(name, type(error).__name__)
"""
        if trap(place, victim, folder) and not os.chmod(place.place, 0o777)
        else "",
    )
    assert (done.stdout, done.returncode) == ("trial-1 RunFailed\n", 0), done.stderr
    for name in (".live.json", "run.json", "sweep.json", "grades.csv", "new.csv", "flows.csv", "trial-2/x"):
        assert (folder / name).is_file()
        assert not (folder / name).is_symlink()


ODD = {
    "a pipe": lambda path, _: os.mkfifo(path, 0o666),
    "an endless device": lambda path, _: path.symlink_to("/dev/zero"),
    "the victim's terminal": lambda path, _: path.symlink_to("/dev/tty"),
    "a link to the victim's file": lambda path, aim: path.symlink_to(aim),
    "a link to itself": lambda path, _: path.symlink_to(path.name),
    "a folder": lambda path, _: path.mkdir(),
    "nothing readable": lambda path, _: (path.write_text("{}"), path.chmod(0)),
    "a hole of gigabytes": lambda path, _: (path.touch(), os.truncate(path, 3 << 30)),
    "nested lists": lambda path, _: path.write_text("[" * 3_000_000),
    "nested objects": lambda path, _: path.write_text('{"a":' * 300_000 + "1" + "}" * 300_000),
    "no text": lambda path, _: path.write_bytes(bytes(range(256)) * 100),
    "a number of a million digits": lambda path, _: path.write_text('{"schema": ' + "9" * 1_000_000 + "}"),
    "words that steer a terminal": lambda path, _: path.write_text(
        json.dumps({"schema": 2, "\x1b]0;owned\x07": 1, "spec": {"\x1b[2J": "\x9b31m"}})
    ),
    "a name that steers a terminal": lambda path, _: path.write_text(
        path.parent.parent.with_name("good").joinpath("run.json").read_text().replace("stride:4", "\\u001b[2Jx")
    ),
}
"""What lies there by the name of a result or of a sweep's settings."""


def odd_sweep(place, victim, kinds, name="run.json"):
    """A folder with two good runs, and an odd file for each kind."""
    folder = sweep_of(place.theirs / "r")
    shutil_run = (folder / "stride_4/ecmp/trial-1/run.json").read_text()
    (folder / "good").mkdir()
    (folder / "good/run.json").write_text(shutil_run)
    for number, kind in enumerate(kinds):
        path = folder / f"odd-{number}" / "ecmp" / name
        path.parent.mkdir(parents=True)
        ODD[kind](path, place.victim_s(victim) / "precious")
    return trap(place, victim, folder)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("command", ["report", "compare"])
def test_an_odd_result_in_the_folder(place, command, kind):
    """A run.json that never ends, fills the memory or the stack, leads elsewhere or steers a terminal, beside good
    ones: `report` and `compare` leave it out, soon, and show nothing that only root may read."""
    folder = odd_sweep(place, "root shell", [kind])
    done = place.hedera("root shell", command, *([folder] if command == "report" else [folder, folder]), seconds=40)
    assert done.returncode in (0, 1, 2)
    assert done.stderr.count("\n") <= 4, done.stderr
    if command == "report":
        assert done.returncode == 0
        assert SECRET not in (folder / "report.html").read_text()
        assert "\x1b" not in (folder / "report.html").read_text()


def test_folders_in_folders(place, victim):
    """A tree as deep as a path can be, and links that go round in circles, below a results folder."""
    folder = sweep_of(place.theirs / "r")
    (folder / "round").symlink_to(".")
    trap(place, victim, folder)
    dig = "import os\nos.chdir({!r})\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')"
    try:
        does(dig.format(str(folder)))
        done = place.hedera(victim, "report", folder)
        assert done.returncode == 0, done.stderr
    finally:
        subprocess.run(["rm", "-rf", folder / "d"], check=True)


@pytest.mark.parametrize("kind", ODD)
def test_odd_settings_of_a_sweep_that_goes_on(place, kind):
    """A sweep.json of the enemy's where root goes on with a sweep: one sentence, at once, and no word of root's own
    files in it."""
    folder = place.theirs / "r" / "s"
    folder.mkdir(parents=True)
    if kind == "a name that steers a terminal":
        (folder / "good").mkdir()
        (folder / "good/run.json").write_text(json.dumps({"k": "stride:4"}))
        (folder / "deeper/deepest").mkdir(parents=True)
        ODD[kind](folder / "deeper/deepest/sweep.json", None)
        (folder / "deeper/deepest/sweep.json").rename(folder / "sweep.json")
    else:
        ODD[kind](folder / "sweep.json", place.roots / "precious")
    trap(place, "root shell", folder)
    done = place.hedera("root shell", *sweep(folder), seconds=240)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "use another --name" in done.stderr


def sweep(folder):
    return (
        "sweep",
        1,
        6,
        "--patterns",
        "stride:4",
        "--schemes",
        "ecmp",
        "--bw",
        10,
        "--platform",
        "os-ken",
        "--results",
        folder.parent,
        "--name",
        folder.name,
    )


@pytest.mark.parametrize("shell", ["root shell", "sudo"])
def test_odd_results_of_a_sweep_that_goes_on(place, shell):
    """Both tries of each run of a sweep are there, and odd: nothing hangs, nothing is run over them, and the sweep
    says which folders to remove."""
    folder = place.theirs / "r" / "s"
    base = folder / "stride_4" / "ecmp"
    base.mkdir(parents=True)
    for number, kind in enumerate(("a pipe", "an endless device")):
        path = base / ("trial-1" if number == 0 else "trial-1-again") / "run.json"
        path.parent.mkdir()
        ODD[kind](path, None)
    trap(place, shell, folder)
    done = place.hedera(shell, *sweep(folder), seconds=240)
    assert done.returncode == 1, done.stderr
    assert "neither" in done.stderr
    assert {path.name for path in base.iterdir()} == {"trial-1", "trial-1-again"}


def test_a_page_that_follows_an_odd_folder(place, victim):
    """`hedera watch` on a folder whose live file, results and report are pipes, devices and links: the page and its
    data come all the same, and nothing of the victim's."""
    folder = odd_sweep(place, victim, ODD)
    for name, kind in ((".live.json", "a pipe"), ("report.html", "a pipe"), ("figures", "a folder")):
        ODD[kind](folder / name, None)
    for name in ("figure9.png", "figure9.svg"):
        ODD["a link to the victim's file"](folder / "figures" / name, place.victim_s(victim) / "precious")
    trap(place, victim, folder)
    process = subprocess.Popen(
        [HEDERA, "watch", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env=environment(victim, place),
        **identity(victim),
    )
    try:
        address = process.stdout.readline().split()[-1]
        for name in ("", "now.json", "report.html", "figures/figure9.png"):
            began = time.monotonic()
            try:
                with urllib.request.urlopen(address + name, timeout=120) as answer:
                    content = answer.read()
            except urllib.error.HTTPError as error:
                content = error.read()
            assert SECRET.encode() not in content
            assert time.monotonic() - began < 120
    finally:
        process.terminate()
        said = "".join(process.communicate(timeout=120))
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "--scheme", "ecmp", "--traffic", "file:{}"),
        ("simulate", "--scheme", "ecmp", "--traffic", "poisson:{},0.5"),
        ("run", "--scheme", "ecmp", "--traffic", "file:{}", "--seconds", 3, "--bw", 2),
        ("run", "--scheme", "ecmp", "--traffic", "poisson:{},0.5", "--seconds", 3, "--bw", 2),
        ("sweep", 1, 3, "--patterns", "file:{}", "--schemes", "ecmp", "--bw", 2, "--name", "x"),
        ("run", "--scheme", "{}:Mine", "--traffic", "stride:4", "--seconds", 3, "--bw", 2),
        ("simulate", "--scheme", "{}:Mine", "--traffic", "stride:4"),
        ("scheduler", "check", "{}:Mine"),
    ],
    ids=lambda words: "-".join(map(str, words[:4:3])),
)
@pytest.mark.parametrize("aim", ["precious", "code.py"])
def test_a_file_of_root_s_that_a_user_names_behind_sudo(place, arguments, aim):
    """Who may call nothing but `sudo hedera` names root's files as traffic, sizes or a scheduler: they are opened as
    that user, who may not, and no word of them is told."""
    (place.roots / "code.py").write_text(f"{SECRET} = no python")
    place.before = place.treasures()
    words = [str(word).format(place.roots / aim) for word in arguments]
    if "{}:Mine" in arguments and aim == "precious":
        words = [word.replace("precious:Mine", "precious.py:Mine") for word in words]
    done = place.hedera("sudo", *words, cwd=place.alices)
    assert done.returncode in (1, 2, 3)
    assert "cannot be read" in done.stderr or "not there" in done.stderr, done.stderr


@pytest.mark.parametrize("kind", ["a pipe", "an endless device", "a folder", "a hole of gigabytes"])
def test_a_traffic_file_without_an_end(place, victim, kind):
    """Somebody's file of flows is a pipe, a device or a hole."""
    ODD[kind](place.theirs / "flows", None)
    trap(place, victim, place.theirs)
    done = place.hedera(victim, "simulate", "--scheme", "ecmp", "--traffic", f"file:{place.theirs / 'flows'}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) or done.stderr.startswith("Usage"), done.stderr


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_a_command_writes_into_a_strange_folder(place, victim, kind):
    """`hedera figure 3 --out` and `simulate --record` into the enemy's folder, where their names, or the folder, are
    links to the victim's."""
    out = place.theirs / "out"
    if kind == "folder":
        out.symlink_to(place.victim_s(victim))
    else:
        out.mkdir()
        for name in ("figure3.csv", "figure3.png", "flows.csv"):
            (out / name).symlink_to(place.victim_s(victim) / "precious")
    trap(place, victim, out)
    for words in (
        ("figure", 3, "-k", 4, "--max-flows", 2, "--seeds", 1, "--jobs", 1, "--out", out),
        (
            "simulate",
            "--scheme",
            "ecmp",
            "--traffic",
            "poisson:web-search,0.1",
            "--seconds",
            1,
            "--record",
            out / "flows.csv",
        ),
    ):
        done = place.hedera(victim, *words)
        assert done.returncode == (1 if kind == "folder" else 0), (words, done.stderr)
        assert kind != "folder" or "link" in done.stderr


def test_grades_into_a_strange_folder(place):
    """`hedera grade --out` where grades.csv is a link to root's file."""
    out = place.theirs / "out"
    out.mkdir()
    (out / "grades.csv").symlink_to(place.roots / "precious")
    (place.theirs / "class" / "one").mkdir(parents=True)
    (place.theirs / "class" / "one" / "demand.py").write_text("def estimate_demands(*a): return [1.0] * len(a[0])\n")
    trap(place, "root shell", out)
    done = place.hedera("root shell", "grade", place.theirs / "class", "--seed", 1, "--out", out, seconds=200)
    assert done.returncode in (0, 1, 3), done.stderr
    assert done.returncode == 3 or not (out / "grades.csv").is_symlink()


def test_the_good_sweep_itself_is_reported_on(place, victim):
    """No attack: so that those above are not held by a command that fails anyway."""
    folder = trap(place, victim, sweep_of(place.theirs / "r"))
    good_run(folder, "hedera-gff")
    trap(place, victim, folder)
    done = place.hedera(victim, "report", folder)
    assert done.returncode == 0, done.stderr
    assert {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.suffix in (".html", ".png", ".svg", ".md", ".csv")
    } == set(WRITTEN)
