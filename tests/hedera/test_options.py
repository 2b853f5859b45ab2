"""What becomes of errors in commands that say them in words."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from hedera.options import in_words


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ValueError("k is odd"), 2, "Error: k is odd"),
        (FileNotFoundError(2, "No such file", "m.csv"), 1, "Error: [Errno 2] No such file: 'm.csv'"),
        (RuntimeError("no compiler"), 1, "Error: no compiler"),
    ],
)
def test_a_mistake_is_a_sentence(error, status, words):
    @click.command()
    @in_words
    def command():
        raise error

    done = CliRunner().invoke(command)
    assert (done.exit_code, done.output.strip().splitlines()[-1]) == (status, words)


def test_a_reader_that_has_enough_is_no_mistake():
    code = (
        "import sys, click; from hedera.options import in_words\n"
        "@click.command()\n@in_words\ndef command():\n"
        "    for n in range(100_000): click.echo('word')\n"
        "command()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "word\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 1
