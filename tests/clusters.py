"""Dask clusters of this machine, over TLS, as a user starts them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from harness.network.processes import wait_until
from tests.commands import PATIENCE_S, USER, of_user

DASK = [sys.executable, "-m", "dask"]


def settings(folder):
    """A certificate that signs itself, as Dask's own settings in the environment."""
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=hedera"]
    subprocess.run([*made, "-keyout", "key.pem", "-out", "cert.pem"], cwd=folder, check=True, capture_output=True)
    (folder / "key.pem").chmod(0o644)
    of_tls = {"CA_FILE": "cert.pem"}
    for role in ("CLIENT", "SCHEDULER", "WORKER"):
        of_tls |= {f"{role}__CERT": "cert.pem", f"{role}__KEY": "key.pem"}
    named = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(folder / file) for name, file in of_tls.items()}
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, **named, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true", "HOME": str(folder)}


@contextmanager
def dask_cluster(**of_scheduler):
    """A scheduler: its ``folder``, ``environment``, ``address``, and ``worker(as_root, **variables)``, which starts a
    worker with one thread. They run as an ordinary user where we are root. ``of_scheduler``: variables of its own."""
    folder = Path(tempfile.mkdtemp(prefix="hedera-cluster-"))
    folder.chmod(0o755)
    environment = settings(folder)
    if of_user():
        os.chown(folder, USER, USER)
    processes = []

    def start(words, variables, as_root=False):
        with (folder / f"{words[0]}-{len(processes)}.txt").open("wb") as said:
            user = {} if as_root else of_user()
            both = {"stdout": said, "stderr": said, "cwd": folder, "env": environment | variables}
            processes.append(subprocess.Popen([*DASK, *words], **both, **user))
        return processes[-1]

    def worker(as_root=False, **variables):
        return start(["worker", "--scheduler-file", file, "--protocol", "tls", "--nthreads", "1", "--no-nanny",
                      "--no-dashboard", "--local-directory", folder], variables, as_root)  # fmt: skip

    try:
        file = folder / "scheduler.json"
        start(["scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
               "--scheduler-file", file], of_scheduler)  # fmt: skip
        # It is there before it is written.
        written = wait_until(lambda: file.exists() and file.read_text().endswith("}"), PATIENCE_S)
        assert written, (folder / "scheduler-0.txt").read_text()
        address = json.loads(file.read_text())["address"]
        yield SimpleNamespace(folder=folder, environment=environment, address=address, worker=worker)
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
        shutil.rmtree(folder)
