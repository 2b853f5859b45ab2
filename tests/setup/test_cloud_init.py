import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "setup"
CONFIG = SETUP / "cloud-init.yaml"
pytestmark = pytest.mark.skipif(
    not shutil.which("cloud-init"), reason="cloud-init is not installed (setup/apt-packages-check.txt)"
)


def check(path):
    done = subprocess.run(["cloud-init", "schema", "--config-file", path], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["cloud-init.yaml", "cluster-scheduler.yaml", "cluster-worker.yaml"])
def test_cloud_init_accepts_what_we_tell_people_to_paste(name):
    status, said = check(SETUP / name)
    assert status == 0, said
    assert "Valid" in said


def test_it_would_find_a_mistake(tmp_path):
    broken = tmp_path / "cloud-init.yaml"
    broken.write_text(CONFIG.read_text().replace("runcmd:", "runcmd: yes\nrun:"))
    assert check(broken)[0] != 0
