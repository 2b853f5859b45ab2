"""The command line as a user meets it: one clear sentence and the right exit status, never a traceback."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from types import SimpleNamespace

import click
import pytest

from harness.cli import cli
from harness.doctor import Finding
from harness.network import machine
from harness.network.machine import TOOLS
from hedera.hashes import FIELDS, HASHES
from hedera.schemes import SCHEMES
from tests import commands
from tests.commands import HEDERA, PROJECT, asked, ran
from traffic.patterns import PUBLISHED
from traffic.workload import SPELLINGS

hedera = commands.hedera
RUN = ("run", "--scheme", "ecmp", "--traffic", "stride:4")


def run(*changes):
    return asked(*RUN, "--seconds", "5", *changes)


def assert_one_sentence(done, status, *words):
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith(("Usage:", "Try ")) and line]
    assert len(said) == 1, done.stderr


@pytest.mark.parametrize(
    ("option", "value", "cause"),
    [
        ("-k", "5", "-k"),
        ("--scheme", "hedera", "'hedera'"),
        ("--traffic", "strife:4", "strife"),
        ("--traffic", "file:/nowhere.csv", "/nowhere.csv"),
        ("--traffic", "poisson:fixed:1,1", "limit"),
        ("--bw", "nan", "--bw"),
        ("--seed", "-1", "--seed"),
        ("--interval", "0.01", "--interval"),
        ("--fail", "switch:nowhere@2", "'nowhere'"),
        ("--disturb", "controller:tickle@2", "--disturb"),
        ("--out", "/proc/nowhere/out", "/proc/nowhere"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(option, value, cause):
    assert_one_sentence(run(option, value), 2, cause)


def test_the_sweep_checks_every_pattern_before_the_first_run(tmp_path):
    done = asked("sweep", 1, 5, "--patterns", "stride:4,stride:x", "--results", tmp_path)
    assert_one_sentence(done, 2, "stride:x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.root
def test_unlike_runs_are_not_mixed(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "sweep.json").write_text(json.dumps({"link_mbps": 5.0}))
    done = hedera("sweep", 1, 5, "--name", "mine", "--results", tmp_path, "--patterns", "stride:4")
    assert_one_sentence(done, 2, "link_mbps 5.0 there, 10.0 here", "--name")


@pytest.mark.root
@pytest.mark.parametrize(("full", "words", "said"), [("stdout", "schemes", 1), ("stderr", "schemas", 0)])
def test_output_that_cannot_be_written_is_one_sentence(full, words, said):
    with open("/dev/full", "w") as disk:
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | {full: disk}
        done = subprocess.run([HEDERA, words], **streams, text=True, check=False)
    assert (done.returncode, (done.stderr or "").count("standard output")) == (1, said)
    assert (done.stderr or "").count("\n") == said


def test_without_the_tools_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "has_kernel_datapath", lambda: True)
    monkeypatch.setattr(machine, "find_version", lambda tool: None)
    monkeypatch.setattr(machine, "require_root", lambda: None)
    done = run("--time", "real", "--out", tmp_path / "x")
    assert_one_sentence(done, 3, "ovs-vswitchd", "apt-get install", "openvswitch-switch")


@pytest.mark.root
def test_a_pox_for_python_2_is_said_if_asked_for(tmp_path):
    (tmp_path / "pox").mkdir()
    (tmp_path / "pox.py").touch()
    (tmp_path / "pox" / "core.py").write_text("class C:\n  version = (0,2,0)\n  version_name = 'carp'\n")
    with_carp = {**os.environ, "POX_DIR": str(tmp_path)}
    done = hedera(*RUN, "--platform", "pox", "--out", tmp_path / "x", env=with_carp)
    assert_one_sentence(done, 3, "0.2.0 (carp)")


@pytest.mark.root
@pytest.mark.parametrize(
    "words", [[*RUN, "--time", "real"], ["sweep", "1", "5", "--time", "real"]], ids=["run", "sweep"]
)
def test_without_root_it_says_so_and_does_nothing(theirs, words):
    command = ["setpriv", "--reuid=65534", "--clear-groups", HEDERA, *words]
    done = ran(*command, cwd=theirs)
    assert_one_sentence(done, 3, "root")
    assert list(theirs.iterdir()) == []


def listed(*command):
    """The commands below a command, by its help."""
    text = asked(*command, "--help").stdout.split("Commands:")[1]
    return [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2] != " "]


def test_every_command_that_help_lists_has_help_of_its_own():
    told = asked("--help").stdout
    assert "..." not in told.split("Commands:")[1], "no line is cut"
    assert "3 this machine cannot do it" in " ".join(told.split())
    commands = [(name,) for name in listed()]
    assert {("clean",), ("doctor",), ("figure",), ("report",), ("run",), ("sweep",), ("table",)} <= set(commands)
    commands += [(group, number) for group in ("figure", "table") for number in listed(group)]
    for command in commands:
        done = asked(*command, "--help")
        assert done.returncode == 0, command
        assert f"hedera {' '.join(command)}" in done.stdout


def test_a_report_on_no_runs_is_a_mistake(tmp_path):
    """As a copy of what was published of a sweep: its summary, and no runs."""
    shutil.copy(PROJECT / "results/demo/summary.csv", tmp_path)
    assert_one_sentence(asked("report", tmp_path), 2, str(tmp_path), "no run (run.json)")
    (tmp_path / "run.json").write_text("{")
    assert_one_sentence(asked("report", tmp_path), 2, "run.json is not JSON, or was cut off")
    assert not (tmp_path / "report.html").exists()


def test_doctor_speaks_json():
    done = asked("doctor", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["ready"] else 3)
    assert {"item", "found", "needed", "ok", "fix"} == set(answer["findings"][0])
    assert {"leftovers of killed runs", "POX"} < {each["item"] for each in answer["findings"]}
    needed = {each["item"]: each["needed"] for each in answer["findings"]}
    assert all(needed[tool.name] == f"tried: {', '.join(tool.tried)}" for tool in TOOLS), "and none is only any"
    assert "any" not in [needed["kernel"], needed["Python"]]
    assert answer["next"].startswith("Next: ")


@pytest.mark.parametrize(("ok", "status"), [(True, 0), (None, 0), (False, 3)])
def test_doctor_ends_with_whether_anything_is_missing(monkeypatch, ok, status):
    found = [Finding("a kernel", "another", "ours", ok, "get it")]
    monkeypatch.setattr("harness.cli.machine.examine", lambda *_: found)
    assert asked("doctor", "--time", "virtual").returncode == status


def test_version_schemes_and_patterns():
    assert asked("--version").stdout.split() == ["hedera-harness", version("hedera-harness")]
    told = asked("schemes").stdout
    schemes, functions, fields = (
        [line.split()[0] for line in part.splitlines() if line and not line.startswith((" ", "Functions", "Fields"))]
        for part in re.split("\n(?:Functions|Fields)", told)
    )
    assert schemes[:-4] == list(SCHEMES)
    assert (functions, fields[1:]) == (list(HASHES), list(FIELDS))
    told = asked("patterns").stdout
    assert all(spelling in told for spelling in (*SPELLINGS, *PUBLISHED))


def test_numpy_has_one_thread_in_a_command():
    """Each takes 41 MB of addresses, and a machine may have 64 processors and a limit."""
    tell = "lambda: (__import__('numpy'), print('threads', len(os.listdir('/proc/self/task'))))"
    program = f"import atexit, os, sys, hedera_harness; sys.argv = ['hedera', '--version']; atexit.register({tell}); "
    assert "threads 1\n" in ran(sys.executable, "-c", program + "hedera_harness.main()", cwd=PROJECT).stdout


def commands_below(command, words=()):
    yield words, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands_below(command.get_command(click.Context(command), name), (*words, name))


def test_every_command_takes_the_parameters_that_it_declares():
    """A function is called with them by name, at the first use: nothing else notices a name that has changed. What is
    wrapped takes all of them, and is left to its own tests."""
    wrong = []
    for words, command in commands_below(cli):
        signature = inspect.signature(command.callback, follow_wrapped=False) if command.callback else None
        taken = signature.parameters if signature else {}
        if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
            declared = {one.name for one in command.params if one.expose_value}
            wrong += [f"{' '.join(words)}: {name}" for name in sorted(declared - taken.keys())]
    assert wrong == []


def test_kernels_are_built_and_verified_by_name(monkeypatch):
    built = []
    kernel = SimpleNamespace(release="7.2", mode="seccomp", source="s", linux="l", sha256="a")
    monkeypatch.setattr("virtual.kernel.build_kernel", lambda tell, name, ship: built.append((name, ship)) or kernel)
    monkeypatch.setattr("virtual.kernel.find_differences", lambda tell, name: [])
    assert asked("kernel", "build", "guest", "--ship").returncode == 0
    assert asked("kernel", "build").returncode == 0
    assert built == [("guest", True), ("linux", False), ("guest", False)]
    assert asked("kernel", "verify", "linux").returncode == 0
