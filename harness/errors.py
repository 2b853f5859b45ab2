"""One error type for each thing that can go wrong for a user, with the exit status that says so."""

from __future__ import annotations


class HarnessError(Exception):
    """Something to tell the user in one sentence; ``exit_status`` is the command's."""

    exit_status = 1


class RunFailed(HarnessError):
    """The run could not be carried through: it has no result, or an invalid one."""

    exit_status = 1


class WorkerFailed(RunFailed):
    """A worker of a cluster failed, or what it sent is not the run that was asked of it: others make that run."""


class UserMistake(HarnessError):
    """The command line or an input file asks for something that does not exist."""

    exit_status = 2


class UnfitMachine(HarnessError):
    """The machine cannot do it as it is; the message says what to install or change."""

    exit_status = 3
