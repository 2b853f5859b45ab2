"""What a guest takes of a machine; `tests/harness/jobs/test_guests.py` has what a run asks for."""

import pytest

from record.errors import UnfitMachine
from virtual import limits


def test_programs_that_are_missing_are_named_with_their_packages(monkeypatch):
    limits.require_programs()
    monkeypatch.setattr(limits, "PROGRAMS", ("bash", "no-such-program"))
    with pytest.raises(UnfitMachine, match=r"^no-such-program missing: apt-get install .*iproute2"):
        limits.require_programs()
