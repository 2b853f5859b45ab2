"""The container's files, and what is refused where a container has no rights."""

import os

import pytest
import yaml

from harness.network.machine import RIGHTS, find_lacking_rights
from tests.commands import HEDERA, PROJECT, ran
from virtual.guest import find_memory_folder


def test_compose_gives_virtual_time_no_privilege():
    services = yaml.safe_load((PROJECT / "compose.yaml").read_text())["services"]
    plain = services["hedera"]
    assert (plain["cap_drop"], plain["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert plain["ulimits"]["nofile"] > 1024, "some engines' limit, and less than a guest needs"
    assert not {"privileged", "cap_add", "devices", "user"} & set(plain)
    real = services["real"]
    assert real["profiles"] == ["real"], "compose up alone starts nothing with privileges"
    assert "privileged" not in real
    assert {name.removeprefix("CAP_") for name in RIGHTS} - {"NET_RAW"} <= set(real["cap_add"])


@pytest.mark.parametrize(
    ("capabilities", "ids", "words"),
    [
        ("000001ffffffffff", "0 0 4294967295", ""),
        ("00000000a80425fb", "0 0 4294967295", "root lacks CAP_NET_ADMIN, CAP_SYS_ADMIN here"),
        ("000001ffffffffff", "0 1000 1\n1 100000 65536", "root is root of a user namespace here"),
    ],
)
def test_rights_that_root_lacks(tmp_path, capabilities, ids, words):
    """The second as docker run leaves them, the last as podman does without root."""
    (tmp_path / "status").write_text(f"Name:\tx\nCapEff:\t{capabilities}\n")
    (tmp_path / "ids").write_text(ids + "\n")
    found = find_lacking_rights(tmp_path / "status", tmp_path / "ids")
    assert found.startswith(words)
    assert bool(found) == bool(words)


UNSHARE = ["unshare", "--user", "--map-root-user", "--net", "--mount"]


@pytest.mark.skipif(ran(*UNSHARE, "true").returncode != 0, reason="no user namespaces here")
def test_real_time_without_rights_is_refused(tmp_path):
    words = ["run", "--scheme", "ecmp", "--traffic", "stride:4", "--time", "real", "--out", tmp_path / "out"]
    done = ran(*UNSHARE, "setpriv", "--bounding-set=-all", HEDERA, *words)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert not (tmp_path / "out").exists()


def test_memory_of_a_guest_is_never_where_no_code_runs(monkeypatch):
    """/dev/shm of a container: its processes could not run from it."""
    forbidden = type("Found", (), {"f_bavail": 1 << 30, "f_frsize": 4096, "f_flag": os.ST_NOEXEC})
    monkeypatch.setattr(os, "statvfs", lambda path: forbidden)
    assert find_memory_folder(1) is None
