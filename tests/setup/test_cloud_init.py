"""What people are told to paste into clouds: its form, and that what it calls is here."""

import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RSPEC = "{http://www.geni.net/resources/rspec/3}"
CLONE = "/local/repository/"


@pytest.mark.skipif(not shutil.which("cloud-init"), reason="cloud-init is not installed (setup/apt-packages-check.txt)")
@pytest.mark.parametrize("path", sorted((ROOT / "setup").glob("*.yaml")), ids=lambda path: path.name)
def test_cloud_init_accepts_it(path):
    done = subprocess.run(["cloud-init", "schema", "--config-file", path], capture_output=True, text=True)
    assert (done.returncode, "Valid" in done.stdout + done.stderr) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize("user", ["ubuntu", "admin"])
def test_cloud_init_runs_the_job_for_whichever_user_the_image_has(user, tmp_path):
    """With stand-ins for the image's user, and for the repository."""
    home, tools = tmp_path / user, tmp_path / "tools"
    for folder in (home, tools):
        folder.mkdir()
    stands_for = {
        "getent": f"echo {user}:x:1000:1000::{home}:/bin/sh",
        "sudo": f'[ "$2" = {user} ] && shift 2 && HOME={home} exec "$@"',
        "id": "echo 1000",
        "git": 'mkdir "$3" && cd "$3" && echo \'echo "$SUDO_UID" "$@" >told\' >test.sh && chmod +x test.sh',
    }
    for name, script in stands_for.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    (script,) = yaml.safe_load((ROOT / "setup/cloud-init.yaml").read_text())["runcmd"]
    script = script.replace("/var/log", str(tmp_path))
    subprocess.run(["sh", "-c", script], env={"PATH": f"{tools}:/usr/bin:/bin"}, check=True)
    assert (home / "hedera/told").read_text().split() == ["1000", "1", "10"]


def test_cloudlab_s_profile_sets_a_machine_up():
    (node,) = ET.parse(ROOT / "profile.rspec").getroot().findall(f"{RSPEC}node")
    (execute,) = node.findall(f"{RSPEC}services/{RSPEC}execute")
    called = [word.removeprefix(CLONE) for word in shlex.split(execute.get("command")) if word.startswith(CLONE)]
    assert called == ["setup/install.sh"]
