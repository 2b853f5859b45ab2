"""CloudLab's profile: its form, and that what it calls is here; and why it is no profile.py."""

import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).parents[2]
RSPEC = "{http://www.geni.net/resources/rspec/3}"
CLONE = "/local/repository/"


def test_one_machine_sets_itself_up():
    profile = ET.parse(ROOT / "profile.rspec").getroot()
    assert (profile.tag, profile.get("type")) == (f"{RSPEC}rspec", "request")
    (node,) = profile.findall(f"{RSPEC}node")
    assert node.get("exclusive") == "true"
    assert node.find(f"{RSPEC}sliver_type/{RSPEC}disk_image").get("name").endswith("//UBUNTU24-64-STD")
    (execute,) = node.findall(f"{RSPEC}services/{RSPEC}execute")
    called = [word.removeprefix(CLONE) for word in shlex.split(execute.get("command")) if word.startswith(CLONE)]
    assert called == ["setup/install.sh"]
    assert (ROOT / called[0]).stat().st_mode & 0o100


def test_nothing_at_the_top_stands_before_a_module_of_python_s():
    """As profile.py would, the form that CloudLab's pages show first."""
    modules = [*ROOT.glob("*.py"), *(path.parent for path in ROOT.glob("*/__init__.py"))]
    assert not {path.stem for path in modules} & set(sys.stdlib_module_names)


def test_a_profile_py_would_break_python_s_profiler(tmp_path):
    words = [sys.executable, "-m", "cProfile", "-h"]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True).returncode == 0
    (tmp_path / "profile.py").write_text("import geni.portal\n")
    assert subprocess.run(words, cwd=tmp_path, capture_output=True).returncode != 0
