"""The engine is kept by all that went into it. Here a Makefile of the test's own makes it, in no time."""

import shutil

import pytest

from studies.hull import build

MAKEFILE = """
engine: $(OUT)/engine
$(OUT)/engine: main.cc part.h
\t@mkdir -p $(OUT)
\t@cat main.cc part.h > $@
\t@echo "$(CXX) $(CXXFLAGS) $(LDFLAGS) $(STD)" >> $@
\t@[ ! -e during.sh ] || sh during.sh
"""


def forget():
    for kept in (build._stamp, build._sources, build.fingerprint):
        kept.cache_clear()


@pytest.fixture
def sources(tmp_path, monkeypatch):
    place = tmp_path / "engine"
    (place / "tests").mkdir(parents=True)
    (place / "Makefile").write_text(MAKEFILE)
    (place / "main.cc").write_text("main\n")
    (place / "part.h").write_text("part\n")
    (place / "tests" / "part.h").write_text("part of the tests\n")
    monkeypatch.setattr(build, "SOURCES", place)
    monkeypatch.setattr(build, "version", lambda: "3.37")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    forget()
    yield place
    forget()


def test_an_engine_is_compiled_once_says_so_and_does_not_ask_the_environment(sources, capfd, monkeypatch):
    for name in ("CXX", "CXXFLAGS", "LDFLAGS", "STD", "OUT", "MAKEFLAGS", "CPATH", "MALLOC"):
        monkeypatch.setenv(name, "other")
    program = build.engine()
    assert program.read_text() == "main\npart\ng++   c++17\n"
    assert "once" in capfd.readouterr().err
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


def test_what_does_not_compile_or_cannot_be_written_is_one_sentence(sources, tmp_path):
    (sources / "during.sh").write_text("exit 1")
    with pytest.raises(RuntimeError, match="does not compile"):
        build.engine()
    assert not (build.cache_folder() / build._stamp() / "engine").exists()
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "kept").touch()
    with pytest.raises(RuntimeError, match="cannot be compiled into"):
        build.engine()


@pytest.mark.parametrize(
    ("tools", "header", "found", "missing"),
    [
        ((), True, "3.37", "compiler"),
        (("g++", "make"), False, "3.37", "ns-3"),
        (("g++", "make"), True, "3.30", "3.37 to"),
        (("g++", "make"), True, "4.1", "found 4.1"),
    ],
)
def test_what_is_missing_or_too_new_is_named(tmp_path, monkeypatch, tools, header, found, missing):
    place = tmp_path / "header.h"
    if header:
        place.touch()
    monkeypatch.setattr(build, "_NS3_HEADER", place)
    monkeypatch.setattr(build.shutil, "which", lambda tool: tool if tool in tools else None)
    monkeypatch.setattr(build, "_installed_version", lambda: found)
    with pytest.raises(build.NotInstalled, match=missing):
        build.version.__wrapped__()
