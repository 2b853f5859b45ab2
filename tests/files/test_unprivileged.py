"""What root does not run itself: what is left of its rights, and that it still dies with who started it."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from files import unprivileged as module
from files.rights import NOBODY
from files.unprivileged import unprivileged
from hedera.schemes import scheme
from topos.fattree import FatTree

STATUS = """
import os
print(os.getuid(), os.getgroups(), *[line.split()[1] for line in open('/proc/self/status') if 'Cap' in line])
"""


@pytest.fixture(autouse=True)
def nobody_behind_it(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)


def says(program, named=(), **settings):
    without = unprivileged(user_s=named)
    return subprocess.run(
        [*without.prefix, "/usr/bin/python3", "-I", "-c", program],
        env=without.environment,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        **settings,
    )


def test_without_root_there_is_nothing_to_give_up():
    uid = os.getuid() or NOBODY.uid

    def give_up():
        os.setresuid(uid, uid, uid)
        assert unprivileged([]).user is None
        assert says("import os; print(os.getuid())").stdout == f"{uid}\n"

    child = multiprocessing.get_context("fork").Process(target=give_up)  # who can be root no more
    child.start()
    child.join(120)
    assert child.exitcode == 0


@pytest.mark.root
def test_nothing_of_root_s_is_left(monkeypatch):
    monkeypatch.setenv("SECRET", "of root's")
    assert says(STATUS).stdout == f"{NOBODY.uid} []{' 0000000000000000' * 5}\n"
    assert "SECRET" not in says("import os; print(os.environ)").stdout
    assert "Operation not permitted" in says("import os; os.setuid(0)").stderr


@pytest.fixture
def closed(reachable):
    """A folder of root's that nobody else gets into, with code and a secret, whose own modes would let all read."""
    folder = reachable / "closed"
    folder.mkdir(mode=0o700)
    for name in ("code.py", "secret"):
        (folder / name).write_text("x = 1")
        (folder / name).chmod(0o644)
    (folder / "package" / "deep").mkdir(parents=True)
    (folder / "package" / "deep" / "code.py").write_text("x = 2")
    return folder


@pytest.mark.root
@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_code_out_of_reach_is_lent_and_nothing_beside_it(closed, mode):
    code = closed / "code.py"
    code.chmod(mode)
    lent = [code, closed / "package"]
    assert says(f"print(open({str(code)!r}).read())", lent).stdout == "x = 1\n"
    assert says(f"print(open('{closed}/package/deep/code.py').read())", lent).stdout == "x = 2\n"
    assert says(f"import os; print(sorted(os.listdir({str(closed)!r})))", lent).stdout == "['code.py', 'package']\n"
    assert "No such file" in says(f"open('{closed}/secret')", lent).stderr
    for path in (code, closed / "new", closed / "package" / "deep" / "new"):
        assert "denied" in (said := says(f"open({str(path)!r}, 'w')", lent).stderr) or "Read-only" in said
    assert "not permitted" in says("import os; os.kill(1, 0)", lent).stderr
    assert says(STATUS, lent).stdout == f"{NOBODY.uid} []{' 0000000000000000' * 5}\n"
    assert code.read_text() == "x = 1"


@pytest.mark.root
def test_a_whole_clone_of_root_s_is_lent_by_its_own_names(closed):
    """Packages that root alone can read, and the Python beside them."""
    clone = closed / "clone"
    shutil.copytree(module._ROOT / "files", clone / "files")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", closed / "env"], check=True)
    subprocess.run(["chmod", "-R", "go=", clone], check=True)
    found = f"import sys; sys.path.insert(0, {str(clone)!r}); "
    code = f"{found}import os, files.rights as r; print(os.getuid(), r.__file__, sys.prefix)"
    starter = (
        f"{found}import subprocess; from files.unprivileged import unprivileged; without = unprivileged(); "
        f"command = [*without.prefix, sys.executable, '-I', '-c', {code!r}]; "
        "subprocess.run(command, env=without.environment, cwd='/')"
    )
    said = subprocess.run([closed / "env/bin/python", "-I", "-c", starter], capture_output=True, text=True, check=False)
    assert said.stdout == f"{NOBODY.uid} {clone}/files/rights.py {closed}/env\n", said.stderr


@pytest.mark.root
def test_what_the_user_behind_sudo_names_is_not_lent(closed, monkeypatch):
    """Else `sudo hedera run --scheme FILE` would tell what is in any file of root's."""
    monkeypatch.setenv("SUDO_UID", "54321")
    monkeypatch.setenv("SUDO_GID", "54321")
    assert "Permission denied" in says(f"open('{closed}/code.py')", [closed / "code.py"]).stderr


@pytest.mark.root
def test_a_file_that_became_a_link_meanwhile_is_not_lent(closed):
    """To nobody, what was named is a plain file."""
    (closed / "code.py").unlink()
    (closed / "code.py").symlink_to("/etc/shadow")
    said = says("print('ran')", [closed / "code.py"])
    assert said.stdout == ""
    assert said.stderr.startswith("hedera: what user 65534 may not read cannot be lent here: ")
    assert said.stderr.count("\n") == 1


@pytest.mark.root
def test_it_dies_with_who_started_it():
    starter = f"""
import subprocess, sys
sys.path.insert(0, {str(Path(module.__file__).parents[1])!r})
from files.unprivileged import unprivileged
child = subprocess.Popen([*unprivileged([]).prefix, "sleep", "600"])
print(child.pid, flush=True)
sys.stdin.read()
"""
    parent = subprocess.Popen([sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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


@pytest.mark.root
def test_root_names_a_scheme_without_running_its_code(reachable):
    """Imported by nobody to see whether it can be had, and by root only where root itself schedules."""
    file, ran = reachable / "mine.py", reachable / "ran"
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
@pytest.mark.root
def test_a_module_that_ends_the_process_is_one_sentence(reachable, code, words):
    (reachable / "own.py").write_text(code)
    with pytest.raises(ValueError, match=words):
        scheme(f"{reachable}/own.py:Mine")


def test_a_disk_that_does_not_answer_is_one_sentence(monkeypatch):
    monkeypatch.setattr(module, "LOOKED_S", 0.2)
    with pytest.raises(TimeoutError, match="takes too long"):
        module._can_read(("sh", "-c", "exec sleep 60"), [])
