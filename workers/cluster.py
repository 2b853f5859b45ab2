"""A Dask cluster: the address of its scheduler, who may connect, and how.

Dask sends functions and answers as pickles. Whoever can send a pickle can run any code at the other end; over
loopback that is every user of the machine. So connections use TLS with the cluster's own keys (`workers.keys`). Only
ordinary users may use plain TCP, to run simulations on a scheduler that somebody else runs.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from workers.keys import read_keys

CONNECT_S = 20.0
"""How long a cluster may take to answer, seconds."""
KEYS = Path("cluster-keys")
"""The default folder of keys."""
PORT = 8786
"""Dask's own choice for schedulers."""
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.daemon": False,
    # A machine that is making a run answers slowly; that must not count as a lost worker.
    "distributed.comm.timeouts.connect": "60s",
    "distributed.comm.timeouts.tcp": "120s",
    "distributed.scheduler.worker-ttl": "10 minutes",
}
"""Dask's settings for our schedulers and workers: runs are not disturbed, and there is no HTTP server."""


class ClusterAddress(str):
    """The address of a Dask scheduler, ``tls://HOST:PORT`` or ``tcp://HOST:PORT``, and the folder of keys for TLS.

    Raises ValueError for anything else.
    """

    keys: Path

    def __new__(cls, address: str, keys: Path = KEYS) -> ClusterAddress:  # noqa: D102
        if not re.fullmatch(r"(tls|tcp)://([\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}", address):
            raise ValueError(f"a cluster is tls://HOST:PORT (or tcp://HOST:PORT), not {address!r}")
        made = super().__new__(cls, address)
        made.keys = keys
        return made

    @property
    def encrypted(self) -> bool:
        """Whether connections use TLS."""
        return self.startswith("tls://")

    @property
    def host(self) -> str:
        """The name or address of its machine."""
        return self.partition("://")[2].rpartition(":")[0].strip("[]")

    def require_encrypted(self) -> None:
        """Raise ValueError unless only holders of the cluster's keys can connect."""
        if not self.encrypted:
            raise ValueError(
                f"{self} is not encrypted: whoever can connect, such as any user of this machine, would be root "
                "at the other end; use tls:// (hedera cluster keys makes the keys)"
            )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine's loopback, by address or as ``localhost``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def security(address: ClusterAddress) -> Any:
    """Dask's ``Security`` for an address; None for plain TCP. ValueError when its keys cannot be used."""
    if not address.encrypted:
        return None
    require_dask()
    from distributed import Security

    keys = read_keys(address.keys, datetime.now(timezone.utc))
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=keys.authority,
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        **{f"tls_{role}_cert": keys.certificate for role in roles},
        **{f"tls_{role}_key": keys.key for role in roles},
    )


def require_dask() -> None:
    """Raise RuntimeError, with what to install, if Dask is missing."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise RuntimeError("--cluster needs Dask: setup/install.sh --cluster (or pip install '.[cluster]')") from None


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A ``distributed.Client`` of the cluster while the block runs; plain addresses may be plain strings.

    Raises ValueError for an invalid address or keys, and for a plain address if we are root; RuntimeError without
    Dask; OSError when no scheduler with the same keys answers within CONNECT_S.
    """
    scheduler = address if isinstance(address, ClusterAddress) else ClusterAddress(address)
    if 0 in os.getresuid():  # an answer is a pickle, and so can run code as well
        scheduler.require_encrypted()
    require_dask()
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we report an error once, in one sentence
    guard = security(scheduler)
    try:
        client = Client(str(scheduler), timeout=CONNECT_S, security=guard, set_as_default=False)
    except (OSError, TimeoutError) as error:
        hint = ", or its keys are not those of " + str(scheduler.keys) if guard else ""
        raise OSError(f"no Dask scheduler answers at {scheduler}{hint}") from error
    with client:
        yield client
