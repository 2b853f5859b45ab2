"""One thing has one name in all commands, and one name means one thing."""

from collections import defaultdict

import click
import pytest
from click.testing import CliRunner

from commands.options import quiet_option
from commands.output import progress_bar
from harness.cli.group import cli
from harness.cli.old_names import OLD, renamed
from harness.cli.options import tell_user, warn_user

DIFFER = {
    "--bw": 2,  # of every link; of the two of an experiment
    "--detect": 2,  # where another command's default is its own
    "--engine": 2,
    "--flows-per-host": 2,  # one, or a list
    "--iterations": 2,  # one, or a list
    "--jobs": 4,  # how many at once: processes, guests, submissions
    "--large-flows": 2,  # the simulator has no auto
    "--load": 2,
    "--min-rto": 2,  # Linux has its own
    "--name": 2,  # what results call it: a sweep, a machine
    "--out": 9,  # the folder for what a command writes
    "--picture": 2,
    "--queue": 2,
    "--quick": 4,  # less of it
    "--redraw": 2,
    "--results": 2,
    "--sack": 2,
    "--no-sack": 2,
    "--schemes": 3,
    "--scheme": 2,
    "--seconds": 5,  # for how long it lasts: traffic, measuring, a submission's computing
    "--seed": 5,  # what draws begin with
    "--seeds": 5,  # how many
    "--time": 2,
    "--simulated": 2,
    "-k": 2,
}
"""Options that commands tell in other words, all of one meaning, and in how many. Whoever makes it another number has
to look whether the meaning is still one."""


def commands(group=cli, path=()):
    """Every command with its path; figure and table are groups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        else:
            yield (*path, name), found


COMMANDS = dict(commands())


def kind(option):
    """What an option's value is: none, a number (or some), a place in the file system, or words."""
    if option.is_flag:
        return "none"
    if isinstance(option.type, click.Path):
        return "place"
    words = option.type.choices if isinstance(option.type, click.Choice) else str(option.default).split(",")
    numeric = all(word.replace(".", "").isdigit() for word in words)
    named = option.type.name.split()[0] in {"integer", "float", "mbps|auto", "mb/s", "us", "ms", "kb"}
    return "number" if numeric or named else "words"


def by_name():
    found = defaultdict(list)
    for path, command in COMMANDS.items():
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                for name in (*option.opts, *option.secondary_opts):
                    found[name].append((path, option))
    return found


NAMED = by_name()


def test_all_commands_are_looked_at():
    assert {("run",), ("hull", "figure", "1"), ("figure", "10"), ("hifi", "dctcp")} <= set(COMMANDS)
    assert {"--keep", "--bw", "--quiet"} <= set(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_a_name_has_one_kind_of_value(name):
    kinds = defaultdict(set)
    for path, option in NAMED[name]:
        kinds[kind(option)].add(" ".join(path))
    assert len(kinds) == 1, dict(kinds)


def test_a_name_means_one_thing():
    words = {name: {option.help for _, option in uses} for name, uses in NAMED.items()}
    assert {name: len(told) for name, told in words.items() if len(told) > 1} == DIFFER, {
        name: told for name, told in words.items() if len(told) != DIFFER.get(name, 1)
    }


def test_one_thing_has_one_name():
    names = defaultdict(set)
    for uses in NAMED.values():
        for _, option in uses:
            names[option.help].add(tuple(option.opts))
    assert {told: found for told, found in names.items() if len(found) > 1} == {}


@pytest.mark.parametrize(("words", "old"), [(words, old) for words, known in OLD.items() for old in known])
def test_an_old_name_becomes_one_that_there_is_and_says_so(words, old, capsys):
    new = OLD[words][old]
    below = [command for path, command in COMMANDS.items() if path[: len(words)] == words]
    assert any(new in option.opts for command in below for option in command.params)
    assert not any(old in option.opts for command in below for option in command.params)
    assert renamed([*words, old, "x", f"{old}=y", "--", old]) == [*words, new, "x", f"{new}=y", "--", old]
    assert capsys.readouterr().err == f"hedera: {old} is now called {new}; the old name still works\n"


def test_an_old_name_works(tmp_path):
    """Through the group, as it is typed."""
    done = CliRunner().invoke(cli, ["hull", "table", "2", "--link", "0", "--keep", str(tmp_path)])
    assert done.exit_code == 2
    assert "hedera: --link is now called --bw; the old name still works" in done.stderr
    assert "--bw must be 1 Mb/s or more" in done.stderr


@pytest.mark.parametrize("path", ["run", "sweep", "demo", "simulate", "figure 10", "hull run", "hifi dctcp", "doctor"])
def test_what_shows_progress_can_be_quiet(path):
    assert "--quiet" in {name for option in COMMANDS[tuple(path.split())].params for name in option.opts}


def test_quiet_keeps_progress_back_and_no_warning(capsys):
    @click.command()
    @quiet_option
    def command():
        tell_user("a stage")
        warn_user("a warning")
        with progress_bar("a bar", 1.0) as done:
            done(1.0)

    command.main([], standalone_mode=False)
    said = capsys.readouterr().err
    assert "a stage" in said
    assert "a bar" in said
    command.main(["--quiet"], standalone_mode=False)
    assert capsys.readouterr().err == "a warning\n"


def test_names_that_are_others_elsewhere_stay(capsys):
    line = ["run", "--scheme", "ecmp", "--keep", "0.5", "--tick=1"]
    assert renamed(line) == line
    assert renamed(["hull", "run", "--scheme", "hull"]) == ["hull", "run", "--scheme", "hull"]
    assert renamed([]) == []
    assert capsys.readouterr().err == ""
