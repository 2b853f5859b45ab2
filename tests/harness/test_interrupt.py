"""Ctrl-C: everything is torn down, and a tear-down that hangs is ended by another one; nohup keeps its word."""

import gc
import os
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

from harness import cli
from tests.commands import PATIENCE_S

PROGRAM = """
import time
from harness import cli
from harness.network import processes

def hang():
    for _ in range(1200):  # a signal that comes just before a sleep does not cut it short
        time.sleep(0.05)

def hung():
    try:
        with processes.deadline(600, "it hangs"):
            try:
                print("sending", flush=True)
                hang()
            finally:
                try:
                    print("tearing down", flush=True)
                    hang()
                finally:
                    print("the rest", flush=True)
    except BaseException as error:
        print(type(error).__name__, flush=True)
    return 7

cli.run_for_status = lambda command: hung()
cli.PATIENCE_S, processes.AGAIN_S = 0, 600
cli.main()
"""


@pytest.fixture
def hung():
    """A command whose tear-down hangs, and what it says, line by line."""
    started = []

    def start(ignored=None):
        def heard():
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may have started the tests
            if ignored:
                signal.signal(ignored, signal.SIG_IGN)

        both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], preexec_fn=heard, **both)
        started.append(process)
        assert process.stdout.readline() == "sending\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_ctrl_c_ends_what_a_tear_down_hangs_in(hung, number):
    process = hung()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "tearing down\n"
    process.send_signal(number)
    assert process.stdout.readline() == "the rest\n"
    assert process.stdout.readline() == "KeyboardInterrupt\n"
    assert process.wait(PATIENCE_S) == 7


def ignores(process, number):
    """Whether the kernel throws away a signal to a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
    return bool(int(status["SigIgn"], 16) >> number - 1 & 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_was_ignored_at_the_start_stays_ignored(hung, number):
    """As nohup starts a command, and a script one in the background."""
    process = hung(ignored=number)
    assert ignores(process, number)
    process.send_signal(number)
    process.send_signal(signal.SIGTERM if number == signal.SIGINT else signal.SIGINT)
    assert process.stdout.readline() == "tearing down\n"


def send_signal(*_):
    os.kill(os.getpid(), signal.SIGTERM)
    for _ in range(1000):  # the signal is heard in between
        pass


class WithFinalizer:
    def __del__(self):
        send_signal()


class Plain:
    pass


@pytest.fixture
def heard(monkeypatch):
    """SIGTERM, and what Python swallows, come to the command's own functions."""
    monkeypatch.setattr(cli, "_last_s", float("-inf"))
    monkeypatch.setattr(sys, "unraisablehook", cli._hear_swallowed)
    before = signal.signal(signal.SIGTERM, cli._interrupt)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("where", ["finalizer", "weak reference", "weakref.finalize", "garbage collector"])
def test_a_signal_where_python_swallows_what_is_raised_is_heard_after_it(heard, where):
    kept = []
    with pytest.raises(KeyboardInterrupt):
        some = WithFinalizer() if where == "finalizer" else Plain()
        if where == "weak reference":
            kept.append(weakref.ref(some, send_signal))
        elif where == "weakref.finalize":
            weakref.finalize(some, send_signal)
        elif where == "garbage collector":
            gc.callbacks.append(send_once)
            gc.collect()
        del some
        time.sleep(PATIENCE_S)


def test_a_signal_while_a_swallowed_one_is_heard_is_not_lost_either(heard, monkeypatch):
    """As where a busy machine lets the thread that interrupts again run before the hook has ended."""
    start = cli._thread.start_new_thread
    monkeypatch.setattr(cli._thread, "start_new_thread", lambda *asked: (send_signal(), start(*asked)))
    with pytest.raises(KeyboardInterrupt):
        some = WithFinalizer()
        del some
        time.sleep(PATIENCE_S)


def test_a_signal_that_comes_again_comes_until_it_is_heard(heard, monkeypatch):
    """As where it comes when the main thread has looked for signals, and is about to sleep."""
    sent, kill = [], os.kill

    def send(process, number):
        sent.append(number)
        if len(sent) != 2:
            kill(process, number)

    monkeypatch.setattr(os, "kill", send)
    with pytest.raises(KeyboardInterrupt):
        some = WithFinalizer()
        del some
        time.sleep(60)


def send_once(*_):
    gc.callbacks.remove(send_once)
    send_signal()
