import dataclasses

import pytest

from virtual import cache, kernel, source
from virtual.errors import Unavailable


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(source.NAMED, raising=False)
    folder = cache.folder("kernels")
    (folder / "linux").touch()
    made = kernel.Kernel(folder / "linux", "6.12.117", "ptrace", "linux-source-6.12", "0" * 16, "gcc 12", 300.0)
    kernel.remember(made, folder)
    return folder


def record_of(kernels):
    [found] = kernels.glob("*.json")
    return found


def test_a_kernel_is_built_once(kernels):
    found = kernel.built()
    assert found is not None
    assert (found.linux, found.release, found.mode) == (kernels / "linux", "6.12.117", "ptrace")


def test_a_kernel_of_before_is_none(kernels, monkeypatch):
    monkeypatch.setenv(source.NAMED, "/usr/src/linux")
    assert kernel.built() is None, "another source is asked for"
    monkeypatch.delenv(source.NAMED)
    with monkeypatch.context() as other:
        other.setattr(kernel, "ours", lambda: "otherwise")
        assert kernel.built() is None, "made otherwise than we make them now"


def test_two_clones_that_make_it_otherwise_have_a_kernel_each(kernels, monkeypatch):
    mine = kernel.built()
    with monkeypatch.context() as other:
        other.setattr(kernel, "ours", lambda: "otherwise")
        theirs = dataclasses.replace(mine, release="7.2.13")
        kernel.remember(theirs, kernels)
        assert kernel.built() == theirs
    assert kernel.built() == mine


@pytest.mark.parametrize("what", ["CHANGES", "FLAGS"])
def test_what_we_do_to_a_source_is_part_of_a_kernel_s_name(monkeypatch, what):
    before = kernel.ours()
    monkeypatch.setattr(kernel, what, "other")
    kernel.ours.cache_clear()
    try:
        assert kernel.ours() != before
    finally:
        kernel.ours.cache_clear()


@pytest.mark.parametrize("content", ["", "[]", "{}", "1", '{"linux": 1}'])
def test_a_record_that_is_none(kernels, content):
    record_of(kernels).write_text(content)
    assert kernel.built() is None


def test_a_record_of_a_kernel_that_is_gone(kernels):
    (kernels / "linux").unlink()
    assert kernel.built() is None


def test_a_slow_kernel_says_so(kernels):
    made = kernel.built()
    assert "hedera kernel build --apt-suite sid" in made.slow
    kernel.remember(dataclasses.replace(made, mode="seccomp"), kernels)
    assert kernel.built().slow is None


def test_a_source_that_we_do_not_know_how_to_change(tmp_path):
    for name, *_ in kernel.CHANGES:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("int main() {}")
    with pytest.raises(Unavailable, match="our changes do not fit"):
        kernel.change(tmp_path)


def test_progress_is_told_every_tenth():
    told = []
    counted = kernel.Counted(lambda line: None, told.append)
    for _ in range(kernel.OBJECTS):
        counted("  CC      kernel/fork.o\n")
    assert told[0] == "compiling, 10 %"
    assert told[-1] == "compiling, 90 %"
    assert len(told) == 9


def test_no_compiler_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"apt-get install gcc libc6-dev$"):
        kernel.tools(lambda sentence: None)


def test_where_one_source_gives_no_kernel_the_next_is_tried(kernels, monkeypatch):
    def lay(folder, programs):
        raise Unavailable("it is broken")

    monkeypatch.setattr(source, "candidates", lambda suite, say: [source.Source("a", lay), source.Source("b", lay)])
    monkeypatch.setattr(kernel, "tools", lambda say: ("gcc 12", {}))
    told = []
    with pytest.raises(Unavailable, match=r"a: it is broken; b: it is broken"):
        kernel.build(told.append)
    assert "a: it is broken" in told


def test_what_an_interrupted_build_left_is_removed_and_kernels_are_not(kernels, monkeypatch):
    left = kernels / "building.killed" / "tree"
    left.mkdir(parents=True)
    (kernels / ("1" * 16)).mkdir()
    monkeypatch.setattr(source, "candidates", lambda suite, say: [])
    with pytest.raises(Unavailable):
        kernel.build(lambda sentence: None)
    assert not left.parent.exists()
    assert (kernels / ("1" * 16)).exists()
    assert kernel.built() is not None
