"""Options of commands, made from fields."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import click
import pytest
from click.testing import CliRunner

from record.options import field_options
from record.spec import described, one_of


@dataclass(frozen=True)
class Example:
    name: Annotated[str, described("A name.")] = "x"
    rate_mbps: Annotated[float, described("Rate of a link, Mb/s.", option="--bw")] = 10.0
    count: Annotated[int | None, described("How many.")] = None
    word: Annotated[str, one_of("one", "two"), described("A word.")] = "one"
    sack: Annotated[bool, described("Selective acknowledgements.")] = True
    fail: Annotated[tuple[str, ...], described("What breaks.", metavar="WHAT")] = ()


def invoke(decorator, *arguments):
    @click.command()
    @decorator
    def command(**given):
        click.echo(repr(given))

    return CliRunner().invoke(command, arguments)


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ([], {}),
        (["--bw", "2.5", "--count", "3"], {"rate_mbps": 2.5, "count": 3}),
        (["--word", "two", "--no-sack"], {"word": "two", "sack": False}),
        (["--fail", "a", "--fail", "b"], {"fail": ("a", "b")}),
    ],
)
def test_values_arrive_by_the_names_and_types_of_the_fields(arguments, changed):
    default = {"name": "x", "rate_mbps": 10.0, "count": None, "word": "one", "sack": True, "fail": ()}
    assert eval(invoke(field_options(Example), *arguments).output) == default | changed


@pytest.mark.parametrize("arguments", [["--bw", "fast"], ["--word", "three"], ["--count", "1.5"], ["--speed", "9"]])
def test_what_is_no_value_of_the_field_is_refused(arguments):
    assert invoke(field_options(Example), *arguments).exit_code == 2


def test_some_fields_alone_and_defaults_of_the_commands_own():
    done = invoke(field_options(Example, "count name", count=7))
    assert eval(done.output) == {"count": 7, "name": "x"}
    assert "sack" not in eval(invoke(field_options(Example, without="sack")).output)


def test_the_help_has_units_choices_and_defaults():
    told = " ".join(invoke(field_options(Example), "--help").output.split())
    assert "--bw FLOAT Rate of a link, Mb/s. [default: 10.0]" in told
    assert "--word [one|two] A word. [default: one]" in told
    assert "--count INTEGER How many. --word" in told


def test_a_reader_that_has_enough_is_no_mistake():
    code = (
        "import sys, click; from record.options import in_words\n"
        "@click.command()\n@in_words\ndef command():\n"
        "    for n in range(100_000): click.echo('word')\n"
        "command()\n"
    )
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **both) as process:
        assert process.stdout.readline() == "word\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
