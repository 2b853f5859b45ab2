"""What people are told to paste into clouds: its form, and that what it calls is here."""

import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RSPEC = "{http://www.geni.net/resources/rspec/3}"
CLONE = "/local/repository/"


@pytest.mark.skipif(not shutil.which("cloud-init"), reason="cloud-init is not installed (setup/apt-packages-check.txt)")
@pytest.mark.parametrize("path", sorted((ROOT / "setup").glob("*.yaml")), ids=lambda path: path.name)
def test_cloud_init_accepts_it(path):
    done = subprocess.run(["cloud-init", "schema", "--config-file", path], capture_output=True, text=True)
    assert (done.returncode, "Valid" in done.stdout + done.stderr) == (0, True), done.stdout + done.stderr


def test_cloudlab_s_profile_sets_a_machine_up():
    (node,) = ET.parse(ROOT / "profile.rspec").getroot().findall(f"{RSPEC}node")
    (execute,) = node.findall(f"{RSPEC}services/{RSPEC}execute")
    called = [word.removeprefix(CLONE) for word in shlex.split(execute.get("command")) if word.startswith(CLONE)]
    assert called == ["setup/install.sh"]
