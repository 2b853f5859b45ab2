"""The `hedera` command: all commands by name, none imported before it is asked for.

Errors become one sentence and an exit status, never a traceback.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from harness import root
from harness.cli import help_stubs
from record import shell_completion  # noqa: F401, which tells click how Bash asks
from record.errors import run_for_status, tell_warnings
from virtual import cache

_COMMANDS = {
    "assignment": ("classroom.cli", "assignment", "Make a class's handout, and the graders' files."),
    "claims": ("studies.claims", "command", "Check the documents' claims against the committed data."),
    "clean": ("harness.cli.machine", "clean", "Remove what killed runs of this project left on the machine."),
    "collective": ("studies.paper.collective", "command", "Simulate collectives, and export them to other simulators."),
    "compare": ("harness.cli.report", "compare", "Compare sweeps: how shares of the control change."),
    "completion-script": (
        "record.shell_completion", "completion_script", "Have your shell complete commands and names.",
    ),
    "completion": (
        "studies.paper.completion", "completion", "Simulate FCT slowdown against load, by flow size.",
    ),
    "completion-growth": ("studies.paper.completion", "completion_growth", "Simulate FCT slowdown by network size."),
    "demo": ("harness.cli.run", "demo", "A first look: the control, ECMP and Hedera."),
    "doctor": ("studies.requirements", "doctor", "Check what this machine can do, and what is missing."),
    "explain-ecmp": ("studies.paper.explain", "explain_ecmp", "Find the routing that fits the published ECMP bars."),
    "explain-gff": ("studies.paper.explain", "explain_gff", "Find the Global First Fit of the paper's simulator."),
    "explain-sa": ("studies.paper.explain", "explain_sa", "Measure what one core per destination host gains."),
    "export": ("harness.cli.report", "export", "Write a sweep as CSV, by run and by flow."),
    "figure": (__name__, "figure", "Reproduce a figure of the paper."),
    "flows-per-host": (
        "studies.paper.flows_per_host", "flows_per_host", "Simulate Hedera with several flows per host.",
    ),
    "grade": ("classroom.cli", "grade", "Grade a class's submissions, isolated from the machine."),
    "guest": ("harness.cli.machine", "guest", "Run any command, such as mn, in virtual time."),
    "hifi": ("studies.hifi.experiments", "hifi", "Mininet-HiFi's experiments: DCTCP and buffer sizes."),
    "hull": ("studies.hull.report", "hull", "HULL by packets, on ns-3 and on Linux: phantom queues, DCTCP, pacing."),
    "kernel": ("harness.cli.machine", "kernel", "Build the kernel for virtual time, or show it."),
    "patterns": (__name__, "patterns", "List the traffic patterns."),
    "report": ("harness.cli.report", "report", "Draw a sweep's figures and page again from its runs."),
    "run": ("harness.cli.run", "run", "Make one run: one pattern, one scheme."),
    "scheduler": ("classroom.cli", "scheduler", "Write a scheduler of your own: a template, and a check."),
    "schemes": (__name__, "schemes", "List the schemes."),
    "simulate": ("simulator.cli", "simulate", "Run the paper's flow-level simulator once."),
    "sweep": ("harness.cli.run", "sweep", "Run patterns x schemes x trials; write table and figures."),
    "table": (__name__, "table", "Reproduce a table of the paper."),
}  # fmt: skip


class _Commands(click.Group):
    """A group whose commands are in modules of their own, each imported when it is used: the simulator loads numba.
    ``modules``: by command its module, its name there, and its summary."""

    def __init__(self, modules: Mapping[str, tuple[str, str, str]] = _COMMANDS, **settings: Any) -> None:
        super().__init__(**settings)
        self._modules = modules

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command under the name that the user typed; its module may use another one."""
        if name not in self._modules:
            return None
        module, attribute, _ = self._modules[name]
        command: click.Command = getattr(import_module(module), attribute)
        command.name = name
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in self._modules.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="hedera-harness", message="hedera-harness %(version)s")
def cli() -> None:
    """Reproduce Figure 9 of Hedera (NSDI '10) on this machine: real TCP, real switches, a real controller.

    Start with `hedera demo` or `hedera doctor`, then `./test.sh 1 10` (which is `hedera sweep 1 10`).

    Exit status: 0 done; 1 a run is invalid, or something failed; 2 wrong use; 3 this machine cannot do it; 130
    stopped by Ctrl-C.
    """


def _make_numbered_group(kind: str, numbers: Mapping[str, str]) -> click.Group:
    """One command per number of the paper, and those of the replication report."""
    modules = {
        n: (f"studies.paper.{kind}s", f"{kind}_{n}", about) if n.isdigit() else (f"studies.{n}", "command", about)
        for n, about in numbers.items()
    }
    return _Commands(modules, name=kind, help=f"Reproduce a {kind} of the paper.")


