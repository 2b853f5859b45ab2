"""What root does not run itself: what is left of its rights, and that it still dies with who started it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from files.rights import NOBODY
from hedera import unprivileged as module
from hedera.schemes import scheme
from hedera.unprivileged import unprivileged
from topos.fattree import FatTree

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="what root gives up")
STATUS = """
import os
print(os.getuid(), os.getgroups(), *[line.split()[1] for line in open('/proc/self/status') if 'Cap' in line])
"""


@pytest.fixture(autouse=True)
def nobody_behind_it(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)


def says(program, reads=(), **settings):
    without = unprivileged(reads)
    return subprocess.run(
        [*without.prefix, "/usr/bin/python3", "-I", "-c", program],
        env=without.environment, capture_output=True, text=True, check=False, cwd="/", **settings,
    )  # fmt: skip


@pytest.fixture
def open_folder(tmp_path):
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_mode & 0o001 == 0:
            path.chmod(path.stat().st_mode | 0o001)
    return tmp_path


def test_without_root_there_is_nothing_to_give_up():
    if os.geteuid() != 0:
        assert unprivileged([]).user is None
        assert says("import os; print(os.getuid())").stdout == f"{os.getuid()}\n"


@as_root
def test_nothing_of_root_s_is_left(monkeypatch):
    monkeypatch.setattr(module, "_can_read", lambda *_: True)
    monkeypatch.setenv("SECRET", "of root's")
    assert says(STATUS).stdout == f"{NOBODY.uid} []{' 0000000000000000' * 5}\n"
    assert "SECRET" not in says("import os; print(os.environ)").stdout
    assert "Operation not permitted" in says("import os; os.setuid(0)").stderr


@as_root
def test_code_out_of_reach_is_read_and_nothing_else(open_folder):
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    code = closed / "code.py"
    code.write_text("x = 1")
    assert says(f"print(open({str(code)!r}).read())", [code]).stdout == "x = 1\n"
    assert "Permission denied" in says(f"open({str(code)!r}, 'a')", [code]).stderr
    assert "not permitted" in says("import os; os.kill(1, 0)", [code]).stderr


@as_root
def test_it_dies_with_who_started_it():
    starter = f"""
import subprocess, sys
sys.path.insert(0, {str(Path(module.__file__).parents[1])!r})
from hedera.unprivileged import unprivileged
child = subprocess.Popen([*unprivileged([]).prefix, "sleep", "600"])
print(child.pid, flush=True)
sys.stdin.read()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    child = Path("/proc") / parent.stdout.readline().strip()
    limit = time.monotonic() + 20
    while not (child / "cmdline").read_text().startswith("sleep") and time.monotonic() < limit:
        time.sleep(0.02)
    assert f"Uid:\t{NOBODY.uid}" in (child / "status").read_text()
    parent.kill()
    parent.communicate()
    while child.exists() and time.monotonic() < limit:
        time.sleep(0.02)
    assert not child.exists()


@as_root
def test_root_names_a_scheme_without_running_its_code(open_folder):
    """Imported by nobody to see whether it can be had, and by root only where root itself schedules."""
    file, ran = open_folder / "mine.py", open_folder / "ran"
    ran.mkdir()
    ran.chmod(0o777)
    file.write_text(
        f"import os\nopen({str(ran)!r} + '/' + str(os.geteuid()), 'w').close()\n"
        "class Mine:\n    def __init__(self, *given): pass\n    def place(self, flows, links): return flows.core\n"
    )
    chosen = scheme(f"{file}:Mine")
    assert [path.name for path in ran.iterdir()] == ["65534"]
    assert type(chosen.placement(FatTree(4), 1)).__name__ == "Mine"
    assert sorted(path.name for path in ran.iterdir()) == ["0", "65534"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import os; os._exit(4)", r"importing it ends the process \(status 4\)"),
        ("import os; os.kill(os.getpid(), 11)", r"importing it ends the process \(status -11\)"),
    ],
)
@as_root
def test_a_module_that_ends_the_process_is_one_sentence(open_folder, code, words):
    (open_folder / "own.py").write_text(code)
    with pytest.raises(ValueError, match=words):
        scheme(f"{open_folder}/own.py:Mine")
