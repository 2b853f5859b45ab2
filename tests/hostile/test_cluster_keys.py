"""Attacks on the keys of a cluster: who holds them is root on every worker."""

import os
import time
from datetime import datetime, timezone

import pytest

from tests.hostile.enemy import DASK, UID, attack, theirs
from workers.keys import AUTHORITY, CERTIFICATE, KEY, make_keys, read_keys

pytest.importorskip("distributed")
pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]
NOW = datetime.now(timezone.utc)
MAKE = f"{DASK}make_keys(Path(sys.argv[1]), datetime.datetime.now(datetime.timezone.utc))"


@pytest.fixture
def keys(tmp_path):
    """Keys of root's, at a place that the enemy reaches."""
    place = theirs(tmp_path / "shared")
    os.chown(place, 0, 0)
    make_keys(place / "keys", NOW)
    return place / "keys"


READ_ALL = """
for path in (Path(sys.argv[1]), *(Path(sys.argv[1], name) for name in ("ca.pem", "cert.pem", "key.pem"))):
    try:
        os.close(os.open(path, os.O_RDONLY))
        print("read", path)
    except OSError:
        pass
"""


def test_reading_the_keys(tmp_path):
    """Another user reads keys, which their maker made without a umask, into a folder that all could write to."""
    old = os.umask(0)
    try:
        place = theirs(tmp_path / "shared")
        os.chown(place, 0, 0)
        (place / "keys").mkdir(mode=0o777)
        make_keys(place / "keys", NOW)
    finally:
        os.umask(old)
    assert attack(READ_ALL, place / "keys") == ""


def test_keys_that_the_enemy_made_for_us(tmp_path):
    """Another user leaves keys of its own where root is told to find some: in its own folder."""
    mine = theirs(tmp_path / "mine")
    attack(MAKE, mine / "keys")
    with pytest.raises(ValueError, match="belongs to another user"):
        read_keys(mine / "keys", NOW)
    os.chown(mine / "keys", 0, 0)
    with pytest.raises(ValueError, match="belongs to another user"):
        read_keys(mine / "keys", NOW)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_an_authority_of_the_enemy_s_in_a_folder_that_all_can_write_to(keys, tmp_path, mode):
    """Another user puts the authority of its own cluster, and then all its keys, in the place of root's."""
    mine = theirs(tmp_path / "mine")
    attack(MAKE, mine / "keys")
    keys.chmod(mode)
    os.chown(keys, 0, UID)
    attack(
        "for name in ('ca.pem', 'cert.pem', 'key.pem'):\n"
        "    try:\n"
        "        os.rename(Path(sys.argv[1], name), Path(sys.argv[1], name + '-old'))\n"
        "        Path(sys.argv[1], name).write_bytes(Path(sys.argv[2], name).read_bytes())\n"
        "    except PermissionError:\n"
        "        pass\n",
        keys,
        mine / "keys",
    )
    with pytest.raises(ValueError, match="can be changed by others"):
        read_keys(keys, NOW)
    keys.chmod(0o700)
    if mode != 0o1777:
        with pytest.raises(ValueError, match="belongs to another user"):
            read_keys(keys, NOW)


@pytest.mark.parametrize("name", [AUTHORITY, CERTIFICATE, KEY])
@pytest.mark.parametrize("how", ["pipe", "link", "device", "endless"])
def test_keys_that_are_no_files(keys, tmp_path, name, how):
    """Whoever could write to the folder once put a pipe, a link to their own file, a device or terabytes there."""
    mine = theirs(tmp_path / "mine")
    attack(MAKE, mine / "keys")
    (keys / name).unlink()
    if how == "pipe":
        os.mkfifo(keys / name, 0o600)
    elif how == "link":
        (keys / name).symlink_to(mine / "keys" / name)
    elif how == "device":
        os.mknod(keys / name, 0o600 | 0o020000, os.makedev(1, 5))
    else:
        os.truncate(os.open(keys / name, os.O_RDWR | os.O_CREAT, 0o600), 1 << 42)
    before = time.monotonic()
    with pytest.raises(ValueError, match=r"no plain file|symbolic link|complete: copy it again"):
        read_keys(keys, NOW)
    assert time.monotonic() - before < 60


def test_making_keys_through_a_link(tmp_path):
    """Another user makes the new folder's name a link, so that keys are written where it likes."""
    mine, target = theirs(tmp_path / "mine"), tmp_path / "target"
    target.mkdir()
    attack("os.symlink(sys.argv[1], sys.argv[2])", target, mine / "keys")
    with pytest.raises(ValueError, match="belongs to another user"):
        make_keys(mine / "keys", NOW)
    assert list(target.iterdir()) == []
