"""Submissions that mean harm, each as a student could hand it in, graded by root and by an ordinary user."""

import os

import pytest

from tests.hostile.arena import Arena

MODES = ["root", "user"] if os.geteuid() == 0 else ["user"]


@pytest.fixture(scope="module", params=MODES)
def arena(request, tmp_path_factory):
    place = tmp_path_factory.mktemp(request.param)
    for path in (place, *place.parents):
        if path.stat().st_mode & 0o005 != 0o005:
            path.chmod(path.stat().st_mode | 0o005)
    made = Arena(request.param, place)
    if made.unfit:
        pytest.skip(made.unfit)
    yield made
    made.end()


def test_rewriting_the_code_that_answers(arena):
    """It rewrites the code that answers for it, so that whoever comes next has no limits."""
    arena.attempt(
        {
            "a module": "open('/code/classroom/answering.py', 'a').write('# mine')",
            "its compiled form": "open(__import__('glob').glob('/code/classroom/__pycache__/answering*')[0], 'ab')",
            "a new module": "open('/code/numpy.py', 'w')",
            "its rights": "os.chmod('/code/classroom/answering.py', 0o777)",
            "removed": "os.unlink('/code/classroom/answering.py')",
            "renamed": "os.rename('/code/classroom', '/code/other')",
            "Python itself": "open(os.path.join(sys.prefix, 'bin', 'mine'), 'w')",
            "the environment": "open(os.__file__, 'a')",
        }
    )