figure = _make_numbered_group("figure", {
    "3": "What hash collisions cost, against flows per host.",
    "9": "All published traffic matrices, simulated.",
    "10": "The suite of patterns on 8,192 hosts, simulated.",
    "11": "Bisection bandwidth over time on 1,024 hosts, simulated.",
    "replication": "The replication report's four pictures.",
})  # fmt: skip
table = _make_numbered_group("table", {
    "1": "How both placements' time and space grow.",
    "2": "The shuffle, emulated or simulated.",
    "3": "Iterations of Simulated Annealing against the size of the network.",
    "4": "The time of demand estimation.",
    "5": "The time of Simulated Annealing.",
    "6": "How long a round of the control loop takes.",
})  # fmt: skip


@click.command()
def schemes() -> None:
    """List the schemes: how flows get their paths."""
    from hedera.hashes import FIELDS, HASHES
    from hedera.schemes import FLOWLETS, HASHED, SCHEMES, SPELLING, SUBFLOWS

    left_out = " (`--schemes all` leaves it out)"
    meanings = {name: scheme.summary + (left_out if scheme.hidden else "") for name, scheme in SCHEMES.items()}
    meanings[FLOWLETS] = "a flow's packets by another path after a gap of so many microseconds (in virtual time)"
    meanings[SUBFLOWS] = "the same with N sub-flows for each flow of a collective"
    meanings[HASHED] = "the same with first paths by another hash (`--hash` gives one to all schemes that hash)"
    meanings[SPELLING] = "a scheduler of your own (docs/own-scheduler.md)"
    _tell(meanings)
    click.echo("\nFunctions of a hash, and what they can hash (all fields unless it is said):\n")
    fields = {
        name: "" if len(function.fields) == len(FIELDS) else f" ({', '.join(function.fields)})"
        for name, function in HASHES.items()
    }
    _tell({name: function.summary + fields[name] for name, function in HASHES.items()})
    click.echo("\nFields:\n")
    _tell(FIELDS)


@click.command()
def patterns() -> None:
    """List the traffic patterns: who sends to whom. docs/workloads.md describes each."""
    from traffic.patterns import PUBLISHED, REPLICATION
    from traffic.workload import SPELLINGS

    _tell(SPELLINGS)
    click.echo(f"\nPublished matrices, as published:NAME: {' '.join(PUBLISHED)}")
    click.echo(f"\nThe replication report's workloads, as replication:NAME: {' '.join(REPLICATION)}")


def _tell(meanings: Mapping[str, str]) -> None:
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl(list(meanings.items()), col_max=34)
    click.echo(formatter.getvalue(), nl=False)


# --- the process ------------------------------------------------------------------------------------------------------

# Tearing down takes a second or two. Neither a key pressed twice nor a terminal that sends two signals as it closes may
# cut it short.
PATIENCE_S = 5.0
"""A second Ctrl-C within this time is ignored."""
_last_s = float("-inf")
# While the hook for what Python swallows is at work: what is raised there is lost.
_hearing = False
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _interrupt(number: int, frame: object) -> None:
    """At first, have everything torn down. Later, end the step that hangs, so that the rest is torn down."""
    global _last_s
    if _hearing:
        return
    now = time.monotonic()
    if now - _last_s < PATIENCE_S:
        wait_s = PATIENCE_S - (now - _last_s)
        with contextlib.suppress(OSError):
            os.write(2, f"hedera: tearing down; if it hangs, Ctrl-C ends that in {wait_s:.0f} s\n".encode())
        return
    _last_s = now
    raise KeyboardInterrupt


def _hear_swallowed(unraisable: sys.UnraisableHookArgs) -> None:
    """What is raised in a finalizer, or in a callback of a weak reference or of the garbage collector, is printed, and
    Python goes on. An interrupt would be lost so; it comes once more."""
    global _last_s, _hearing
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    # Later, as it would be swallowed here, too. `threading` takes locks, which what was interrupted may hold.
    _hearing = True
    _last_s = float("-inf")
    try:
        _thread.start_new_thread(_interrupt_again, ())
    finally:  # where no thread can be started, the next signal has to be heard
        _hearing = False


def _interrupt_again() -> None:
    # On a busy machine the other thread may wait for a processor within the hook for longer than any fixed time. And a
    # signal that comes just before it sleeps does not wake it, so it is sent until it is heard.
    time.sleep(0.01)
    while _last_s == float("-inf"):
        if not _hearing:
            number = next((number for number in _SIGNALS if signal.getsignal(number) is _interrupt), None)
            if number is None:
                return
            os.kill(os.getpid(), number)
        time.sleep(0.05)


def main() -> None:
    """Entry point of the `hedera` command. Exit status: 0 done, 1 invalid or failed, 2 wrong use, 3 unfit machine."""
    # SIGHUP (the terminal closes) and SIGTERM tear the network down as Ctrl-C does; what nohup ignores stays ignored.
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _hear_swallowed
    tell_warnings()
    cache.settle()
    help_stubs.install_stubs_for_help(_COMMANDS)
    try:
        status = run_for_status(lambda: cli.main(standalone_mode=False))
    finally:
        root.end()
    sys.exit(status)
