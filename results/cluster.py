"""A Dask cluster as an Executor: Dask's own commands start it, and Dask's own TLS settings guard it (docs/cluster.md).

Dask sends functions and answers as pickles. Whoever can send a pickle can run any code at the other end; over
loopback that is every user of the machine. So nothing unencrypted is used.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import cast

CONNECT_S = 20.0
"""How long a cluster, and then its first worker, may take to answer, seconds."""
RETRIES = 3
"""How often Dask gives a task to another worker when one is lost with it."""


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """The workers of the scheduler at ``tls://HOST:PORT`` while the block runs, and how many threads they have; what is
    unfinished then is cancelled.

    Raises ValueError for another address and where Dask's settings name no certificates; RuntimeError without Dask or
    workers; OSError when no scheduler with the same authority answers.
    """
    if not re.fullmatch(r"tls://([\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}", address):
        raise ValueError(
            f"a cluster is tls://HOST:PORT, not {address!r}: unencrypted, whoever can connect could run any code"
        )
    try:
        import dask
        from distributed import Client, Security
    except ImportError:
        raise RuntimeError("--cluster needs Dask: setup/install.sh --cluster (or pip install '.[cluster]')") from None
    for name in ("ca-file", "client.cert", "client.key"):
        if not dask.config.get(f"distributed.comm.tls.{name}", None):
            raise ValueError(f"Dask's setting distributed.comm.tls.{name} names no file (docs/cluster.md)")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # an error is reported once, in one sentence
    try:
        client = Client(address, timeout=CONNECT_S, security=Security(require_encryption=True), set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise OSError(f"no Dask scheduler with these certificates answers at {address}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            raise RuntimeError(f"the cluster at {address} has no workers: start some with dask worker") from None
        executor = cast(Executor, client.get_executor(pure=False, retries=RETRIES))
        try:
            yield executor, sum(client.nthreads().values())
        finally:
            executor.shutdown(wait=False)
