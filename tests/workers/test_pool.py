"""Sweeps: the same answers in this process, on local processes and on a Dask cluster, whoever dies."""

import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from simulator.config import Config
from simulator.driver import bisection_mbps
from workers import cluster as cluster_module
from workers import pool
from workers.cluster import ClusterAddress, security
from workers.keys import make_keys
from workers.pool import run_all

CONFIGS = [
    Config(scheme, traffic, seconds=2.0, seed=seed)
    for scheme in ("ecmp", "hedera-gff", "hedera-sa")
    for traffic in ("published:rand0", "published:randx2")
    for seed in (1, 2)
]


def serial():
    return [bisection_mbps(config) for config in CONFIGS]


def slow_square(number):
    time.sleep(0.2)
    return number * number


def die_once(folder, number):
    """The process that first gets task 2 dies of it."""
    mark = Path(folder) / "died"
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def die_always(number):
    os.kill(os.getpid(), signal.SIGKILL)


def fail_at_two(number):
    if number == 2:
        raise ValueError("two is not allowed")
    return number


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Dask cluster of two workers, each in a process of its own, on loopback, and its address with the keys."""
    distributed = pytest.importorskip("distributed")
    import dask

    keys = tmp_path_factory.mktemp("cluster") / "keys"
    make_keys(keys, datetime.now(timezone.utc))
    own = dask.config.set({"temporary_directory": str(tmp_path_factory.mktemp("dask"))})
    with (
        own,
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tls://",
            security=security(ClusterAddress("tls://127.0.0.1:0", keys)),
            dashboard_address="127.0.0.1:0",  # with None it would still take port 8787
            worker_dashboard_address=None,
        ) as made,
    ):
        made.address = ClusterAddress(made.scheduler_address, keys)
        yield made


def test_answers_come_in_the_order_of_the_tasks_and_progress_counts_them():
    seen = []
    assert run_all(slow_square, [3, 1, 2], jobs=1, progress=seen.append) == [9, 1, 4]
    assert seen == [1, 2, 3]


def test_local_processes_give_what_one_process_gives():
    assert run_all(bisection_mbps, CONFIGS, jobs=2) == serial()


def test_a_cluster_gives_what_one_process_gives(cluster):
    assert run_all(bisection_mbps, CONFIGS, cluster=cluster.address) == serial()


def test_a_killed_worker_of_a_cluster_loses_nothing(cluster):
    victims = [worker.pid for worker in cluster.workers.values()]
    assert len(set(victims)) == 2
    assert os.getpid() not in victims

    def kill_one(done):
        if done == 1:
            os.kill(victims[0], signal.SIGKILL)

    numbers = list(range(12))
    answers = run_all(slow_square, numbers, cluster=cluster.address, progress=kill_one)
    assert answers == [n * n for n in numbers]


def test_a_killed_local_worker_loses_nothing(tmp_path):
    assert run_all(partial(die_once, str(tmp_path)), [0, 1, 2, 3], jobs=2) == [0, 1, 4, 9]
    assert (tmp_path / "died").exists()


def test_workers_that_always_die_are_given_up_on(monkeypatch):
    monkeypatch.setattr(pool, "ATTEMPTS", 1)
    with pytest.raises(RuntimeError, match="2 simulations are not done"):
        run_all(die_always, [1, 2], jobs=2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_task_raises_comes_through(jobs):
    with pytest.raises(ValueError, match="two is not allowed"):
        run_all(fail_at_two, [1, 2, 3], jobs=jobs)


def test_a_cluster_that_does_not_answer_is_an_error(monkeypatch, tmp_path):
    pytest.importorskip("distributed")
    make_keys(tmp_path / "keys", datetime.now(timezone.utc))
    monkeypatch.setattr(cluster_module, "CONNECT_S", 1.0)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9"):
        run_all(slow_square, [1], cluster=ClusterAddress("tls://127.0.0.1:9", tmp_path / "keys"))


@pytest.mark.timeout(300)
def test_a_cluster_without_workers_says_so(monkeypatch, tmp_path):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(pool, "NO_WORKER_S", 0.5, raising=False)
    make_keys(tmp_path / "keys", datetime.now(timezone.utc))
    guard = security(ClusterAddress("tls://127.0.0.1:0", tmp_path / "keys"))
    with (
        distributed.LocalCluster(
            n_workers=0, host="127.0.0.1", protocol="tls://", security=guard, dashboard_address="127.0.0.1:0"
        ) as empty,
        pytest.raises(RuntimeError, match="this cluster has no workers"),
    ):
        run_all(slow_square, [1], cluster=ClusterAddress(empty.scheduler_address, tmp_path / "keys"))


def test_a_result_crosses_processes_whole():
    from simulator.driver import simulate

    config = Config("hedera-sa", "published:stride8", seconds=12.0)
    here = simulate(config)
    there = run_all(simulate, [config, config], jobs=2)
    for other in there:
        assert other.rounds == here.rounds
        np.testing.assert_array_equal(other.total_mbps, here.total_mbps)
        np.testing.assert_array_equal(other.core, here.core)


@pytest.mark.parametrize("ending", ["ctrl-c", "polite", "kill"])
def test_an_end_is_the_end_of_everything_at_once(ending):
    """Ctrl-C goes to the whole group; a kill to the caller alone, which neither waits for tasks nor leaves them."""
    code = (
        "import signal, time\n"
        "from workers.pool import run_all\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        # As at a terminal: what a script starts in the background inherits that Ctrl-C means nothing.
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    run_all(time.sleep, [0.01] * 2 + [20] * 10, jobs=2, progress=lambda n: print(n, flush=True))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as caller:
        caller.stdout.readline()
        caller.stdout.readline()
        if ending == "ctrl-c":
            os.killpg(caller.pid, signal.SIGINT)
        else:
            caller.send_signal(signal.SIGTERM if ending == "polite" else signal.SIGKILL)
        deadline = time.monotonic() + 15
        caller.wait(timeout=120)
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(caller.pid, 0)
            time.sleep(0.1)


def test_a_script_s_background_hears_of_no_ctrl_c():
    """Neither does its pool, whose workers died of it."""
    code = (
        "import os, signal, time\n"
        "from workers import pool\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    pool.ATTEMPTS = 1\n"
        "    hit = lambda n: n == 1 and os.killpg(0, signal.SIGINT)\n"
        "    print(len(pool.run_all(time.sleep, [0.01] + [1] * 3, jobs=2, progress=hit)))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as caller:
        assert caller.communicate(timeout=120) == ("4\n", "")
