"""Keys: made whole, kept from others, refused when they are too old; and a peer with other keys is turned away."""

import os
import socket
import ssl
import stat
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone

import pytest

from workers import cluster
from workers.cluster import ClusterAddress, connected, is_loopback
from workers.keys import AUTHORITY, CERTIFICATE, KEY, make_keys, read_keys
from workers.node import serve_scheduler, serve_worker

pytest.importorskip("cryptography")
NOW = datetime.now(timezone.utc)
SCHEDULER = """
import sys
from pathlib import Path
from workers.cluster import ClusterAddress
from workers.node import serve_scheduler
serve_scheduler(ClusterAddress(sys.argv[1], Path(sys.argv[2])), lambda at: print(at, flush=True))
"""
WORKER = """
import sys
from pathlib import Path
from workers.cluster import ClusterAddress
from workers.node import serve_worker
if __name__ == "__main__":
    where = ClusterAddress(sys.argv[1], Path(sys.argv[2]))
    serve_worker(where, sys.argv[3], {"machine": 1}, lambda at: print(at, flush=True))
"""


def test_keys_are_for_their_owner_alone_and_never_overwritten(tmp_path):
    os.umask(os.umask(0))
    folder = tmp_path / "keys"
    make_keys(folder, NOW)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["ca.pem", "cert.pem", "key.pem"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert "authority" not in repr(read_keys(folder, NOW)), "a key shows in no traceback"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError, match="never overwritten"):
        make_keys(folder, NOW)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("days", [-2, 31])
def test_keys_of_another_time_are_refused(tmp_path, days):
    make_keys(tmp_path / "keys", NOW, days=30)
    with pytest.raises(ValueError, match="make new ones with hedera cluster keys"):
        read_keys(tmp_path / "keys", NOW + timedelta(days=days))


def test_a_folder_without_keys_says_how_to_make_them(tmp_path):
    with pytest.raises(ValueError, match="hedera cluster keys"):
        read_keys(tmp_path / "nowhere", NOW)
    with pytest.raises(ValueError, match=r"\(ca.pem: No such file"):
        read_keys(tmp_path, NOW)


@pytest.fixture
def keys(tmp_path):
    make_keys(tmp_path / "keys", NOW)
    return tmp_path / "keys"


@pytest.mark.parametrize(
    ("name", "mode", "sentence"),
    [
        (KEY, 0o640, "key.pem can be read by others than its owner: chmod 600"),
        (KEY, 0o604, "key.pem can be read by others than its owner: chmod 600"),
        (KEY, 0o620, "key.pem can be changed by others"),
        (AUTHORITY, 0o664, "ca.pem can be changed by others"),
        (CERTIFICATE, 0o646, "cert.pem can be changed by others"),
        ("", 0o770, "keys can be changed by others"),
        ("", 0o1777, "keys can be changed by others"),
    ],
)
def test_keys_that_others_can_read_or_change_are_refused(keys, name, mode, sentence):
    (keys / name).chmod(mode)
    with pytest.raises(ValueError, match=sentence):
        read_keys(keys, NOW)


@pytest.mark.root
@pytest.mark.parametrize("name", [AUTHORITY, CERTIFICATE, KEY, ""])
def test_keys_of_another_user_are_refused_but_for_the_one_behind_sudo(keys, name, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    os.chown(keys / name, 65534, 65534)
    with pytest.raises(ValueError, match="belongs to another user"):
        read_keys(keys, NOW)
    monkeypatch.setenv("SUDO_UID", "65534")
    read_keys(keys, NOW)


@pytest.mark.root
def test_no_keys_are_made_in_another_user_s_folder(tmp_path):
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(ValueError, match="belongs to another user"):
        make_keys(tmp_path, NOW)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [AUTHORITY, CERTIFICATE, KEY])
def test_keys_are_plain_files_of_one_cluster(keys, tmp_path, name):
    make_keys(tmp_path / "other", NOW)
    whole = (keys / name).read_bytes()
    for content in (
        b"",
        b"nonsense",
        whole[:-80],
        whole[:40] + bytes(1 << 20),
        (tmp_path / "other" / name).read_bytes(),
    ):
        (keys / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"of one cluster, complete: copy it again"):
            read_keys(keys, NOW)
    (keys / name).unlink()
    os.mkfifo(keys / name, 0o600)
    with pytest.raises(ValueError, match="is no plain file"):
        read_keys(keys, NOW)
    (keys / name).unlink()
    (keys / name).symlink_to(tmp_path / "other" / name)
    with pytest.raises(ValueError, match="symbolic link"):
        read_keys(keys, NOW)


