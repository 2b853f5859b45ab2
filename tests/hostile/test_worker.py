"""Attacks on the scheduler and the workers of a cluster, and on those who look for them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from harness.errors import RunFailed
from harness.sweep import fleet as fleet_module
from harness.sweep.fleet import Fleet
from tests.harness.sweep.test_fleet import CODE, Heard
from tests.hostile.enemy import DASK, ROOT, attack, begin, end, theirs
from tests.workers.test_keys import SCHEDULER, WORKER
from workers import cluster
from workers.cluster import ClusterAddress, connected
from workers.keys import make_keys
from workers.pool import run_all

pytest.importorskip("distributed")
pytestmark = pytest.mark.timeout(600)
NOW = datetime.now(timezone.utc)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A scheduler and a worker of root's on loopback: the scheduler's address, with the keys, and the worker's."""
    folder = tmp_path_factory.mktemp("cluster")
    make_keys(folder / "keys", NOW)
    ask = {
        "stdout": subprocess.PIPE,
        "text": True,
        "cwd": folder,
        "env": {**os.environ, "TMPDIR": str(folder)},
    }
    scheduler = subprocess.Popen([sys.executable, "-c", SCHEDULER, "tls://127.0.0.1:0", folder / "keys"], **ask)
    address = ClusterAddress(scheduler.stdout.readline().strip(), folder / "keys")
    worker = subprocess.Popen([sys.executable, "-c", WORKER, address, folder / "keys", "one"], **ask)
    yield address, worker.stdout.readline().strip(), (scheduler, worker)
    for process in (worker, scheduler):
        process.kill()
        process.communicate()


def assert_it_serves(place):
    with connected(place[0]) as client:
        assert client.submit(pow, 2, 10, resources={"machine": 1}).result(timeout=120) == 1024
        assert len(client.nthreads()) == 1


@pytest.mark.root
def test_functions_for_a_worker_of_root_s_without_keys(place):
    """Another user of the machine runs functions on scheduler and worker, which listen on loopback, by plain TCP."""
    for address in place[:2]:
        said = attack(DASK + "try_all(sys.argv[1], None)", f"tcp{address[3:]}")
        assert said.startswith("refused"), said
    assert_it_serves(place)


@pytest.mark.root
def test_functions_for_a_worker_of_root_s_with_other_keys(place, tmp_path):
    """Another user makes keys of its own, which look like ours, and runs functions with them."""
    program = DASK + (
        "folder = Path(sys.argv[2])\n"
        "make_keys(folder / 'keys', datetime.datetime.now(datetime.timezone.utc))\n"
        "try_all(sys.argv[1], security(ClusterAddress(sys.argv[1], folder / 'keys')))\n"
    )
    for number, address in enumerate(place[:2]):
        said = attack(program, address, theirs(tmp_path / str(number)))
        assert said.startswith("refused"), said
    assert_it_serves(place)


@pytest.mark.root
@pytest.mark.parametrize("guard", ["no certificate", "a certificate of its own"])
def test_pickles_over_tls_without_keys(place, tmp_path, guard):
    """Another user speaks TLS to scheduler and worker and sends a pickle that runs a program as whoever opens it."""
    program = DASK + (
        "class Program:\n"
        "    def __reduce__(self):\n"
        "        return os.system, (f'touch {sys.argv[2]}/won',)\n"
        "context = ssl.create_default_context()\n"
        "context.check_hostname, context.verify_mode = False, ssl.CERT_NONE\n"
        "if 'own' in sys.argv[3]:\n"
        "    make_keys(Path(sys.argv[2]) / 'keys', datetime.datetime.now(datetime.timezone.utc))\n"
        "    context.load_cert_chain(Path(sys.argv[2]) / 'keys/cert.pem', Path(sys.argv[2]) / 'keys/key.pem')\n"
        "host, _, port = sys.argv[1].partition('://')[2].rpartition(':')\n"
        "frame = pickle.dumps(Program())\n"
        "try:\n"
        "    with context.wrap_socket(socket.create_connection((host, int(port)), timeout=5)) as peer:\n"
        "        peer.sendall((1).to_bytes(8, 'little') + len(frame).to_bytes(8, 'little') + frame)\n"
        "        peer.recv(100) and print('answered')\n"
        "except OSError:\n"
        "    print('refused')\n"
    )
    for number, address in enumerate(place[:2]):
        mine = theirs(tmp_path / str(number))
        assert attack(program, address, mine, guard) == "refused\n"
        assert not (mine / "won").exists()
    assert_it_serves(place)


