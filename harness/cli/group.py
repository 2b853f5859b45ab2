"""All commands by name, and what becomes of errors: words and an exit status, never a traceback."""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from files.rights import leave_root_for_good
from harness.cli.old_names import renamed
from harness.errors import HarnessError
from hedera.text import printable

_COMMANDS = {
    "assignment": ("classroom.assignment", "assignment", "Make the handout of a class, and the graders' half of it."),
    "claims": ("paper.claims.command", "command", "Hold what the documents claim against the committed data."),
    "clean": ("harness.cli.clean", "clean", "Remove what killed runs of this project left on the machine."),
    "cluster": ("harness.cli.cluster", "cluster", "Many machines for one sweep: keys, a scheduler, workers."),
    "collective": ("paper.collective", "command", "Collectives as graphs of flows, and for other simulators."),
    "compare": ("harness.cli.compare", "compare", "Which shares of the control change between sweeps."),
    "completion": ("paper.completion", "command", "Simulate load against slowdown, by size of flow."),
    "demo": ("harness.cli.demo", "demo", "A first look: one pattern under the control, ECMP and Hedera."),
    "doctor": ("harness.cli.doctor", "doctor", "What this machine can do, and what is missing."),
    "explain-ecmp": ("paper.explain_ecmp", "command", "Which static routing the published ECMP bars look like."),
    "explain-gff": ("paper.explain_gff", "command", "What the paper's simulator may have done as Global First Fit."),
    "explain-sa": ("paper.explain_sa", "command", "What a core per destination host gains (section 4.4)."),
    "export": ("harness.cli.export", "export", "Write a sweep as CSV, by run and by flow, and a notebook."),
    "figure": (__name__, "figure", "Reproduce a figure of the paper."),
    "flows-per-host": ("paper.flows_per_host", "command", "What Hedera gains with several flows per host."),
    "grade": ("harness.cli.grade", "grade", "Grade a class's submissions, closed off from the machine."),
    "hifi": ("hifi.cli", "hifi", "Mininet-HiFi's other experiments: DCTCP's queue, and buffer sizes."),
    "hull": ("packets.cli", "hull", "HULL on packets: phantom queues, DCTCP and pacing."),
    "kernel": ("harness.cli.kernel", "kernel", "The Linux of virtual time: build it, or say what is there."),
    "patterns": ("harness.cli.names", "patterns", "List the traffic patterns."),
    "report": ("harness.cli.report", "report", "Draw figures and the page again from the runs of a sweep."),
    "run": ("harness.cli.run", "run", "One run: one pattern, one scheme."),
    "scheduler": ("classroom.cli", "scheduler", "A scheduler of your own: a file to start from, and its check."),
    "schemes": ("harness.cli.names", "schemes", "List the schemes."),
    "simulate": ("simulator.cli", "simulate", "Run the paper's flow-level simulator once."),
    "sweep": ("harness.cli.sweep", "sweep", "Patterns x schemes x trials, their table and figures."),
    "table": (__name__, "table", "Reproduce a table of the paper."),
    "topology": ("harness.cli.topology", "topology", "Draw the fat-tree with its names, or the link loads of a run."),
    "watch": ("watch.cli", "watch", "Serve a page on 127.0.0.1 that follows a sweep."),
}  # fmt: skip
"""Where each command lives, and what it does; imported only when it is asked for, because the simulator loads
numba."""
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
        return _imported(name, *_COMMANDS[name][:2]) if name in _COMMANDS else None

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """By name and summary alone: Click would import every command."""
        own = [
            CompletionItem(name, help=summary)
            for name, (_, _, summary) in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return own + click.Command.shell_complete(self, context, incomplete)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in _COMMANDS.items()])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args = renamed(args)
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
@click.version_option(package_name="hedera-harness", message="hedera-harness %(version)s")
def cli() -> None:
    """Reproduce Figure 9 of Hedera (NSDI '10) on this machine: real TCP, real switches, a real controller.

    Start with `hedera demo` or `hedera doctor`, then `./test.sh 1 10` (which is `hedera sweep 1 10`).

    Exit status: 0 done; 1 a run is invalid, or something failed; 2 wrong use; 3 this machine cannot do it; 130
    stopped by Ctrl-C. Completion in bash: eval "$(_HEDERA_COMPLETE=bash_source hedera)"
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
