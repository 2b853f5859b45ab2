"""The errors of this package, each with one sentence for the user."""

from __future__ import annotations


class Unavailable(RuntimeError):
    """Virtual time does not work on this machine yet; the message says why, and what to install or change."""


class GuestFailed(RuntimeError):
    """A guest ended without a result; the message says how."""
