"""Tasks of processes of this machine, and of workers of a real Dask scheduler over TLS."""

import os
import shutil
import signal
from functools import partial
from pathlib import Path

import pytest

from record import tasks
from record.errors import UnfitMachine, WorkerFailed
from record.tasks import run_tasks
from tests.clusters import dask_cluster
from tests.commands import PROJECT


def noted(folder):
    """Says in the folder that a task was called, and in which process; how many calls there are now."""
    (folder / f"call-{len(list(folder.iterdir()))}").write_text(str(os.getpid()))
    return len(list(folder.iterdir()))


def doubled(number):
    return 2 * number


def fails(folder):
    noted(folder)
    raise ValueError("this run fails by itself")


def dies_at_first(folder):
    if noted(folder) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def dies_always(folder):
    noted(folder)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def calls(cluster):
    """A folder where any user's tasks say that they were called."""
    folder = cluster.folder / "calls"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def scheduler():
    """Variables of the scheduler."""
    return {}


@pytest.fixture
def cluster(scheduler):
    import dask
    import distributed  # noqa: F401 (its defaults are there before some are overridden)

    with dask_cluster(**scheduler) as made:
        named = {name[5:]: word for name, word in made.environment.items() if name.startswith("DASK_")}
        with dask.config.set({name.lower().replace("__", "."): word for name, word in named.items()}):
            made.run = partial(run_tasks, "tests", address=made.address)
            yield made


def workers_of(cluster, number):
    """So many, each as soon as it answers; they find these tests' functions."""
    return [cluster.worker(PYTHONPATH=str(PROJECT)) for _ in range(number)]


def answered(folder):
    return len(list(folder.iterdir()))


@pytest.mark.slow
def test_tasks_are_answered_in_their_order_by_all_workers(cluster):
    workers_of(cluster, 2)
    assert cluster.run(doubled, list(range(20))) == list(range(0, 40, 2))


@pytest.mark.slow
def test_a_task_that_raises_is_called_once(cluster, calls):
    workers_of(cluster, 2)
    with pytest.raises(ValueError, match="fails by itself"):
        cluster.run(fails, [calls])
    assert answered(calls) == 1


@pytest.mark.slow
def test_a_lost_worker_s_task_is_done_by_the_other(cluster, calls):
    workers_of(cluster, 2)
    assert cluster.run(dies_at_first, [calls]) == ["done"]
    assert answered(calls) == 2
    assert len({path.read_text() for path in calls.iterdir()}) == 2


ALLOWED = "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"


@pytest.mark.slow
@pytest.mark.parametrize(("scheduler", "times"), [({ALLOWED: "0"}, 1), ({}, 4)], ids=["none", "by default"])
def test_the_scheduler_says_how_many_workers_may_be_lost_with_a_task(cluster, calls, times):
    workers_of(cluster, times + 1)
    with pytest.raises(WorkerFailed, match="lost with this task"):
        cluster.run(dies_always, [calls])
    assert answered(calls) == times


@pytest.mark.slow
@pytest.mark.parametrize("has_the_function", [True, False])
def test_a_worker_with_other_code_ends_all_at_once(cluster, calls, has_the_function):
    other = cluster.folder / "other"
    for room in (*tasks.ROOMS, "tests"):
        shutil.copytree(PROJECT / room, other / room, ignore=shutil.ignore_patterns("__pycache__"))
    if has_the_function:
        with (other / "topos" / "fattree.py").open("a") as code:
            code.write("# another revision\n")
    else:
        (other / "tests" / "record" / Path(__file__).name).unlink()
    cluster.worker(PYTHONPATH=str(other))
    why = "" if has_the_function else r" \(No module named"
    with pytest.raises(UnfitMachine, match=f"a worker has other code{why}"):
        cluster.run(noted, [calls])
    assert not answered(calls)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a worker as root")
def test_a_worker_as_root_ends_all_though_another_is_fit(cluster, calls):
    fit = cluster.worker(PYTHONPATH=str(PROJECT))
    cluster.run(noted, [calls])
    cluster.worker(as_root=True, PYTHONPATH=str(PROJECT))
    with pytest.raises(UnfitMachine, match="a worker runs as root"):
        for _ in range(100):  # until it has come, and got a task
            cluster.run(noted, [calls] * 8)
    assert {path.read_text() for path in calls.iterdir()} == {str(fit.pid)}


def test_here_a_task_that_raises_is_called_once(tmp_path):
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        with pytest.raises(ValueError, match="fails by itself"):
            run_tasks("tests", fails, [folder] * jobs, jobs=jobs)
        assert 1 <= answered(folder) <= jobs


@pytest.mark.slow
def test_here_a_dead_process_s_task_is_done_by_a_new_pool(tmp_path):
    assert run_tasks("tests", dies_at_first, [tmp_path, tmp_path], jobs=2) == ["done", "done"]
