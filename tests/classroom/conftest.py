"""The handout."""

import pytest

from classroom.packing import pack_handout


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    place = tmp_path_factory.mktemp("pack") / "handout"
    pack_handout(place)
    return place
