import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from record.errors import UnfitMachine
from virtual import cache

PROJECT = Path(__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from virtual import cache
with cache.locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_folders_are_made_for_us_alone_and_others_are_not_believed(home, tmp_path):
    made = cache.make_folder("kernels")
    assert made == home / "hedera" / "virtual" / "kernels"
    assert made.stat().st_mode & 0o777 == made.parent.stat().st_mode & 0o777 == 0o700
    made.chmod(0o777)
    (home / "hedera/virtual/link").symlink_to(tmp_path)
    for name in ("kernels", "link"):
        with pytest.raises(UnfitMachine, match=name):
            cache.make_folder(name)


@pytest.mark.parametrize(("name", "said"), [("my files", "set XDG_CACHE_HOME"), ("file", "Not a directory")])
def test_a_place_that_no_kernel_s_command_line_can_hold_or_that_cannot_be_written(tmp_path, monkeypatch, name, said):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    with pytest.raises(UnfitMachine, match=said):
        cache.make_folder()


def test_who_waits_for_a_lock_is_told_who_has_it_and_how_to_go_on(tmp_path):
    path, heard = tmp_path / "lock", []
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT
    )
    with holder:
        assert holder.stdout.readline() == "held\n"

        def wait(words):
            heard.append(cache.describe_wait(words, "a kernel"))
            holder.stdin.close()

        with cache.locked(path, wait):
            assert f"process {os.getpid()} of " in path.read_text()
    assert re.fullmatch(
        rf"process {holder.pid} of \S+, since [0-9:]+ is compiling a kernel; waiting for it "
        rf"\(if it hangs: kill {holder.pid}; this one then goes on\) \.\.\.",
        heard[0],
    )
