"""How many modules of ours a command imports: so many has a reader to know who follows it."""

import json
import sys

import pytest

from tests.commands import PROJECT, ran
from tests.plots.sweeps import write_sweep

TOLD = """
import atexit, json, sys
sys.path.insert(0, {root!r})
def tell():
    files = ((name, getattr(module, "__file__", None) or "") for name, module in list(sys.modules.items()))
    print(json.dumps(sorted(name for name, file in files if file.startswith({root!r}) and "/.venv" not in file)))
atexit.register(tell)
"""
COMMAND = "import hedera_harness\nsys.argv = {words!r}\nhedera_harness.main()\n"
END = """
import types
from pathlib import Path
from harness.cli.run import sweep
from harness.jobs.guests import Guests
from harness.sweep import Part, carry_out_with_progress, show
folder = Path({folder!r})
show(Part(folder, {{}}, []), carry_out_with_progress([], folder, types.SimpleNamespace(at_once=1)))
"""
LOST = """
from pathlib import Path
from types import SimpleNamespace
sys.modules["mininet"] = None
from record.errors import WorkerFailed
from harness.jobs import guests
from harness.run import job
from harness.jobs.guest_files import World
from record.spec import RunSpec
from record.errors import WorkerFailed
class Guest:
    files = {{}}
    def __init__(self, *told, **more): pass
    def __enter__(self): raise WorkerFailed("lost")
    def __exit__(self, *error): pass
guests.Guest, guests.replace = Guest, lambda guest, **more: guest
image = guests.GuestImage(SimpleNamespace(linux=Path("linux")), (), "{{}}", World({{}}, "python", ()))
carrier = guests.Guests(image, 1)
spec = RunSpec("hedera-sa", "stride:4", seconds=3.0, time="virtual")
try:
    carrier.carry(job.Job(spec, {{}}), Path({folder!r}), lambda *stage: None)
except WorkerFailed:
    import harness.cli.machine, harness.cli.run, harness.sweep, harness.verdict.result
"""


def imported(program):
    done = ran(sys.executable, "-I", "-c", TOLD.format(root=f"{PROJECT}/") + program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("most", "words"),
    [(40, "run --help"), (60, "simulate --scheme ecmp --traffic stride:4 --seconds 2")],
    ids=["run --help", "simulate"],
)
def test_a_command_imports_few_modules_of_ours(most, words):
    found = imported(COMMAND.format(words=["hedera", *words.split()]))
    assert "record.spec" in found
    assert len(found) <= most, found


@pytest.mark.slow
def test_the_end_of_a_sweep_imports_few_modules_of_ours(tmp_path):
    """Table, figures and page of one whose runs are done, and all that guests take."""
    found = imported(END.format(folder=str(write_sweep(tmp_path / "s", ["stride:4"], ["nonblocking", "ecmp"]))))
    assert "plots.report" in found
    assert len(found) <= 91, "\n".join(found)


def test_the_host_s_side_of_virtual_time_imports_nothing_of_mininet(tmp_path):
    """Up to a guest's boot, and after one that was lost; a Mininet of the machine's would be no help."""
    found = imported(LOST.format(folder=str(tmp_path)))
    assert "harness.verdict.result" in found, "the guest was lost, as told"
    assert "harness.network.mininet_nodes" not in found
