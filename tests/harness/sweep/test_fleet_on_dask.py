"""A fleet on a real Dask cluster over TLS, two workers of which one is killed; the runs they make are made up, by a
program that stands for `hedera cluster job`."""

import os
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from harness.network.machine import TOOLS, version_of
from harness.sweep.fleet import Fleet
from tests.harness.real_runs import LONG
from tests.harness.sweep.test_fleet import Heard, jobs_of
from workers.cluster import ClusterAddress, connected
from workers.keys import make_keys

pytest.importorskip("distributed")
pytestmark = [
    LONG,
    pytest.mark.timeout(600),
    pytest.mark.root,
    pytest.mark.skipif(
        any(version_of(tool) is None for tool in TOOLS),
        reason="needs the tools of a run: other workers are refused",
    ),
]
ROOT = Path(__file__).resolve().parents[3]
JOB = f"""
import json, sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from harness.sweep.remote import spec_of
from harness.sweep.source import source
from tests.harness.sweep.test_fleet import result
asked, folder = json.loads(sys.stdin.readline()), Path(sys.argv[3])
assert sys.argv[1:3] == ["cluster", "job"]
print(json.dumps({{"stage": "building"}}), flush=True)
print(json.dumps({{"stage": "sending"}}), flush=True)
time.sleep(1)
environment = {{"worker": asked["worker"], "source": source().fingerprint}}
folder.mkdir()
(folder / "run.json").write_text(json.dumps(result(spec_of(asked), asked["worker"], environment=environment)))
print(json.dumps({{"done": True}}), flush=True)
"""
NODE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from harness.sweep.remote import RESOURCE
from workers.cluster import ClusterAddress
from workers.node import serve_scheduler, serve_worker
where, told = ClusterAddress(sys.argv[1], Path(sys.argv[2])), lambda at: print(at, flush=True)
serve_worker(where, sys.argv[3], RESOURCE, told) if len(sys.argv) > 3 else serve_scheduler(where, told)
"""


@pytest.fixture
def python(tmp_path):
    """An interpreter like this one, beside whom another `hedera` stands."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "hedera").write_text(JOB)
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    for name in ("lib", "pyvenv.cfg"):
        (tmp_path / name).symlink_to(Path(sys.executable).parents[1] / name)
    return tmp_path / "bin" / "python"


def test_a_sweep_outlives_a_worker_that_is_killed(tmp_path, python):
    make_keys(tmp_path / "keys", datetime.now(timezone.utc))

    def start(*words):
        process = subprocess.Popen(
            [python, "-c", NODE, *words],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path)},  # who is killed leaves a folder
        )
        return process, process.stdout.readline().strip()

    scheduler, at = start("tls://127.0.0.1:0", tmp_path / "keys")
    workers = {name: start(at, tmp_path / "keys", name)[0] for name in ("a", "b")}
    seen = []

    class Killing(Heard):
        """Kills the first worker that is seen to send."""

        def look(self, members):
            seen.extend((m.now.worker, m.now.scheme, m.now.stage) for m in members if m.now is not None)
            if "victim" not in vars(self) and seen and seen[-1][2] == "sending":
                self.victim = seen[-1][0]
                workers[self.victim].send_signal(signal.SIGKILL)

    try:
        heard = Killing()
        with connected(ClusterAddress(at, tmp_path / "keys")) as client:
            fleet = Fleet(client, heard)
            fleet.gather()
            jobs = jobs_of(tmp_path / "sweep", trials=1)
            fleet.carry_out(jobs)
    finally:
        for process in (*workers.values(), scheduler):
            process.kill()
            process.communicate()
    lost = f"worker {heard.victim} is lost: what it was at is made again elsewhere"
    assert lost in heard.sentences
    runs = [job.outcome().run for job in jobs]
    assert all(run.valid for run in runs)
    assert len(heard.runs) == len(jobs) == 4, "each counts once"
    assert not any(job.attempts[1].exists() for job in jobs)
    assert {stage for _, _, stage in seen} >= {"sending"}
