"""Every command of every page, and in cells of the one on what is here: each is understood down to its last option, and
the quick ones are run."""

import importlib.util
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

import studies.hifi.scene
import studies.hull.report
from harness.cli import cli
from tests.commands import PROJECT, asked

PAGES = sorted(
    [
        *PROJECT.glob("*.md"),
        *PROJECT.glob("docs/**/*.md"),
        *PROJECT.glob("setup/*.md"),
        *PROJECT.glob("results/*/README.md"),
        PROJECT / "results/make.sh",
    ]
)
COMMAND = re.compile(r"(?:    )?(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*\S*?(hedera|test\.sh|python -m) (.*)")
STANDS_FOR = {"results/runs/NAME": "results/hashes", "results/runs/tutorial": "results/tutorial", "$P": "stride:4"}
"""Of what is a reader's own: what the repository has of its kind."""
FILE = re.compile(r"[\w./-]+\.[a-z]+\b")


def commands():
    """A page's lines that begin with a command of ours, without their remarks. What may be left out is there, and
    alternatives are commands of their own."""
    for page in PAGES:
        fenced = False
        for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            fenced ^= line.startswith("```")
            lines = [line] if fenced or line.startswith("    ") or page.suffix == ".sh" else []
            if page.name == "coverage.md" and line.startswith("|"):
                lines = re.findall("`([^`]* [^`]*)` ", line.rpartition(" | ")[2])
            for program, words in (found.groups() for one in lines if (found := COMMAND.fullmatch(one))):
                words = re.split(r" {2,}(?=\S+ )| +# ", words)[0]
                if program == "hedera":
                    words = re.sub(r"[][]", "", words)
                for name, whose in STANDS_FOR.items():
                    words = words.replace(name, whose)
                for each in words.split(" | ") if program == "hedera" else [words]:
                    yield page.relative_to(PROJECT).as_posix(), program, each


ALL = list(commands())


def quick(program, words):
    """Whether a command is run here: it takes no network and no minute, and a reader's own files are not needed."""
    return (
        program == "hedera"
        and re.match("simulate|compare", words)
        and "-k 32" not in words
        and "--out" not in words
        and all((PROJECT / file).exists() for file in FILE.findall(words))
    )


@pytest.mark.parametrize(
    ("program", "words"), [pytest.param(*each, id=f"{page}: {each[1][:50]}") for page, *each in ALL]
)
def test_it_is_understood(program, words, monkeypatch):
    assert len(ALL) > 80
    monkeypatch.chdir(PROJECT)
    words = shlex.split(words)
    if program == "python -m":
        assert importlib.util.find_spec(words[0])
        return
    if program == "test.sh":
        words = ["demo", *words[1:]] if words[0] == "--demo" else ["sweep", *words]
    command = cli
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(click.Context(command), words)
        assert command is not None, name
    with command.make_context(name, words):  # what its options set ends with it
        pass


def simulated(words):
    """A minute in tenths of a millisecond is 600,000 steps, trials start workers, and pictures for print are laid out
    until they fit: some four seconds of a processor each."""
    takes_long = any(option in words for option in ("--tick 0.0001", "--trials", "--format"))
    return pytest.param(words, marks=pytest.mark.slow) if takes_long else words


COMMANDS = sorted({words for _, program, words in ALL if quick(program, words)})


@pytest.mark.parametrize("words", [simulated(words) for words in COMMANDS])
def test_it_does_what_the_page_says(words, monkeypatch):
    """The quick ones: those that simulate one run, and that compare what is kept."""
    monkeypatch.chdir(PROJECT)
    done = asked(*shlex.split(words))
    assert done.returncode == 0, done.stderr
    assert done.stdout


def outs(group, name=""):
    """Where commands write, unless told otherwise."""
    for each in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), each)
        if isinstance(command, click.Group):
            yield from outs(command, f"{name} {each}")
        else:
            yield from (
                (f"{name} {each}", Path(param.default)) for param in command.params if isinstance(param.default, Path)
            )


def test_no_command_writes_where_the_project_keeps_its_own():
    found = [*outs(cli), ("hull", studies.hull.report.FULL), ("hifi", studies.hifi.scene.KEPT)]
    assert len(found) > 15
    kept = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    assert [(name, place) for name, place in found if any(Path(one).is_relative_to(place) for one in kept if one)] == []
    made = [words for page, _, words in ALL if page == "results/make.sh"]
    assert made, "and one command makes the project's own"
    assert all("--out results/" in words for words in made)
