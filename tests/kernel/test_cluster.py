"""A sweep on a cluster of three workers on this machine, each in a folder of its own, taking turns on the machine's
lock; one is killed with -9 in the middle of a run, and the one that is refused has other keys."""

import json
import shlex
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.harness.real_runs import HEDERA, LONG
from tests.kernel import second_kernel

pytestmark = [pytest.mark.root, pytest.mark.alone, LONG]

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = r"""
set -u
H={hedera}
cd {folder}
$H cluster keys keys && $H cluster keys other || exit 1
(exec $H cluster scheduler --listen tls://127.0.0.1:8786 --keys keys) >scheduler.txt 2>&1 & S=$!
for i in 1 2 3; do
  mkdir w$i
  (cd w$i; exec $H cluster worker tls://127.0.0.1:8786 --keys ../keys --name w$i) >w$i.txt 2>&1 & eval W$i=$!
done
(exec $H cluster worker tls://127.0.0.1:8786 --keys other --name stranger) >stranger.txt 2>&1 & X=$!
for n in $(seq 300); do [ "$(cat w?.txt | grep -c '^worker')" = 3 ] && break; sleep 1; done
(exec $H sweep 1 5 --patterns stride:4,randbij --schemes nonblocking,ecmp --bw 2 --results . --name far \
    --cluster tls://127.0.0.1:8786 --keys keys) >far.txt 2>&1 & C=$!
for n in $(seq 600); do grep -qs '"stage":"sending"' far/.live.json && break; kill -0 $C || break; sleep 0.5; done
cp far/.live.json seen.json
V=$(grep -o '"worker":"w[123]","stage":"sending"' seen.json | head -n 1 | grep -o 'w[123]')
echo "killed $V"; eval "kill -9 \$W${{V#w}}"
wait $C; echo "far ended $?"
kill $W1 $W2 $W3 $X $S; sleep 3; cat w?.txt scheduler.txt stranger.txt
$H sweep 1 5 --patterns stride:4,randbij --schemes nonblocking,ecmp --bw 2 --results . --name near >near.txt 2>&1
echo "near ended $?"
"""


@pytest.fixture(scope="module")
def cluster():
    """What was left in the folder, and what was said."""
    folder = Path(tempfile.mkdtemp(dir=ROOT / "results", prefix=".cluster-test-"))
    script = SCENARIO.format(hedera=shlex.quote(str(HEDERA)), folder=shlex.quote(str(folder)))
    try:
        _, said = second_kernel.run(script, seconds=1500)
    except second_kernel.Unavailable as error:
        pytest.skip(str(error))
    else:
        yield folder, said
    finally:
        shutil.rmtree(folder)


def runs_of(folder):
    return {
        (run["traffic"], run["scheme"]): run
        for path in sorted(folder.glob("*/*/trial-1*/run.json"))
        if (run := json.loads(path.read_text()))["verdict"] == "ok"
    }


def test_a_sweep_on_a_cluster_that_loses_a_worker_is_a_whole_sweep(cluster):
    folder, said = cluster
    told = (folder / "far.txt").read_text()
    assert "far ended 0" in said, told
    victim = said.partition("killed ")[2].split()[0]
    assert f"worker {victim} is lost: what it was at is made again elsewhere" in told
    runs = runs_of(folder / "far")
    assert len(runs) == 4
    assert {run["environment"]["worker"] for run in runs.values()} <= {"w1", "w2", "w3"} - {victim}
    assert "stranger" not in told
    assert not (folder / "far" / ".live.json").exists()


def test_its_table_is_that_of_a_sweep_on_one_machine(cluster):
    folder, said = cluster
    far, near = runs_of(folder / "far"), runs_of(folder / "near")
    assert far.keys() == near.keys(), said
    for key, run in far.items():
        assert run["matrix"] == near[key]["matrix"]
        # the least that max-min fairness and the verdict leave to chance
        assert run["bisection_mbps"] == pytest.approx(near[key]["bisection_mbps"], rel=0.05), key


def test_who_has_other_keys_gets_no_word(cluster):
    folder, _ = cluster
    assert "worker stranger" not in (folder / "stranger.txt").read_text()
