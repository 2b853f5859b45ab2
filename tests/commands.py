"""Commands as tests give them, and those of users without rights."""

import io
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

PROJECT = Path(__file__).parents[1]
HEDERA = Path(sys.executable).with_name("hedera")
PATIENCE_S = 1200
"""Real seconds that a test waits for what should come at once or in a minute: a machine ten times slower, or as busy,
keeps that. A test that is about a deadline has one of its own, and no limit on what may take longer beside it."""
USER = 54321
"""Of no name, and of no rights."""


def ran(*words, **settings):
    """A command that has ended, with what it said."""
    usual = {"capture_output": True, "text": True, "check": False, "timeout": PATIENCE_S}
    return subprocess.run([*map(str, words)], **usual | settings)


def hedera(*words, **settings):
    return ran(HEDERA, *words, **settings)


def asked(*words):
    """The same in this process, which has imported everything: quicker by a second, where no process is needed."""
    from harness.cli import cli
    from record.errors import run_for_status

    said, told = io.StringIO(), io.StringIO()
    argv = patch.object(sys, "argv", [str(HEDERA), *map(str, words)])
    with argv, redirect_stdout(said), redirect_stderr(told):
        status = run_for_status(lambda: cli.main(standalone_mode=False))
    return subprocess.CompletedProcess(words, status, said.getvalue(), told.getvalue())


def of_user(uid=USER):
    """How a process is started that is to be a user's; where we are no root it is ours."""
    return {"user": uid, "group": uid, "extra_groups": []} if os.geteuid() == 0 else {}


def let_in(folder):
    """Every user can enter a folder from now on."""
    for each in (folder, *folder.parents):
        if each.stat().st_mode & 0o001 == 0:
            each.chmod(each.stat().st_mode | 0o001)


@contextmanager
def open_folder(name):
    """A temporary folder that every user can enter, which pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix=f"hedera-{name}-") as place:
        Path(place).chmod(0o755)
        yield Path(place)


def alive(pid):
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
