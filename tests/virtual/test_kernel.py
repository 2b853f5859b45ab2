import json

import pytest

from virtual import cache, kernel, source
from virtual.errors import Unavailable


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(source.NAMED, raising=False)
    folder = cache.folder("kernels")
    (folder / "linux").touch()
    made = kernel.Kernel(
        folder / "linux", "6.12.117", "ptrace", "linux-source-6.12", "0" * 16, "gcc 12", 300.0
    )
    kernel.remember(made, folder)
    return folder


def test_a_kernel_is_built_once(kernels):
    found = kernel.built()
    assert found is not None
    assert (found.linux, found.release, found.mode) == (kernels / "linux", "6.12.117", "ptrace")


def test_a_kernel_of_before_is_none(kernels, monkeypatch):
    monkeypatch.setenv(source.NAMED, "/usr/src/linux")
    assert kernel.built() is None, "another source is asked for"
    monkeypatch.delenv(source.NAMED)
    monkeypatch.setattr(kernel, "CHANGES", (("a", "b", "c"),))
    kernel.ours.cache_clear()
    assert kernel.built() is None, "made otherwise than we make them now"
    monkeypatch.undo()
    kernel.ours.cache_clear()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"asked": {}}'])
def test_a_record_that_is_none(kernels, content):
    (kernels / "current.json").write_text(content)
    assert kernel.built() is None


def test_a_record_of_a_kernel_that_is_gone(kernels):
    (kernels / "linux").unlink()
    assert kernel.built() is None


def test_a_slow_kernel_says_so(kernels):
    stored = json.loads((kernels / "current.json").read_text())
    assert "hedera kernel build --suite sid" in kernel.built().slow
    (kernels / "current.json").write_text(json.dumps(stored | {"mode": "seccomp"}))
    assert kernel.built().slow is None


def test_a_source_that_we_do_not_know_how_to_change(tmp_path):
    for name, *_ in kernel.CHANGES:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("int main() {}")
    with pytest.raises(Unavailable, match="not what we know how to change"):
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
    with pytest.raises(Unavailable, match="apt-get install gcc libc6-dev make flex bison bc"):
        kernel.tools(lambda sentence: None)


def test_where_one_source_gives_no_kernel_the_next_is_tried(kernels, monkeypatch):
    def lay(folder):
        raise Unavailable("it is broken")

    monkeypatch.setattr(
        source, "candidates", lambda suite, say: [source.Source("a", lay), source.Source("b", lay)]
    )
    monkeypatch.setattr(kernel, "tools", lambda say: ("gcc 12", {}))
    told = []
    with pytest.raises(Unavailable, match=r"a: it is broken; b: it is broken"):
        kernel.build(told.append)
    assert "a: it is broken" in told
