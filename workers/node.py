"""The two kinds of process in a cluster, which run until they are stopped: the scheduler, and a worker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from results.temporary import temporary_folder
from workers.cluster import QUIET, ClusterAddress, is_loopback, require_dask, security

LOST_AFTER_S = 120.0
"""How long a worker tries to reach its scheduler before it ends with an error, seconds."""
THREADS = 2
"""Threads of a worker: one for long tasks, and one to answer meanwhile."""


def serve_scheduler(address: ClusterAddress, told: Callable[[str], None]) -> None:
    """Run the scheduler at ``address`` until interrupted; ``told`` is called when it listens.

    Raises ValueError for a plain address, or unusable keys; OSError when the address is taken.
    """
    address.require_encrypted()
    guard = security(address)
    require_dask()
    import dask
    from distributed import Scheduler

    dask.config.set(QUIET)
    logging.getLogger("distributed").setLevel(logging.WARNING)

    async def serve() -> None:
        async with Scheduler(
            host=str(address), security=guard, dashboard=False, dashboard_address="127.0.0.1:0"
        ) as scheduler:
            told(scheduler.address)
            await scheduler.finished()

    asyncio.run(serve())


def serve_worker(
    address: ClusterAddress,
    name: str,
    resources: Mapping[str, float],
    told: Callable[[str], None],
    host: str | None = None,
    at_once: int = 1,
) -> None:
    """Run a worker of a scheduler until interrupted, or until no scheduler has answered for LOST_AFTER_S.

    A worker whose connection broke joins again; to its scheduler it is a new one.

    ``resources``: what tasks may ask for. ``host``: the address at which others reach this machine (default: the one
    on the route to the scheduler). ``at_once``: the number of workers to run: NAME, NAME-2 and so on.

    Raises ValueError as `serve_scheduler` does, and for another worker's ``name``; OSError when no scheduler answers.
    """
    address.require_encrypted()
    guard = security(address)
    require_dask()
    import dask
    from distributed import Worker

    dask.config.set(QUIET)
    logging.getLogger("distributed").setLevel(logging.WARNING)
    logging.getLogger("distributed.worker").setLevel(logging.INFO)  # logs why it lost its scheduler
    if host is None and is_loopback(address.host):
        host = address.host

    async def serve(name: str, folder: str) -> None:
        # No nanny: it would restart a worker under the same name, which is the job of what started us.
        options: dict[str, Any] = {
            "resources": dict(resources),
            "security": guard,
            "host": host,
            "nthreads": THREADS,
            "memory_limit": None,
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
            "death_timeout": LOST_AFTER_S,
        }
        try:
            while True:
                async with Worker(str(address), name=name, local_directory=folder, **options) as worker:
                    told(worker.address)
                    await worker.finished()
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise OSError(
                f"no Dask scheduler answers at {address}, or its keys are not those of {address.keys}"
            ) from error
        except RuntimeError as error:
            if "name taken" not in str(error.__cause__):
                raise
            raise ValueError(
                f"the scheduler at {address} already has a worker {name}: start one per machine, and give another "
                "machine another --name"
            ) from None

    async def serve_all(folder: str) -> None:
        more = (f"{name}-{number}" for number in range(2, at_once + 1))
        await asyncio.gather(*(serve(each, folder) for each in (name, *more)))

    with temporary_folder("worker") as folder:
        asyncio.run(serve_all(str(folder)))
