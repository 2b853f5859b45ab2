import os
import sys
import tempfile
from pathlib import Path

import pytest

from record.temporary import left_by, owner_name, remove_tree, temporary_folder, whose_pids
from tests.commands import ROOT, ran

US = {os.geteuid()}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_ours_alone_and_gone_afterwards():
    with temporary_folder("grade") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "below").mkdir()
    assert not folder.exists()


def test_whose_it_is_shows_in_its_name_while_it_is_there():
    assert left_by(US) == {}
    with temporary_folder("grade") as one, temporary_folder("run") as other:
        assert left_by(US) == {owner_name(): [one, other]}
        assert left_by({os.geteuid() + 1}) == {}


HERE = whose_pids()
FOREIGN = ("hedera-run-00000000-1-2-x", "hedera-grade-x", "hedera-run-1-2-x", f"x-hedera-run-{HERE}-1-2-x")
WRONG = (f"hedera-run-{HERE}-1-2", f"hedera-{HERE}-1-2-x", f"hedera-run-{HERE}-01-2-x")


def test_a_name_that_we_never_give_is_nobody_s(place):
    ours = f"hedera-run-{HERE}-1-2-x"
    for name in (ours, *FOREIGN, *WRONG):
        (place / name).mkdir()
    (place / "victim").mkdir()
    (place / f"hedera-run-{HERE}-1-2-link").symlink_to(place / "victim")
    (place / f"hedera-run-{HERE}-1-2-file").touch()
    assert left_by(US) == {"1-2": [place / ours]}


def test_who_counts_other_pids_takes_nothing_for_a_dead_one_s(place):
    """A container that shares /tmp, say: none of our processes is alive in there."""
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if ran(*inside, "true").returncode:
        pytest.skip("this machine has no user namespaces for ordinary users")
    look = "from record.temporary import left_by; print(left_by({0}))"
    with temporary_folder("grade"):
        done = ran(*inside, sys.executable, "-c", look, env=os.environ | {"TMPDIR": str(place)}, cwd=ROOT)
    assert done.stdout == "{}\n", done.stderr


def test_a_tree_goes_however_deep_it_is_and_nothing_beside_it(place):
    (place / "victim").mkdir()
    (place / "victim" / "kept").touch()
    (place / "tree").mkdir()
    (place / "tree" / "link").symlink_to(place / "victim")
    here = os.open(place / "tree", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("below", dir_fd=here)
        below = os.open("below", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert remove_tree(place / "tree") is None
    assert [path.name for path in place.iterdir()] == ["victim"]
    assert (place / "victim" / "kept").exists()


def test_what_cannot_be_removed_is_said_with_the_reason():
    assert remove_tree(Path("/proc/self/fd")) in ("Operation not permitted", "Permission denied")
