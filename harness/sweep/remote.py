"""What a worker of a cluster does for a sweep: says what it is, and makes runs, each in a process of its own.

These functions are called in a Dask worker, by name. What they are asked for is plain data, checked by the process
that acts on it (`hedera cluster job`): a run as `hedera run` makes it, or the rate that this machine carries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from harness.errors import UserMistake
from harness.run.spec import RunSpec
from harness.sweep import enclosed


def request(kind: str, spec: RunSpec, worker: str) -> dict[str, Any]:
    """What to ask of a worker, as plain data: a ``run``, or the ``rates`` that it carries.

    UserMistake where a file that the run names cannot be sent.
    """
    contents = enclosed.contents_of(spec)
    return {
        "kind": kind,
        "spec": spec.as_json(),
        "worker": worker,
        "files": enclosed.hashes_of(contents),
        "contents": contents,
    }


def spec_of(asked: Mapping[str, Any]) -> RunSpec:
    """The spec of a request. UserMistake when it is none, or names another file than those that were sent.

    What was sent has its place by now (`enclosed.found`).
    """
    try:
        spec = msgspec.convert(asked["spec"], RunSpec)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise UserMistake(f"this is no run that this revision knows: {error}") from None
    if odd := sorted(set(enclosed.names_of(spec)) ^ set(asked.get("files", {}))):
        raise UserMistake(f"{', '.join(odd)}: what the run names is not what was sent with it")
    return spec
