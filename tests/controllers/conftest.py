import pytest

from tests.topos.plan import SAME
from traffic.user_files import job_files


@pytest.fixture(autouse=True, scope="module")
def plan():
    """The fat-tree of 16 hosts as a topology of one's own: entries at each switch of a path but the last."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(job_files, "plan", SAME.rows())
        yield
