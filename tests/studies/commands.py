"""Running the commands of studies, and reading what they leave."""

import inspect
import json
import re

from click.testing import CliRunner

from record.output import read_csv as rows

__all__ = ["described", "in_turn", "is_png", "rows", "run", "run_json", "told"]


def run(module, *arguments):
    """A module's command, or a command."""
    return CliRunner().invoke(getattr(module, "command", module), [str(a) for a in arguments])


def described(command, *arguments, **fields):
    """A command's `studies.study.Study`."""
    return inspect.unwrap(command.callback)(*arguments, **fields)


def in_turn(function, tasks):
    return [function(task) for task in tasks]


def run_json(module, *arguments):
    """The rows of a command with --json: standard output is one object, and every row has the same columns."""
    done = run(module, *arguments, "--json")
    assert done.exit_code == 0, done.output
    (name,) = found = json.loads(done.stdout)
    assert name == "rows"
    assert all(row.keys() == found["rows"][0].keys() for row in found["rows"])
    assert all(re.fullmatch("[a-z0-9_]+", column) for column in found["rows"][0])
    return found["rows"]


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def told(row):
    """A row as a CSV file has it."""
    return {n: f"{v:.6g}" if isinstance(v, float) else "" if v is None else str(v) for n, v in row.items()}
