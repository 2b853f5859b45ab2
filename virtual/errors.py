"""What can go wrong here, each with one sentence for the user."""

from __future__ import annotations


class Unavailable(RuntimeError):
    """This machine has no virtual time as it is; the message says why, and what to install or change."""


class GuestFailed(RuntimeError):
    """A guest ended without a result; the message says how."""
