"""A controller as a process that can end, freeze, or leave half a line behind, and has no rights of root's."""

import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.network.processes import Children, wait_until
from harness.run import controller as module
from harness.run.controller import Controller, parse_events
from harness.run.emulation import ControllerFaults
from record.errors import RunFailed
from record.spec import Disturbance
from tests.commands import PATIENCE_S, let_in, ran

PROGRAM = """
import json, sys, time
log = open(sys.argv[1], "a", buffering=1)
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
who = {name: status[name].split() for name in ("Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs")}
log.write(json.dumps({"t": time.time(), "event": "who", **who}) + "\\n")
start = {"event": "start", "scheme": "ecmp", "platform": "os-ken", "platform_version": "4"}
log.write(json.dumps({"t": time.time(), **start}) + "\\n")
for _ in range(600):
    log.write(json.dumps({"t": time.time(), "event": "alive"}) + "\\n")
    time.sleep(0.05)
"""

ENDLESS = """
import os, sys, time
for descriptor in (1, int(sys.argv[1].rpartition("/")[2])):
    try:
        while True:
            os.write(descriptor, bytes(1 << 16))
    except OSError:
        pass
time.sleep(60)
"""

LEAVING = """
import json, os, subprocess, sys, time
away = subprocess.Popen(["sh", "-c", "exec env -i sleep 600"], start_new_session=True)
log = open(sys.argv[1], "a", buffering=1)
start = {"event": "start", "scheme": "ecmp", "platform": "os-ken", "platform_version": "4", "away": away.pid}
log.write(json.dumps({"t": time.time(), **start}) + "\\n")
log.write(json.dumps({"t": time.time(), "event": "alive"}) + "\\n")
time.sleep(600)
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts a program in a controller's place."""
    program = tmp_path / "program.py"
    let_in(tmp_path)
    (tmp_path / "raw").mkdir(mode=0o700)
    monkeypatch.setattr(module, "SILENCE_S", 3.0)
    monkeypatch.setattr(module, "make_command", lambda *told: [sys.executable, str(program), str(told[-1]["log"])])
    with Children() as children:

        def start(text, run_as=None):
            program.write_text(text)
            return Controller("os-ken", "127.0.0.1", None, {}, tmp_path / "raw", children, run_as)

        yield start


def wait(controller, starts):
    def done():
        controller.supervise()
        return len(controller.find("start")) == starts and controller.find("alive")

    assert wait_until(done, PATIENCE_S)


@pytest.mark.parametrize(("how", "reason"), [("kill", "ended (status -9)"), ("freeze", "was not heard of for 3 s")])
def test_it_is_started_again_once(start, how, reason):
    controller = start(PROGRAM)
    wait(controller, 1)
    disturber = ControllerFaults([Disturbance(how, 1), Disturbance(how, 2)], controller)
    disturber.tick(0.9)
    first = controller.process
    assert first.poll() is None
    disturber.tick(1.0)
    with (controller._log).open("a") as log:
        log.write('{"t": 1, "event": "rou')  # what it was writing
    wait(controller, 2)
    assert first.poll() is not None
    assert [restart.reason for restart in controller.restarts] == [reason]
    assert controller.lost is None
    assert {path.name for path in controller._directory.glob("*.txt")} == {"controller.txt", "controller-restarted.txt"}
    disturber.tick(2.0)
    assert wait_until(lambda: controller.supervise() or controller.lost is not None, PATIENCE_S)
    assert controller.lost == f"the controller {reason}, and had been restarted once already"
    assert len(controller.restarts) == 1


def test_what_is_no_event_is_left_out():
    good = {"t": 1.5, "event": "ready", "switches": 20}
    lines = ["", "{", json.dumps(good), '{"t": 1, "event": "rou', "[]", "7", '{"event": "a"}', '{"t": 1}', "\xff"]
    lines += [f'{{"t": {time}, "event": "a"}}' for time in ('"x"', "NaN", "true")]
    assert parse_events("\n".join(lines).encode("latin-1")) == [good]


SHOUTED = "\x1b]0;owned\x07\x1b[2J\udcff\u202e" + "x" * 5000
"""What a terminal would obey, no character at all, writing turned round, and more than anybody reads."""


def is_one_clean_line(text):
    return text.isprintable() and 0 < len(text) <= 400


def test_last_words_are_one_clean_line(start):
    """A user's scheduler writes what it likes into an event, and to the end of controller.txt, and dies."""
    (event,) = parse_events(json.dumps({"t": 1.0, "event": "error", "message": SHOUTED}).encode())
    assert is_one_clean_line(event["message"])
    dies = start(f"import os; os.write(2, {SHOUTED!r}.encode('utf-8', 'surrogateescape')); os._exit(1)")
    with pytest.raises(RunFailed) as told:
        dies.wait_for("ready", PATIENCE_S)
    assert str(told.value).startswith("the controller ended before it was 'ready': ")
    assert is_one_clean_line(str(told.value))


NOBODY = (65534, 65534)


@pytest.mark.root
def test_it_runs_as_the_person_that_it_is_given_with_no_rights_of_root_s(start, tmp_path):
    controller = start(PROGRAM, NOBODY)
    wait(controller, 1)
    (who,) = controller.find("who")
    assert who["Uid"] == who["Gid"] == ["65534"] * 4
    assert who["Groups"] == []
    assert int(who["CapEff"][0], 16) == int(who["CapBnd"][0], 16) == 0
    assert who["NoNewPrivs"] == ["1"]
    assert (tmp_path / "raw").stat().st_mode & 0o777 == 0o700, "its log lies where it cannot look"


@pytest.mark.parametrize("platform", ["os-ken", "pox"])
def test_its_modules_come_from_nowhere_else(tmp_path, monkeypatch, platform):
    """Started beside a json.py, in an environment that names it; a relative name of POX still means the same."""
    (tmp_path / "pox" / "pox").mkdir(parents=True)
    (tmp_path / "json.py").write_text("raise SystemExit('taken from where the user stands')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module.machine, "find_pox", lambda: Path("pox"))
    words = module.make_command(platform, "127.0.0.1", {"scheme": "nonsense"})
    assert str(tmp_path / "pox") in words or platform == "os-ken"
    done = ran(*words, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr.startswith(f"controllers.{'os_ken' if platform == 'os-ken' else 'pox'}_main: ")


@pytest.mark.root
def test_what_it_writes_has_an_end(start, tmp_path, monkeypatch):
    """A scheduler that prints and logs without end; before, it filled the disk of /run."""
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: SimpleNamespace(free=8 << 20))
    start(ENDLESS)
    files = [tmp_path / "raw" / name for name in ("controller.txt", "controller.jsonl")]
    wait_until(lambda: min(file.stat().st_size for file in files) >= 2 << 20, PATIENCE_S)
    time.sleep(0.3)
    assert [file.stat().st_size for file in files] == [2 << 20, 2 << 20]


@pytest.mark.root
def test_what_its_scheduler_started_ends_with_it(start):
    """A child that has left the session, and its environment, could be found by nothing."""
    controller = start(LEAVING, NOBODY)
    wait(controller, 1)
    assert wait_until(sleepers, PATIENCE_S), "it became a sleep of nobody's"
    (sleeper,) = sleepers()
    controller.process.kill()
    controller.process.wait()
    assert wait_until(lambda: not Path("/proc", sleeper).exists(), PATIENCE_S)


def sleepers():
    """Processes of nobody's that are called so."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if path.stat().st_uid == NOBODY[0] and (path / "cmdline").read_bytes().startswith(b"sleep\x00600\x00"):
                found.append(path.name)
    return found
