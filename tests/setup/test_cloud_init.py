"""What people are told to paste into clouds: its form, and that what it calls is here."""

import subprocess

import pytest
import yaml

from tests.commands import PROJECT


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
    (script,) = yaml.safe_load((PROJECT / "setup/cloud-init.yaml").read_text())["runcmd"]
    script = script.replace("/var/log", str(tmp_path))
    subprocess.run(["sh", "-c", script], env={"PATH": f"{tools}:/usr/bin:/bin"}, check=True)
    assert (home / "hedera/told").read_text().split() == ["1000", "1", "10"]