@pytest.mark.root
def test_a_worker_of_the_enemy_s_among_ours(place, tmp_path):
    """Another user joins the cluster as a worker, to be sent what others ask, and to answer with pickles."""
    program = DASK + (
        "async def join():\n"
        "    folder = Path(sys.argv[2])\n"
        "    make_keys(folder / 'keys', datetime.datetime.now(datetime.timezone.utc))\n"
        "    for address, guard in ((f'tcp{sys.argv[1][3:]}', None), (sys.argv[1],\n"
        "                            security(ClusterAddress(sys.argv[1], folder / 'keys')))):\n"
        "        try:\n"
        "            async with distributed.Worker(address, security=guard, local_directory=folder,\n"
        "                                          death_timeout=4, dashboard_address='127.0.0.1:0'):\n"
        "                print('joined')\n"
        "        except Exception as error:\n"
        "            print('refused')\n"
        "asyncio.run(join())\n"
    )
    assert attack(program, place[0], theirs(tmp_path / "mine")) == "refused\n" * 2
    assert_it_serves(place)


@pytest.mark.root
def test_noise_and_silence_for_scheduler_and_worker(place):
    """Another user opens 100 connections to each: half of them say nothing, half of them anything but TLS."""
    program = (
        "peers = []\n"
        "for address in sys.argv[1:]:\n"
        "    host, _, port = address.partition('://')[2].rpartition(':')\n"
        "    for number in range(100):\n"
        "        peers.append(socket.create_connection((host, int(port))))\n"
        "        if number % 2:\n"
        "            try:\n"
        "                peers[-1].sendall(os.urandom(5000) + b'GET / HTTP/1.1\\r\\n\\r\\n')\n"
        "            except OSError:\n"
        "                pass\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    noise, _ = begin(program, *place[:2])
    try:
        assert_it_serves(place)
    finally:
        end(noise)


@pytest.mark.root
def test_what_else_a_worker_of_root_s_listens_on(place):
    """Another user asks all that scheduler and worker listen on, Dask's web pages among it, for anything at all."""
    ports = sorted({port for process in place[2] for port in listening(process.pid, tcp=True)})
    program = (
        "for port in sys.argv[1:]:\n"
        "    for path in ('/', '/status', '/info/main/workers.html', '/metrics', '/json/counts.json', '/health',\n"
        "                 '/api/v1/workers', '/api/v1/retire_workers', '/proxy/80/127.0.0.1'):\n"
        "        try:\n"
        "            peer = http.client.HTTPConnection('127.0.0.1', int(port), timeout=5)\n"
        "            peer.request('GET', path)\n"
        "            print(peer.getresponse().status)\n"
        "        except (OSError, http.client.HTTPException):\n"
        "            print('refused')\n"
    )
    assert len(ports) == 4, "two that speak TLS, and two of pages"
    assert set(attack(program, *ports).split()) == {"404", "refused"}


@pytest.mark.root
@pytest.mark.parametrize("who", ["worker", "client", "scheduler"])
def test_a_scheduler_of_the_enemy_s_on_loopback(tmp_path, who):
    """Another user listens where root's worker or client looks for its scheduler, and sends it functions; or waits
    until root is the scheduler there."""
    program = DASK + (
        "async def serve():\n"
        "    async with distributed.Scheduler(host='tcp://127.0.0.1:0', dashboard=False,\n"
        "                                     dashboard_address='127.0.0.1:0') as made:\n"
        "        print('ready', made.address, flush=True)\n"
        "        while not made.workers and not made.clients.keys() - {'fire-and-forget'}:\n"
        "            await asyncio.sleep(0.05)\n"
        "        Path(sys.argv[1], 'came').touch()\n"
        "asyncio.run(serve())\n"
    )
    mine = theirs(tmp_path / "mine")
    process, (address,) = begin(program, mine)
    call = {
        "worker": "serve_worker(ClusterAddress(sys.argv[1]), 'w', {}, print)",
        "client": "connected(sys.argv[1]).__enter__()",
        "scheduler": "serve_scheduler(ClusterAddress('tcp://127.0.0.1:0'), print)",
    }[who]
    code = f"import sys\nfrom workers.cluster import *\nfrom workers.node import *\n{call}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, address],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=ROOT,
        )
        assert "is not encrypted: whoever can connect" in done.stderr
        assert done.stdout == ""
        assert not (mine / "came").exists()
    finally:
        end(process)


