"""The handout, and what isolated processes get."""

import shutil

import pytest

from classroom import grading
from classroom.packing import pack_handout
from classroom.sandbox import prepared, require_closed
from classroom.submission import Unfit
from tests.classroom.direct import Direct


@pytest.fixture(scope="session")
def packed_handout(tmp_path_factory):
    place = tmp_path_factory.mktemp("pack") / "handout"
    pack_handout(place)
    return place


@pytest.fixture(scope="module")
def handout(packed_handout, tmp_path_factory):
    """A copy, in which tests may write."""
    return shutil.copytree(packed_handout, tmp_path_factory.mktemp("copy") / "handout")


@pytest.fixture(scope="module")
def place():
    try:
        with prepared() as place:
            require_closed(place)
            yield place
    except Unfit as error:
        pytest.skip(str(error))


@pytest.fixture
def direct(monkeypatch):
    """Submissions run in the tests' own process."""
    monkeypatch.setattr(grading, "Submission", lambda start, code, *_: Direct(code))
