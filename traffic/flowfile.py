"""Flows from a file of the user's, in one of two formats.

CSV, recognised by its header: ``src_host,dst_host`` and any further columns, host numbers from 0::

    src_host,dst_host
    0,4
    1,5

or the lines of the load generator that the paper's testbed used: white-space columns
``src_ip dst_ip dst_port type seed start stop size ...``, one flow per line::

    10.0.0.2 10.1.0.2 5001 tcp 1 0.0 60.0 0

In both, ``#`` starts a comment, and what follows the two hosts is not used: all flows start together and last
for the whole run, as in section 6.2 of the paper.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from topos.network import Network
from traffic.matrix import Matrix

MAX_BYTES = 20_000_000
"""Larger files are refused."""


def read_flows(path: str | Path, network: Network) -> Matrix:
    """The flows of a file, in its order.

    Raises ValueError with one sentence that names the file, and the line where there is one: a file that
    cannot be read or is no text, a header without the two columns, a host that the network does not have, a
    self-flow, no flow at all.
    """
    path = Path(path)
    lines = list(_lines(path))
    if not lines:
        raise ValueError(f"{path} holds no flow")
    number, first = lines[0]
    if "," in first or "src_host" in first:
        hosts = _from_csv(path, lines, network)
    else:
        hosts = _from_load_generator(path, lines, network)
    flows = list(hosts)
    if not flows:
        raise ValueError(f"{path} holds no flow, only a header in line {number}")
    src, dst = np.array(flows, dtype=np.int32).T
    return Matrix(src, dst, network.num_hosts, f"file:{path}")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers from 1, without comments."""
    try:
        if not path.is_file():
            raise ValueError(f"{path} is {'not a file' if path.exists() else 'not there'}")
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path} is larger than {MAX_BYTES // 10**6} MB")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        content = re.sub(r"(^|\s)#.*", "", line).strip()
        if content:
            yield number, content


def _from_csv(path: Path, lines: list[tuple[int, str]], network: Network) -> Iterator[tuple[int, int]]:
    number, header = lines[0]
    columns = [name.strip() for name in _cells(path, number, header)]
    if not {"src_host", "dst_host"} <= set(columns):
        raise ValueError(
            f"{path} line {number}: the header of a CSV file must have the columns src_host,dst_host"
        )
    source, destination = columns.index("src_host"), columns.index("dst_host")
    for number, line in lines[1:]:
        cells = _cells(path, number, line)
        if len(cells) <= max(source, destination):
            raise ValueError(f"{path} line {number} has {len(cells)} columns, the header has {len(columns)}")
        src, dst = (_host(path, number, cells[column], network) for column in (source, destination))
        yield _flow(path, number, src, dst)


def _cells(path: Path, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise ValueError(f"{path} line {number} is not CSV: {error}") from None


def _from_load_generator(
    path: Path, lines: list[tuple[int, str]], network: Network
) -> Iterator[tuple[int, int]]:
    hosts = network.host_by_ip
    for number, line in lines:
        addresses = line.split()[:2]
        if len(addresses) < 2:
            raise ValueError(f"{path} line {number} needs a source and a destination address: {_short(line)}")
        for address in addresses:
            if address not in hosts:
                raise ValueError(
                    f"{path} line {number}: {_short(address)} is not the address of a host; they are "
                    f"{network.host_ip(0)} to {network.host_ip(network.num_hosts - 1)}"
                )
        yield _flow(path, number, hosts[addresses[0]], hosts[addresses[1]])


def _host(path: Path, number: int, cell: str, network: Network) -> int:
    text = cell.strip()
    if not (text.isascii() and text.lstrip("-").isdigit()):
        raise ValueError(f"{path} line {number}: {_short(text)} is not a host number")
    if text.startswith("-") or len(text) > 9 or int(text) >= network.num_hosts:
        raise ValueError(
            f"{path} line {number}: there is no host {_short(text)}, only 0 to {network.num_hosts - 1}"
        )
    return int(text)


def _flow(path: Path, number: int, src: int, dst: int) -> tuple[int, int]:
    if src == dst:
        raise ValueError(f"{path} line {number}: the flow goes from host {src} to itself")
    return src, dst


def _short(text: str) -> str:
    """User text for an error message: quoted, control characters escaped, not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
