"""Any command in virtual time: its output, status, files and end."""

import io
import shutil
import signal
import subprocess
import sys

import pytest

from record.errors import WorkerFailed
from tests.commands import HEDERA, PATIENCE_S, ran
from virtual import cache
from virtual.command import run

pytestmark = pytest.mark.virtual


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(script, **options):
    said, complained = io.BytesIO(), io.BytesIO()
    done = run(["sh", "-c", script], stdout=said, stderr=complained, **options)
    return done, said.getvalue(), complained.getvalue()


def test_output_status_and_what_is_brought_back(place):
    (place / "mine").write_text("before")
    script = "cat; echo no >&2; sleep 100; cat mine; echo after >mine; echo new >other; echo left >$OUT/one; exit 7"
    done, said, complained = shell(script, stdin=b"given ", out=place / "out", keep=["mine"])
    assert (done.status, said, complained) == (7, b"given before", b"no\n")
    assert done.time_travel
    assert 100 <= done.simulated_s < 102
    assert (place / "out" / "one").read_text() == "left\n"
    assert (place / "mine").read_text() == "after\n"
    assert not (place / "other").exists()


@pytest.mark.parametrize(
    ("kept", "error"), [("/etc/passwd", ValueError), ("../other", ValueError), ("nothing", WorkerFailed)]
)
def test_what_is_not_there_or_outside_the_folder_cannot_be_kept(place, kept, error):
    with pytest.raises(error):
        run(["true"], keep=[kept])


def test_open_vswitch_is_there_when_it_is_asked_for(place):
    done, said, _ = shell("ovs-vsctl add-br s1 && ovs-vsctl list-br && ovs-ofctl dump-flows s1 | grep -c priority")
    assert (done.status, said) == (0, b"s1\n1\n")


def test_a_package_is_there_for_the_guest_alone(place):
    if ran("apt-cache", "show", "hello").returncode or shutil.which("hello"):
        pytest.skip("the package hello is installed, or not in this machine's lists")
    done, said, _ = shell("hello", packages=["hello"])
    assert (done.status, said) == (0, b"Hello, world!\n")
    assert shutil.which("hello") is None


@pytest.mark.parametrize("name", ["-oDir=/", "no such", "../hello"])
def test_what_is_no_package_s_name_is_refused(name):
    with pytest.raises(ValueError, match="package"):
        run(["true"], packages=[name])


def test_ctrl_c_leaves_nothing(place):
    left = ["grep", "-rqs", "--include=told", str(place), cache.folder("jobs")]
    script = "echo on; while :; do sleep 1; done"
    closed = ("sh", "-c", 'exec "$@" <&-', "sh")  # without standard input
    with subprocess.Popen([*closed, HEDERA, "guest", "--", "sh", "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"on\n"
        assert subprocess.run(left).returncode == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
    assert subprocess.run(left).returncode != 0


def test_what_waits_for_ever_ends_by_the_guest_s_clock_and_is_named(place):
    script = "import os, subprocess\nprint('begun')\nopen(os.environ['OUT'] + '/one', 'w').write('left\\n')\n"
    script += "subprocess.run(['sleep', 'infinity'])"
    said = io.BytesIO()
    with pytest.raises(WorkerFailed, match=r"after 20 s of its own clock.* sleep infinity$"):
        run([sys.executable, "-c", script], stdout=said, out=place / "out", until_s=20)
    assert said.getvalue() == b"begun\n"
    assert (place / "out" / "one").read_text() == "left\n"


def test_output_is_there_when_a_guest_is_ended_by_ours(place):
    said, patience_s = (io.BytesIO(), 10 + 10 * run(["true"], stdout=io.BytesIO()).real_s)
    with pytest.raises(WorkerFailed, match="did not finish within"):
        run(["sh", "-c", "echo begun; while :; do sleep 0.001; done"], stdout=said, until_s=1e9, real_s=patience_s)
    assert said.getvalue() == b"begun\n"
