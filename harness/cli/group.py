"""All commands by name, and what becomes of errors: words and an exit status, never a traceback."""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Any

import click

from files.rights import leave_root_for_good
from harness.errors import HarnessError
from hedera.text import printable

_COMMANDS = {
    "compare": ("harness.cli.compare", "compare"),
    "completion": ("paper.completion", "command"),
    "assignment": ("classroom.assignment", "assignment"),
    "claims": ("paper.claims.command", "command"),
    "clean": ("harness.cli.clean", "clean"),
    "cluster": ("harness.cli.cluster", "cluster"),
    "demo": ("harness.cli.demo", "demo"),
    "doctor": ("harness.cli.doctor", "doctor"),
    "explain-ecmp": ("paper.explain_ecmp", "command"),
    "explain-gff": ("paper.explain_gff", "command"),
    "explain-sa": ("paper.explain_sa", "command"),
    "export": ("harness.cli.export", "export"),
    "figure": (__name__, "figure"),
    "flows-per-host": ("paper.flows_per_host", "command"),
    "grade": ("harness.cli.grade", "grade"),
    "hifi": ("hifi.cli", "hifi"),
    "hull": ("packets.cli", "hull"),
    "kernel": ("harness.cli.kernel", "kernel"),
    "report": ("harness.cli.report", "report"),
    "run": ("harness.cli.run", "run"),
    "scheduler": ("classroom.cli", "scheduler"),
    "simulate": ("simulator.cli", "simulate"),
    "sweep": ("harness.cli.sweep", "sweep"),
    "table": (__name__, "table"),
    "topology": ("harness.cli.topology", "topology"),
    "watch": ("watch.cli", "watch"),
}
"""Where each command lives; imported only when it is asked for, because the simulator loads numba."""
_OF_ROOT = {"clean", "cluster", "demo", "doctor", "export", "grade", "report", "run", "sweep"}
"""What root does as root as far as it must; everything else it does as the user behind sudo."""
_FIGURES = ("3", "9", "10", "11")
_TABLES = ("1", "2", "3", "4", "5", "6")


def _emulated(args: list[str]) -> bool:
    """Whether it is Table 2 in emulation, which root makes as root; the simulator's is a command of its own."""
    return args[:2] == ["table", "2"] and "--simulated" not in args


def _imported(name: str, module: str, attribute: str) -> click.Command:
    """The command, by the name that it is asked for: its module may call it otherwise."""
    command: click.Command = getattr(import_module(module), attribute)
    command.name = name
    return command


class _Commands(click.Group):
    """A group whose commands are in modules of their own."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return _imported(name, *_COMMANDS[name]) if name in _COMMANDS else None

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _OF_ROOT and not _emulated(args):
            leave_root_for_good()
        return super().resolve_command(context, args)


class _Numbered(click.Group):
    """``figure`` and ``table``: one command per number of the paper."""

    def __init__(self, numbers: tuple[str, ...], **settings: Any) -> None:
        super().__init__(**settings)
        self._numbers = numbers

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._numbers)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return _imported(name, f"paper.{self.name}_{name}", "command") if name in self._numbers else None

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if _emulated(["table", *args]):
            return "2", import_module("harness.cli.table_2").table_2, args[1:]
        return super().resolve_command(context, args)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
def cli() -> None:
    """Reproduce Figure 9 of Hedera (NSDI '10) on this machine: real TCP, real switches, a real controller.

    Start with `hedera doctor`, then `./test.sh 1 10` (which is `hedera sweep 1 10`).
    """


figure = _Numbered(_FIGURES, name="figure", help="Reproduce a figure of the paper.")
table = _Numbered(_TABLES, name="table", help="Reproduce a table of the paper.")


def run_cli() -> int:
    """Carry out the command line; returns the exit status, with one sentence on standard error where it failed."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as mistake:
        mistake.message = printable(mistake.message or "")  # type: ignore[misc,unused-ignore]
        mistake.show()
        return mistake.exit_code
    except HarnessError as error:
        click.echo(f"hedera: {printable(str(error))}", err=True)
        return error.exit_status
    except OSError as error:
        named = f": {printable(str(error.filename))}" if error.filename else ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            click.echo(f"hedera: no space left on the disk{named}", err=True)
        else:
            click.echo(f"hedera: {error.strerror or error}{named}", err=True)
        return 1
    except (KeyboardInterrupt, click.Abort):
        click.echo("hedera: stopped; everything is torn down, finished results are kept", err=True)
        return 130
    return 0
