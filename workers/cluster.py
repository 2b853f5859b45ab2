"""A Dask cluster: where its scheduler listens, who may speak with it, and how to.

Dask sends functions and answers as pickles, and whoever may send a pickle runs what they like at the other end: over
loopback every user of the machine. So all is spoken over TLS with the cluster's own keys (`workers.keys`); plainly
only by ordinary users who ask for simulations of a scheduler that somebody else runs.
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
"""How long a cluster may take to answer."""
KEYS = Path("cluster-keys")
"""The folder of keys, unless told."""
PORT = 8786
"""Dask's own choice for schedulers."""
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.daemon": False,
    # A machine that makes a run has little time for anything else, and is not lost for that.
    "distributed.comm.timeouts.connect": "60s",
    "distributed.comm.timeouts.tcp": "120s",
    "distributed.scheduler.worker-ttl": "10 minutes",
}
"""Dask's settings of our schedulers and workers: runs are not disturbed, nothing is shown by HTTP."""


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
        """Whether it is spoken to over TLS."""
        return self.startswith("tls://")

    @property
    def host(self) -> str:
        """The name or number of its machine."""
        return self.partition("://")[2].rpartition(":")[0].strip("[]")

    def require_encrypted(self) -> None:
        """ValueError unless none but holders of the cluster's keys can speak there."""
        if not self.encrypted:
            raise ValueError(
                f"{self} is not encrypted: whoever reaches it, any user of this machine, would be root at the other "
                "end; use tls:// (hedera cluster keys makes what that needs)"
            )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine's loopback, by number or as ``localhost``."""
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
    """RuntimeError, with what to install, when Dask is not there."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise RuntimeError(
            "--cluster needs Dask: setup/install.sh --cluster (or pip install '.[cluster]')"
        ) from None


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A ``distributed.Client`` of the cluster while the block runs; plain addresses may be plain strings.

    Raises ValueError for an address or keys that make no sense, and for a plain address where we are root;
    RuntimeError without Dask, OSError when nobody who holds the same keys answers within CONNECT_S.
    """
    scheduler = address if isinstance(address, ClusterAddress) else ClusterAddress(address)
    if 0 in os.getresuid():  # what comes back is a program as well
        scheduler.require_encrypted()
    require_dask()
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what went wrong is told once, and in words
    guard = security(scheduler)
    try:
        client = Client(str(scheduler), timeout=CONNECT_S, security=guard, set_as_default=False)
    except (OSError, TimeoutError) as error:
        hint = ", or its keys are not those of " + str(scheduler.keys) if guard else ""
        raise OSError(f"no Dask scheduler answers at {scheduler}{hint}") from error
    with client:
        yield client
