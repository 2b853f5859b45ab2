"""The tab key: what bash itself completes with our script, and what zsh and fish are told."""

import os
import shutil

import pytest

from tests.commands import HEDERA, ran

PRESSED = """
source "$2"
COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
read -ra COMP_WORDS <<< "$1"
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
compopt() { echo "as $1 $2"; }
complete -p hedera | grep -q _hedera_completion && _hedera_completion hedera
printf '%s\\n' "${COMPREPLY[@]}"
"""
PATH = f"{HEDERA.parent}:{os.environ['PATH']}"


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """What a login's bash reads."""
    file = tmp_path_factory.mktemp("completion") / "hedera.bash"
    file.write_text(ran(HEDERA, "completion-script", "bash", check=True).stdout)
    return file


@pytest.fixture
def pressed(script):
    """Presses the tab key behind a line."""

    def pressed(line):
        done = ran("bash", "--norc", "-c", PRESSED, "bash", line, script, env={**os.environ, "PATH": PATH})
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return pressed


@pytest.mark.parametrize(
    ("line", "replies"),
    [
        ("hedera comp", ["compare", "completion-script", "completion", "completion-growth"]),
        ("hedera hull fig", ["figure"]),
        ("hedera simulate --scheme hedera-", ["hedera-gff", "hedera-sa", "hedera-clos", "hedera-flow-sa"]),
        ("hedera run --scheme ./mine", ["as -o default", ""]),
        ("hedera simulate --traffic published:str", ["stride1", "stride2", "stride4", "stride8"]),
        ("hedera simulate --traffic published:stag2", [r"stag2\(0.2,0.3\)", r"stag2\(0.5,0.3\)"]),
        ("hedera sweep 1 10 --schemes ecmp,hedera-g", ["ecmp,hedera-gff"]),
        ("hedera sweep 1 10 --suite ta", ["table2"]),
        ("hedera run --platform p", ["pox"]),
        ("hedera report --wi", ["--width"]),
    ],
)
def test_bash_completes(pressed, line, replies):
    assert pressed(line) == replies


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_told(shell):
    script = ran(HEDERA, "completion-script", shell)
    assert script.returncode == 0
    assert "_HEDERA_COMPLETE" in script.stdout
    if shutil.which(shell):
        assert ran(shell, "-n", input=script.stdout).returncode == 0
    told = {"COMP_WORDS": "hedera run --scheme hedera-g", "COMP_CWORD": "3" if shell == "zsh" else "hedera-g"}
    done = ran(HEDERA, env={**os.environ, **told, "_HEDERA_COMPLETE": f"{shell}_complete"})
    assert "hedera-gff" in done.stdout


def test_the_script_is_for_the_shell_of_the_login():
    for shell, word in (("/usr/bin/zsh", "#compdef"), ("/bin/fish", "function _hedera"), ("/bin/dash", "COMP_LINE")):
        assert word in ran(HEDERA, "completion-script", env={**os.environ, "SHELL": shell}).stdout
