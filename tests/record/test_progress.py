"""A bar that fills in a notebook, and none elsewhere."""

import sys
from types import SimpleNamespace

import pytest

from harness import library
from record.progress import is_in_notebook, notebook_bar


def test_nothing_is_a_notebook_here():
    assert not is_in_notebook()
    with notebook_bar("x", 1) as fill:
        assert fill is None


@pytest.fixture
def shown(monkeypatch):
    """What a kernel's display was given, in turn."""
    given = []
    handle = SimpleNamespace(update=given.append)

    def display(what, display_id):
        given.append(what)
        return handle

    shell = SimpleNamespace(kernel=True)
    parts = {"HTML": str, "display": display}
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(**parts))
    return given


def test_a_bar_fills_in_a_notebook(shown):
    library.simulate("ecmp", "stride:4", seconds=30)
    values = [float(text.split('value="')[1].split('"')[0]) for text in shown[:-1]]
    assert values[0] == 0
    assert values == sorted(values)
    assert len(values) > 2
    assert shown[-1] == "", "it goes when it is full"
