"""What a worker is asked for, and what the process that does it believes of that."""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RunFailed, UserMistake
from harness.run import experiment
from harness.run.spec import RunSpec
from harness.sweep import remote
from harness.sweep.parcel import unpack
from harness.sweep.remote import introduce, request, spec_of
from harness.sweep.source import source

SPEC = RunSpec("hedera-gff", "stride:4", seconds=5, fail=("switch:4_1_1@2",), mtu=9000, trial=3, keep=0.5)


def test_a_spec_comes_through_as_it_was():
    asked = json.loads(json.dumps(request("run", SPEC, "w1")))
    assert spec_of(asked) == SPEC
    assert asked["worker"] == "w1"


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": "4"},
        {"k": 3},
        {"scheme": "../x"},
        {"seconds": -1},
        {"link_mbps": None},
        {"fail": "all"},
        {"congestion_control": "x; reboot"},
        {"scheme": 7},
    ],
)
def test_what_is_no_spec_is_refused_in_one_sentence(wrong):
    asked = request("run", SPEC, "w1")
    asked["spec"] |= wrong
    with pytest.raises(UserMistake):
        spec_of(asked)
    with pytest.raises(UserMistake):
        spec_of({"kind": "run"})


def test_a_machine_says_what_it_is_without_a_secret():
    told = introduce()
    assert told["fingerprint"] == source().fingerprint
    json.dumps(told)
    assert set(told) == {
        "schema",
        "host",
        "revision",
        "fingerprint",
        "root",
        "missing",
        "kernel_datapath",
        "pox",
        "machine",
    }


def fake_hedera(tmp_path, monkeypatch, program):
    """Instead of `hedera cluster job`."""
    (tmp_path / "hedera").write_text(program)
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(python))


def test_a_job_s_steps_are_told_and_its_last_word_is_the_answer(tmp_path, monkeypatch):
    fake_hedera(
        tmp_path,
        monkeypatch,
        (
            "import json, sys\n"
            "asked = json.loads(sys.stdin.readline())\n"
            "print(json.dumps({'stage': 'building'}), flush=True)\n"
            "print(json.dumps({'rates': {'1500': asked['worker']}}), end='\\n')\n"
        ),
    )
    heard = []
    last = remote._job({"worker": 5}, tmp_path / "run", lambda stage, pid: heard.append(stage), 60)
    assert last == {"rates": {"1500": 5}}
    assert [each for each in heard if each] == ["building"]


def test_a_job_that_fails_is_told_in_its_own_words(tmp_path, monkeypatch):
    program = "import sys; print('noise', file=sys.stderr); sys.exit('hedera: the disk is full')"
    fake_hedera(tmp_path, monkeypatch, program)
    with pytest.raises(RunFailed, match=r"^the disk is full$"):
        remote._job({}, tmp_path / "run", lambda stage, pid: None, 60)


def test_a_job_ends_with_the_worker_that_asked_for_it(tmp_path):
    """Killed with -9, so that nothing of the worker's own can see to it."""
    (tmp_path / "hedera").write_text(
        "import os, signal, sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
        "from commands.beside import end_with_caller\n"
        "if os.geteuid() == 0: os.seteuid(1), os.seteuid(0)  # as for what belongs to the user behind sudo\n"
        "sys.stdin.readline()\n"
        "end_with_caller(lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        f"def end(*_): open({str(tmp_path / 'ended')!r}, 'w').close(); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('{}', flush=True)\n"
        "time.sleep(60)\n"
    )
    (tmp_path / "python").symlink_to(sys.executable)
    worker = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from harness.sweep import remote\n"
        f"sys.executable = {str(tmp_path / 'python')!r}\n"
        "remote._job({}, Path('x'), lambda stage, pid: os.kill(os.getpid(), signal.SIGKILL), 60)\n"
    )
    subprocess.run([sys.executable, "-c", worker], check=False, timeout=120)
    for _ in range(300):
        if (tmp_path / "ended").exists():
            return
        time.sleep(0.1)
    pytest.fail("the run goes on without its worker")


@pytest.mark.timeout(300)
def test_a_job_that_hangs_is_ended(tmp_path, monkeypatch):
    fake_hedera(
        tmp_path,
        monkeypatch,
        (
            "import signal, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            'while True: print(\'{"stage": "sending"}\', flush=True); time.sleep(0.1)\n'
        ),
    )
    monkeypatch.setattr(remote, "_ENDING_S", 0.5)
    with pytest.raises(RunFailed, match=r"^the process that should make the run does not end$"):
        remote._job({}, tmp_path / "run", lambda stage, pid: None, 1.0)


LOOKING = """
import json, os, stat, sys
asked = json.loads(sys.stdin.readline())
(name, place), = asked["at"].items()
about = os.stat(os.path.dirname(os.path.dirname(place)))
os.mkdir(sys.argv[3])
said = {"name": name, "text": open(place).read(), "mode": stat.S_IMODE(about.st_mode), "place": place}
said["keys"] = sorted(asked)
open(sys.argv[3] + "/run.json", "w").write(json.dumps(said))
"""


def test_what_was_sent_is_there_while_its_run_is_made_and_then_gone(tmp_path, monkeypatch):
    fake_hedera(tmp_path, monkeypatch, LOOKING)
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text("src_host,dst_host\n0,15\n")
    asked = request("run", RunSpec("ecmp", "file:m.csv"), "w1")
    (tmp_path / "back").mkdir()
    unpack(remote.carry_out(asked), tmp_path / "back")
    said = json.loads((tmp_path / "back/run.json").read_text())
    assert (said["name"], said["text"]) == ("m.csv", "src_host,dst_host\n0,15\n")
    assert said["mode"] == 0o700
    assert said["keys"] == ["at", "files", "kind", "spec", "worker"], "what is sent apart is no part of it"
    assert not Path(said["place"]).exists()
    fake_hedera_fails = "import json, sys; sys.exit('hedera: no')"
    (tmp_path / "hedera").write_text(fake_hedera_fails)
    before = set(Path(tempfile.gettempdir()).glob("hedera-sent-*"))
    with pytest.raises(RunFailed, match="no"):
        remote.carry_out(asked)
    assert set(Path(tempfile.gettempdir()).glob("hedera-sent-*")) <= before


def test_a_run_in_virtual_time_has_the_time_that_a_guest_may_take():
    virtual = replace(SPEC, time="virtual")
    assert remote.run_s(virtual) > guests_limit(virtual) > remote.run_s(SPEC)


def guests_limit(spec):
    return experiment.SLOWEST * experiment.longest_s(spec)
