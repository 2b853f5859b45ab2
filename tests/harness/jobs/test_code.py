import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from harness.jobs import code
from hedera.compiled import code_folder
from results.temporary import temporary_folder
from tests.harness.test_cli import HEDERA

RUN = ["run", "--scheme", "hedera-sa", "--traffic", "stride:4", "--time", "virtual", "--seconds", "6", "--quiet"]


def test_what_guests_load_is_made_once_for_a_state_of_the_sources(tmp_path, monkeypatch):
    def compiles(command, env, **_):
        Path(env["NUMBA_CACHE_DIR"], "made").touch()
        return subprocess.CompletedProcess(command, source.read_text() == "no Python")

    source = tmp_path / "hedera" / "loop.py"
    source.parent.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(code, "ROOT", tmp_path)
    monkeypatch.setattr(code.subprocess, "run", compiles)
    found = []
    for text in ("1", "22", "no Python"):
        source.write_text(text)
        found += [code.code_of_runs(print), code.code_of_runs(print)]
    assert found[0] == found[1] != found[2] == found[3]
    assert (found[4:], [path.name for path in found[0].iterdir()]) == ([None, None], ["made"])


@pytest.mark.virtual
def test_runs_of_one_seed_are_the_same_beside_other_work_that_compiles(tmp_path):
    found = []
    with ExitStack() as ends:
        for n in range(2):
            ends.callback(ends.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"])).kill)
            subprocess.run([HEDERA, *RUN, "--out", tmp_path / str(n)], check=True)
            ends.enter_context(temporary_folder("other"))
            ends.enter_context(TemporaryDirectory(dir=code_folder()))
            files = {path.name: path.read_bytes() for path in (tmp_path / str(n)).iterdir()}
            run = json.loads(files.pop("run.json"))
            found.append(files | {name: run[name] for name in run.keys() - {"started", "environment"}})
    assert found[0] == found[1]
