"""The engine is kept by all that went into it. Here a Makefile of the test's own makes it, in no time."""

import fcntl
import os
import shutil
import subprocess
import sys

import pytest

from packets import build

MAKEFILE = """
engine: $(OUT)/engine
$(OUT)/engine: main.cc part.h
\t@mkdir -p $(OUT)
\t@cat main.cc part.h > $@
\t@echo "$(CXX) $(CXXFLAGS) $(LDFLAGS) $(STD)" >> $@
\t@[ ! -e during.sh ] || sh during.sh
"""


def forget():
    for kept in (build._stamp, build._sources, build.fingerprint, build.version):
        kept.cache_clear()
    while build._held:
        os.close(build._held.popitem()[1])


@pytest.fixture
def sources(tmp_path, monkeypatch):
    place = tmp_path / "engine"
    (place / "tests").mkdir(parents=True)
    (place / "Makefile").write_text(MAKEFILE)
    (place / "main.cc").write_text("main\n")
    (place / "part.h").write_text("part\n")
    (place / "tests" / "part.h").write_text("part of the tests\n")
    monkeypatch.setattr(build, "SOURCES", place)
    monkeypatch.setattr(build, "version", build.cache(lambda: "3.37"))
    monkeypatch.setattr(build, "private_folder", lambda kind: kept_in(tmp_path))
    forget()
    yield place
    forget()


def kept_in(tmp_path):
    (tmp_path / "kept").mkdir(mode=0o700, exist_ok=True)
    return tmp_path / "kept"


def test_an_engine_is_compiled_once_and_says_so(sources, capfd):
    program = build.engine()
    assert program.read_text() == "main\npart\ng++   c++17\n"
    assert "compiling the packet engine, once" in capfd.readouterr().err
    forget()
    assert build.engine() == program
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["main.cc", "part.h", "tests/part.h", "Makefile"])
def test_every_source_counts(sources, name):
    program = build.engine()
    (sources / name).write_text((sources / name).read_text() + "\n# more\n")
    assert build.engine() == program, "a process has one engine"
    forget()
    assert build.engine() != program


def test_the_compiler_its_machine_and_the_libraries_count(sources, tmp_path, monkeypatch):
    found = [build.engine().parent.name]

    def other():
        forget()
        found.append(build.engine().parent.name)

    (tmp_path / "g++").write_text("#!/bin/sh\necho another\n")
    (tmp_path / "g++").chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        other()
    with monkeypatch.context() as patch:
        patch.setattr(build.platform, "machine", lambda: "another")
        other()
    with monkeypatch.context() as patch:
        patch.setattr(build, "LIBRARIES", tmp_path)
        other()
        (tmp_path / "libns3.37-core.so").write_text("1")
        other()
        (tmp_path / "libns3.37-core.so").write_text("22")
        other()
        (tmp_path / "libtcmalloc_minimal.so").write_text("")
        other()
    assert len(set(found)) == 7


def test_settings_of_the_environment_do_not_count(sources, monkeypatch):
    program = build.engine()
    forget()
    shutil.rmtree(program.parent)
    for name in ("CXX", "CXXFLAGS", "LDFLAGS", "STD", "OUT", "MAKEFLAGS", "CPATH", "MALLOC"):
        monkeypatch.setenv(name, "other")
    assert build.engine() == program
    assert program.read_text() == "main\npart\ng++   c++17\n"


def test_what_changes_while_it_is_compiled_is_not_taken_for_what_was(sources, tmp_path):
    (sources / "during.sh").write_text("echo changed > part.h")
    with pytest.raises(RuntimeError, match="changed since this process began"):
        build.engine()
    assert not list((tmp_path / "kept").rglob("engine"))


def test_what_does_not_compile_or_cannot_be_written_is_one_sentence(sources, tmp_path):
    (sources / "during.sh").write_text("exit 1")
    with pytest.raises(RuntimeError, match=r"does not compile with ns-3 3\.37; the log: .*compile\.log"):
        build.engine()
    forget()
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / build._stamp()).touch()
    with pytest.raises(RuntimeError, match=r"cannot be compiled into .*: File exists"):
        build.engine()


def test_old_engines_go_but_not_those_in_use_nor_what_is_not_ours(sources, tmp_path):
    kept = kept_in(tmp_path)
    names = [f"3.37-{n:016x}" for n in range(8)]
    for n, name in enumerate([*names, "3.37-notours", "else"]):
        (kept / name).mkdir()
        (kept / name / "engine").touch()
        os.utime(kept / name, (n, n))
    with (kept / names[1] / "used").open("a") as used:
        os.utime(kept / names[1], (1, 1))
        fcntl.flock(used, fcntl.LOCK_SH)
        new = build.engine().parent.name
    left = {path.name for path in kept.iterdir()}
    assert left == {names[1], *names[5:], new, "3.37-notours", "else"}


def test_an_engine_stays_while_a_process_that_asked_for_it_lives(sources, tmp_path):
    folder = build.engine().parent
    os.utime(folder, (0, 0))
    (folder.parent / f"3.37-{0:016x}").mkdir()
    script = "import sys, packets.build as b; from pathlib import Path; b.KEPT = 1; b._remove_old(Path(sys.argv[1]))"
    remove = [sys.executable, "-c", script, folder.parent]
    subprocess.run(remove, check=True)
    assert (folder / "engine").exists()
    forget()
    subprocess.run(remove, check=True)
    assert not folder.exists()


def test_what_is_held_is_not_complained_of_as_the_process_ends(tmp_path):
    script = "import sys, packets.build as b; from pathlib import Path; b._hold(Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", script, tmp_path / "held"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_goes_as_it_is_asked_for_is_made_anew_and_holds_one_descriptor(tmp_path, monkeypatch):
    folder, lock = tmp_path / "held", fcntl.flock
    gone = []

    def goes(descriptor, how):
        lock(descriptor, how)
        if not gone:
            gone.append(descriptor)
            shutil.rmtree(folder)

    monkeypatch.setattr(build.fcntl, "flock", goes)
    monkeypatch.setattr(build, "_held", {})
    before = len(os.listdir("/proc/self/fd"))
    build._hold(folder)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    assert os.path.samestat(os.fstat(build._held[folder]), (folder / "used").stat())
    os.close(build._held[folder])


def test_programs_that_others_could_replace_are_not_run(sources, tmp_path, monkeypatch):
    """Not even when they are there already."""
    monkeypatch.undo()
    monkeypatch.setattr("files.private._home", lambda: tmp_path)
    folder = tmp_path / "hedera" / "packets" / build._stamp()
    folder.mkdir(parents=True)
    (folder / "engine").touch()
    folder.parent.chmod(0o777)
    with pytest.raises(RuntimeError, match="others can write"):
        build.engine()
