"""The page beside a sweep: said where it is, and never waited for without an end."""

import os
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from harness.network.processes import wait_until
from harness.sweep import page
from harness.sweep.page import served
from tests.harness.sweep.test_remote import fake_hedera
from tests.hostile.enemy import UID, theirs


def test_it_is_told_where_the_page_is_and_the_page_ends_with_the_block(tmp_path):
    heard = []
    with served(tmp_path, heard.append):
        assert heard[0].startswith("watch it at http://127.0.0.1:")


@pytest.mark.parametrize(
    "settings", [{}, pytest.param({"SUDO_UID": str(UID), "SUDO_GID": str(UID)}, marks=pytest.mark.root)]
)
def test_the_page_ends_with_a_sweep_that_is_killed(tmp_path, settings):
    """Who gives root up is no longer tied to who started it by the kernel."""
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from harness.sweep.page import served\n"
        "with served(Path(sys.argv[1]), lambda said: print(said, flush=True)):\n"
        "    time.sleep(60)\n"
    )
    folder = theirs(tmp_path / "sweep") if settings else tmp_path
    with subprocess.Popen(
        [sys.executable, "-c", code, folder],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings},
    ) as sweep:
        address = sweep.stdout.readline().split()[-1]
        sweep.kill()
    where = "127.0.0.1", int(urlsplit(address).port)

    def gone():
        with socket.socket() as peer:
            return peer.connect_ex(where) != 0

    assert wait_until(gone, 60)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("import time; time.sleep(100)", "the page could not be served; the sweep goes on without it"),
        ("raise SystemExit(2)", "the page could not be served; the sweep goes on without it"),
        (
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('at \\x1b[2J', flush=True)\n"
            "time.sleep(100)",
            r"at \x1b[2J",
        ),
    ],
)
def test_a_page_that_says_nothing_or_does_not_end_stops_no_sweep(tmp_path, monkeypatch, program, sentence):
    monkeypatch.setattr(page, "BEGINS_S", 3.0, raising=False)
    monkeypatch.setattr(page, "ENDS_S", 0.5, raising=False)
    fake_hedera(tmp_path, monkeypatch, program)
    heard, began = [], time.monotonic()
    with served(tmp_path, heard.append):
        pass
    assert heard == [sentence]
    assert time.monotonic() - began < 90