@pytest.mark.parametrize("address", ["10.0.0.1:8786", "http://a:1", "tls://a", "tls://a:b", "tls://:1", ""])
def test_what_is_no_address_is_said_to_be_none(address):
    with pytest.raises(ValueError, match="tls://HOST:PORT"):
        ClusterAddress(address)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "0.0.0.0"])
def test_what_may_be_root_speaks_to_nobody_without_encryption(host):
    """Loopback is no exception: every user of the machine reaches it."""
    ClusterAddress(f"tls://{host}:1").require_encrypted()
    plain = ClusterAddress(f"tcp://{host}:1")
    for refuse in (
        plain.require_encrypted,
        lambda: serve_scheduler(plain, print),
        lambda: serve_worker(plain, "one", {}, print),
    ):
        with pytest.raises(ValueError, match=r"any user of this machine, would be root .* use tls://"):
            refuse()


@pytest.mark.parametrize(("ids", "refused"), [((1, 0, 1), True), ((1, 1, 0), True), ((1, 1, 1), False)])
def test_a_client_that_is_root_or_can_be_again_speaks_to_nobody_without_encryption(monkeypatch, ids, refused):
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    monkeypatch.setattr(os, "getresuid", lambda: ids)
    with pytest.raises(ValueError if refused else OSError), connected("tcp://127.0.0.1:9"):
        pytest.fail("connected")


def test_loopback_is_known_by_number_and_name():
    assert all(map(is_loopback, ("127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("127.evil.org", "10.0.0.1", "scheduler")))


def leaving_its_files_in(folder):
    """The environment of a process that will be killed, and cannot take its folder away."""
    return {**os.environ, "TMPDIR": str(folder)}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A scheduler and a worker of it on loopback, spoken to over TLS: its address, its keys."""
    pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("cluster")
    keys = folder / "keys"
    make_keys(keys, NOW)
    ask = {"stdout": subprocess.PIPE, "text": True, "cwd": folder, "env": leaving_its_files_in(folder)}
    scheduler = subprocess.Popen([sys.executable, "-c", SCHEDULER, "tls://127.0.0.1:0", keys], **ask)
    address = ClusterAddress(scheduler.stdout.readline().strip(), keys)
    worker = subprocess.Popen([sys.executable, "-c", WORKER, address, keys, "one"], **ask)
    assert worker.stdout.readline().startswith("tls://127.0.0.1:")
    yield address
    for process in (worker, scheduler):
        process.kill()
        process.communicate()


def test_who_holds_the_keys_is_let_in(place):
    with connected(place) as client:
        assert client.submit(pow, 2, 10, resources={"machine": 1}).result(timeout=120) == 1024


def test_who_holds_other_keys_or_none_is_turned_away(place, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_S", 2.0)
    make_keys(tmp_path / "other", NOW)
    with (
        pytest.raises(OSError, match="its keys are not those of"),
        connected(ClusterAddress(place, tmp_path / "other")),
    ):
        pytest.fail("let in with the keys of another cluster")
    stranger = ssl.create_default_context()
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    where = place.host, int(place.rpartition(":")[2])
    # TLS 1.3 tells a client without a certificate off when it reads.
    with (
        socket.create_connection(where, timeout=60) as plain,
        stranger.wrap_socket(plain) as encrypted,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        encrypted.recv(1)


def test_a_second_worker_of_the_same_name_is_told_so(place):
    done = subprocess.run(
        [sys.executable, "-c", WORKER, place, place.keys, "one"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ValueError: the scheduler at {place} already has a worker one: start one per machine, and give another "
        "machine another --name"
    )


def test_a_worker_with_other_keys_gets_no_work(place, tmp_path):
    make_keys(tmp_path / "other", NOW)
    stranger = subprocess.Popen(
        [sys.executable, "-c", WORKER, place, tmp_path / "other", "stranger"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=leaving_its_files_in(tmp_path),
    )
    with connected(place) as client:
        time.sleep(2)
        assert len(client.nthreads()) == 1
    stranger.kill()
    assert stranger.communicate()[0] == ""