def test_a_scheduler_that_accepts_and_says_nothing(tmp_path, monkeypatch):
    """Whoever took the scheduler's port lets client and worker wait for ever."""
    make_keys(tmp_path / "keys", NOW)
    monkeypatch.setattr(cluster, "CONNECT_S", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = ClusterAddress(f"tls://127.0.0.1:{silent.getsockname()[1]}", tmp_path / "keys")
        with pytest.raises(OSError, match="no Dask scheduler answers"), connected(where):
            pytest.fail("connected")
        code = f"import sys, workers.node\nworkers.node.LOST_AFTER_S = 2.0\n{WORKER}"
        done = subprocess.run(
            [sys.executable, "-c", code, where, where.keys, "one"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=ROOT,
        )
        assert done.stderr.splitlines()[-1].startswith("OSError: no Dask scheduler answers at tls://")


def test_a_scheduler_that_falls_silent(tmp_path, monkeypatch):
    """A scheduler that is stopped, and keeps its connections, holds a sweep for ever."""
    monkeypatch.setattr(fleet_module, "SCHEDULER_S", 1.0)
    make_keys(tmp_path / "keys", NOW)
    scheduler = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER, "tls://127.0.0.1:0", tmp_path / "keys"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        with (
            pytest.raises(RunFailed, match="the cluster's scheduler does not answer"),
            connected(ClusterAddress(scheduler.stdout.readline().strip(), tmp_path / "keys")) as client,
        ):
            fleet = Fleet(client, Heard(), CODE)
            scheduler.send_signal(signal.SIGSTOP)
            fleet.gather()
    finally:
        scheduler.kill()
        scheduler.communicate()


@pytest.mark.root
def test_what_the_processes_of_jobs_listen_on():
    """Another user looks for a socket of root's pool of processes that it could send a pickle to."""
    found, before = [], started_by(os.getpid())
    ran = threading.Thread(target=run_all, args=(time.sleep, [4.0, 4.0]), kwargs={"jobs": 2})
    ran.start()
    time.sleep(2)
    pool = [pid for pid in started_by(os.getpid()) if pid not in before]
    for pid in [os.getpid(), *pool]:
        found += listening(pid)
    ran.join()
    assert len(pool) >= 2
    assert found == []


def started_by(pid):
    """What a process has started; not every kernel lists them below it."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def listening(pid, tcp=False):
    """Ports (``tcp``), or numbers of all stream sockets, TCP and Unix, that a process listens on."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = os.readlink(descriptor)
        except OSError:
            continue
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    found = []
    for table in Path(f"/proc/{pid}/net").glob("tcp*"):  # without IPv6 there is one
        for line in table.read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.append(int(words[1].rpartition(":")[2], 16) if tcp else words[9])
    if not tcp:
        for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
            words = line.split()
            if int(words[3], 16) & 0x10000 and words[6] in inodes:
                found.append(words[6])
    return found
