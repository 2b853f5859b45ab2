"""The container's files, and (HEDERA_TEST_IMAGE=1, root, a quarter of an hour) what they make, unprivileged.

sudo HEDERA_TEST_IMAGE=1 ./check.sh tests/setup/test_container.py
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

from harness.network.machine import RIGHTS, lacking_rights
from tests.setup.image import Image, lines
from virtual.guest import Guest

ROOT = Path(__file__).parents[2]
HEDERA = Path(sys.executable).with_name("hedera")


def test_the_image_ends_as_an_ordinary_user_whose_id_engines_can_check():
    users = [words for instruction, words in lines(ROOT / "Dockerfile") if instruction == "USER"]
    assert users[-1].isdigit()
    assert users[-1] != "0"


def test_compose_gives_virtual_time_no_privilege():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    plain = services["hedera"]
    assert plain["cap_drop"] == ["ALL"]
    assert plain["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "user"} & set(plain)
    real = services["real"]
    assert real["profiles"] == ["real"], "compose up alone starts nothing with privileges"
    assert "privileged" not in real
    assert {name.removeprefix("CAP_") for name in RIGHTS} - {"NET_RAW"} < set(real["cap_add"])


def test_the_devcontainer_is_made_of_the_same_image():
    found = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    folder = ROOT / ".devcontainer"
    assert (folder / found["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (folder / found["build"]["context"]).resolve() == ROOT
    assert "runArgs" not in found
    assert f"useradd --create-home --uid 1000 {found['remoteUser']}" in (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize(
    ("capabilities", "ids", "words"),
    [
        ("000001ffffffffff", "0 0 4294967295", ""),
        ("00000000a80425fb", "0 0 4294967295", "root lacks CAP_NET_ADMIN, CAP_SYS_ADMIN here"),
        ("0000000000000000", "0 1000 1", "root lacks CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN here"),
        ("000001ffffffffff", "0 1000 1\n1 100000 65536", "root is root of a user namespace here"),
    ],
)
def test_rights_that_root_lacks(tmp_path, capabilities, ids, words):
    """The second as docker run leaves them, the last as podman does without root."""
    (tmp_path / "status").write_text(f"Name:\tx\nCapEff:\t{capabilities}\n")
    (tmp_path / "ids").write_text(ids + "\n")
    found = lacking_rights(tmp_path / "status", tmp_path / "ids")
    assert found.startswith(words)
    assert bool(found) == bool(words)


UNSHARE = ["unshare", "--user", "--map-root-user", "--net", "--mount"]


@pytest.mark.skipif(subprocess.run([*UNSHARE, "true"]).returncode != 0, reason="no user namespaces here")
@pytest.mark.parametrize("lent", [[], ["setpriv", "--bounding-set=-all"]])
def test_real_time_without_rights_is_refused_in_one_sentence(tmp_path, lent):
    words = ["run", "--scheme", "ecmp", "--traffic", "stride:4", "--out", tmp_path / "out"]
    done = subprocess.run([*UNSHARE, *lent, HEDERA, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\n") == 1
    assert "real time takes that (docs/container.md); --time virtual needs no rights at all" in done.stderr
    assert not (tmp_path / "out").exists()


def test_memory_of_a_guest_is_never_where_no_code_runs(monkeypatch, tmp_path):
    """/dev/shm of a container: its processes could not run from it."""
    guest = Guest.__new__(Guest)
    guest.job, guest._memory_mib = tmp_path, 1
    real = os.statvfs("/dev/shm")
    monkeypatch.setattr(os, "statvfs", lambda path: real)
    if not real.f_flag & os.ST_NOEXEC:
        assert guest._memory_folder() == "/dev/shm"
    forbidden = type("Found", (), {"f_bavail": 1 << 30, "f_frsize": 4096, "f_flag": os.ST_NOEXEC})
    monkeypatch.setattr(os, "statvfs", lambda path: forbidden)
    assert guest._memory_folder() == str(tmp_path)


@pytest.mark.root
@pytest.mark.timeout(3600)
@pytest.mark.skipif(
    not os.environ.get("HEDERA_TEST_IMAGE") or not shutil.which("mmdebstrap"),
    reason="HEDERA_TEST_IMAGE=1 makes the image with mmdebstrap, in a quarter of an hour",
)
def test_the_image_s_demonstration_without_privileges():
    with tempfile.TemporaryDirectory(prefix="hedera-image-", dir="/var/tmp") as folder:
        image = Image(Path(folder) / "root", ROOT)
        rights = image.container("grep", "-E", "CapEff|CapBnd|NoNewPrivs", "/proc/self/status").stdout
        assert rights.split() == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]
        done = image.container()
        assert done.returncode == 0, done.stdout + done.stderr
        kept = image.run("find", "results/runs", "-name", "run.json", "-exec", "cat", "{}", "+").stdout
        assert kept.count('"verdict": "ok"') == 3, kept[-2000:]
        told = image.container("hedera", "doctor").stdout
        assert "Next: ./test.sh --demo" in told, told
