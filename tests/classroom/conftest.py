"""The handout, and what isolated processes get."""

import pytest

from classroom.packing import pack_handout
from classroom.sandbox import prepared, require_closed
from classroom.submission import Unfit


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    place = tmp_path_factory.mktemp("pack") / "handout"
    pack_handout(place)
    return place


@pytest.fixture(scope="module")
def place():
    try:
        with prepared() as place:
            require_closed(place)
            yield place
    except Unfit as error:
        pytest.skip(str(error))
