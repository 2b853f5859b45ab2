"""The page beside a sweep: said where it is, and never waited for without an end."""

import time

import pytest

from harness.sweep import page
from harness.sweep.page import served
from tests.harness.sweep.test_remote import fake_hedera


def test_it_is_told_where_the_page_is_and_the_page_ends_with_the_block(tmp_path):
    heard = []
    with served(tmp_path, heard.append):
        assert heard[0].startswith("watch it at http://127.0.0.1:")


@pytest.mark.timeout(60)
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
    assert time.monotonic() - began < 20
