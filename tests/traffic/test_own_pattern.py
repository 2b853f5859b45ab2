"""Patterns of the user's own: what they give, and what is refused."""

import os
from pathlib import Path

import pytest

from topos.fattree import FatTree
from traffic import flowfile
from traffic.textfile import given
from traffic.workload import read_files, workload

ROOT = Path(__file__).parents[2]
RING = ROOT / "docs/examples/ring.py"


def written(folder, text):
    path = folder / "mine.py"
    path.write_text(text)
    return path


def test_lasting_flows_are_a_matrix_and_the_seed_fixes_them():
    first, again, other = (workload(f"{RING}:ring", FatTree(4), seed, seconds=5.0) for seed in (1, 1, 2))
    assert sorted(first.matrix.src.tolist()) == sorted(first.matrix.dst.tolist()) == list(range(16))
    assert (first.matrix.src == again.matrix.src).all()
    assert (first.matrix.src != other.matrix.src).any()


def test_flows_with_times_come_in_order_and_are_of_the_size_that_was_given():
    work = workload(f"stride:4 + {RING}:mice", FatTree(4), 1, seconds=2.0)
    sized = [flow for flow in work if flow.size_bytes is not None]
    assert 50 < len(sized) <= 200
    assert {flow.size_bytes for flow in sized} == {10_000}
    assert sorted(flow.start_s for flow in sized) == [flow.start_s for flow in sized]
    assert all(0 < flow.start_s < 2 for flow in sized)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("def f(tree, rng): return [(0, 0)]", "flow 0: .* from host 0 to itself"),
        ("def f(tree, rng): return [(0, 16)]", "there is no host '16'"),
        ("def f(tree, rng): return [(0.5, 1)]", "which are no host numbers"),
        ("def f(tree, rng): return [(0, 1, 2)]", r"flow 0 is no \(src, dst\)"),
        ("def f(tree, rng): return []", "holds no flow"),
        ("def f(tree): return [(0, 1)]", "TypeError: f.. takes 1 positional argument"),
        ("def g(tree, rng): return [(0, 1)]", "there is no function f in"),
        ("def f(tree, rng): 1 / 0", "ZeroDivisionError: division by zero"),
        ("import os\ndef f(tree, rng):\n yield 0, 1\n os._exit(0)", "os._exit"),
        ("class B(BaseException): pass\ndef f(tree, rng): raise B('x')", "B: x"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(tmp_path, body, sentence):
    path = written(tmp_path, body)
    with pytest.raises(ValueError, match=sentence) as caught:
        workload(f"{path}:f", FatTree(4), seconds=5.0)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_and_numbers_of_flows_that_are_not_its_to_change(tmp_path):
    with pytest.raises(ValueError, match="is not there"):
        workload(f"{tmp_path}/nowhere.py:f", FatTree(4), seconds=5.0)
    with pytest.raises(ValueError, match="decides itself how many"):
        workload(f"{RING}:ring", FatTree(4), seconds=5.0, keep=0.5)


def test_endless_rows_have_an_end(tmp_path, monkeypatch):
    path = written(tmp_path, "import itertools\nf = lambda t, r: itertools.repeat((0, 1))\n")
    monkeypatch.setattr(flowfile, "MAX_ROWS", 1000)
    with pytest.raises(ValueError, match="more than 1,000 flows"):
        workload(f"{path}:f", FatTree(4), seconds=5.0)


def test_a_job_carries_the_rows(tmp_path, monkeypatch):
    spec = f"stride:4 + {written(tmp_path, 'def f(tree, rng): return [(0, 1, 0.5, 7)]')}:f"
    taken = read_files(spec, FatTree(4), 1)
    (tmp_path / "mine.py").unlink()
    for name, content in taken.items():
        monkeypatch.setitem(given, name, content)
    (flow,) = [flow for flow in workload(spec, FatTree(4), 1, seconds=5.0) if flow.size_bytes is not None]
    assert (flow.src, flow.dst, flow.start_s, flow.size_bytes) == (0, 1, 0.5, 7)


def test_it_is_asked_again_when_the_file_changes(tmp_path):
    path = written(tmp_path, "def f(tree, rng): return [(0, 1)]")
    assert workload(f"{path}:f", FatTree(4), seconds=5.0).matrix.dst.tolist() == [1]
    path.write_text("def f(tree, rng): return [(0, 2)]")
    os.utime(path, ns=(1, 1))
    assert workload(f"{path}:f", FatTree(4), seconds=5.0).matrix.dst.tolist() == [2]


def test_the_page_shows_what_the_example_says():
    page = (ROOT / "docs/own-traffic.md").read_text()
    shown = page.split("```python\n")[1].split("```")[0]
    assert shown in RING.read_text()
