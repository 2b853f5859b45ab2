"""Another user of the machine, without a right of root's or of whom it attacks."""

import os
import subprocess
import sys
from pathlib import Path

UID = 65534
# The code may lie where only root gets, so what an attack needs is imported first.
_BECOME = f"""
import ctypes, http.client, os, pickle, socket, ssl, stat, sys, time
from pathlib import Path
os.setgroups([])
os.setresgid({UID}, {UID}, {UID})
os.setresuid({UID}, {UID}, {UID})
assert os.getresuid() == ({UID}, {UID}, {UID})
"""


def attack(program, *words, seconds=60.0):
    """What a program says that runs as the enemy, with these words in sys.argv; it has to get through to its end."""
    done = subprocess.run(
        [sys.executable, "-c", _BECOME + program, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def begin(program, *words):
    """The same, still at work: it has said one line, ``ready``. End it by `end`."""
    process = subprocess.Popen(
        [sys.executable, "-c", _BECOME + program, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd="/",
    )
    said = process.stdout.readline().split()
    assert said[:1] == ["ready"], said
    return process, said[1:]


def end(process):
    """End what `begin` began."""
    process.kill()
    process.communicate()


def theirs(place, mode=0o755):
    """A new folder of the enemy's, at a place that it reaches."""
    for folder in place.parents:
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o001)
    place.mkdir()
    os.chown(place, UID, UID)
    place.chmod(mode)
    return place


ROOT = Path(__file__).parents[2]
DASK = f"""
import asyncio, datetime, logging
sys.path.insert(0, {str(ROOT)!r})
import distributed, distributed.comm.tcp, distributed.protocol.pickle
import cryptography.hazmat.primitives.asymmetric.ec
from workers.cluster import ClusterAddress, security
from workers.keys import make_keys
logging.disable()

def whoami(*_):
    return os.geteuid()

def try_all(address, guard):
    "Everything by which a Dask client has others run its functions."
    try:
        with distributed.Client(address, timeout=4, security=guard, set_as_default=False) as client:
            print("uid", client.run_on_scheduler(whoami), client.run(whoami))
            print("uid", client.submit(whoami).result(timeout=10))
    except (OSError, TimeoutError, RuntimeError) as error:
        print("refused", type(error).__name__)
"""
