"""Flows from a file of the user's, in one of two formats.

CSV, recognised by its header: ``src_host,dst_host``, host numbers from 0, and whatever further columns. Two of these
say when a flow starts (seconds after the start of the run) and how much it sends (payload)::

    src_host,dst_host,start_s,size_bytes
    0,4,0.0,1000000
    1,5,0.25,

or the lines of the load generator that the paper's testbed used: white-space columns
``src_ip dst_ip dst_port type seed start stop size ...``, one flow per line, sizes in bytes::

    10.0.0.2 10.1.0.2 5001 tcp 1 0.0 60.0 0

In both, ``#`` starts a comment. A flow without a start begins with the run, one without a size, or of size 0, sends
until the run ends. No other column is used.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from files.rights import make_folder
from files.writer import whole
from topos.arrays import Float64, Int32
from topos.network import Network
from traffic.flows import LASTING, Flows
from traffic.matrix import Matrix
from traffic.textfile import read_text, short

MAX_BYTES = 20_000_000
"""Larger files are refused."""
_START, _SIZE = 5, 7  # columns of the load generator's lines, from 0


MAX_SECONDS = 1e9
MAX_FLOW_BYTES = 1e15
"""What a start and a size may be."""


class Listed(NamedTuple):
    """The flows of a file, in its order: arrays of shape (flows,), sizes in bytes or LASTING."""

    src: Int32
    dst: Int32
    start_s: Float64
    size_bytes: Float64


def write_flows(path: str | Path, blocks: Iterable[Flows]) -> int:
    """Record flows, such as `traffic.workload.Workload.blocks`, as CSV that gives the very same; returns how many.

    Raises ValueError when one waits for another's end, which these columns cannot say; then nothing is left behind.
    """
    path = Path(path)
    make_folder(path.parent)
    count = 0
    with whole(path) as file:
        file.write(b"src_host,dst_host,start_s,size_bytes\n")
        for flow in (flow for block in blocks for flow in block):
            if flow.after is not None:
                raise ValueError("flows that take turns have no start that a file could name")
            file.write(f"{flow.src},{flow.dst},{flow.start_s!r},{flow.size_bytes or ''}\n".encode())
            count += 1
    return count


class _Row(NamedTuple):
    src: int
    dst: int
    start_s: float
    size_bytes: float


def read_flows(path: str | Path, network: Network) -> Matrix:
    """Who sends to whom in a file; raises ValueError as `read_listed` does."""
    listed = read_listed(path, network)
    return Matrix(listed.src, listed.dst, network.num_hosts, f"file:{path}")


def read_listed(path: str | Path, network: Network) -> Listed:
    """The flows of a file with their starts and sizes.

    Raises ValueError with one sentence that names the file, and the line where there is one: a file that
    cannot be read or is no text, a header without the two columns, a host that the network does not have, a
    self-flow, a start or a size that is none, no flow at all.
    """
    return listed_in(read_text(Path(path), MAX_BYTES), str(path), network)


def listed_in(text: str, path: str, network: Network) -> Listed:
    """The flows that a text has in one of the formats; ``path`` is what sentences call it. ValueError as above."""
    lines = list(_lines(text))
    if not lines:
        raise ValueError(f"{path} holds no flow")
    number, first = lines[0]
    if "," in first or "src_host" in first:
        rows = list(_from_csv(path, lines, network))
    else:
        rows = list(_from_load_generator(path, lines, network))
    if not rows:
        raise ValueError(f"{path} holds no flow, only a header in line {number}")
    src, dst, start_s, size_bytes = zip(*rows, strict=True)
    size = np.array(size_bytes, dtype=np.float64)
    return Listed(
        np.array(src, dtype=np.int32),
        np.array(dst, dtype=np.int32),
        np.array(start_s, dtype=np.float64),
        np.where(size == 0, LASTING, size),
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers from 1, without comments."""
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        content = re.sub(r"(^|\s)#.*", "", line).strip()
        if content:
            yield number, content


def _from_csv(path: str, lines: list[tuple[int, str]], network: Network) -> Iterator[_Row]:
    number, header = lines[0]
    columns = [name.strip() for name in _cells(path, number, header)]
    if not {"src_host", "dst_host"} <= set(columns):
        raise ValueError(f"{path} line {number}: the header of a CSV file must have the columns src_host,dst_host")
    source, destination = columns.index("src_host"), columns.index("dst_host")
    timing = [columns.index(name) if name in columns else None for name in ("start_s", "size_bytes")]
    for number, line in lines[1:]:
        cells = _cells(path, number, line)
        if len(cells) <= max(source, destination):
            raise ValueError(f"{path} line {number} has {len(cells)} columns, the header has {len(columns)}")
        src, dst = (_host(path, number, cells[column], network) for column in (source, destination))
        yield _row(path, number, src, dst, *(_cell(cells, column) for column in timing))


def _cells(path: str, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise ValueError(f"{path} line {number} is not CSV: {error}") from None


def _cell(cells: list[str], column: int | None) -> str:
    return cells[column].strip() if column is not None and column < len(cells) else ""


def _from_load_generator(path: str, lines: list[tuple[int, str]], network: Network) -> Iterator[_Row]:
    hosts = network.host_by_ip
    for number, line in lines:
        cells = line.split()
        addresses = cells[:2]
        if len(addresses) < 2:
            raise ValueError(f"{path} line {number} needs a source and a destination address: {short(line)}")
        for address in addresses:
            if address not in hosts:
                raise ValueError(
                    f"{path} line {number}: {short(address)} is not the address of a host; they are "
                    f"{network.host_ip(0)} to {network.host_ip(network.num_hosts - 1)}"
                )
        src, dst = (hosts[address] for address in addresses)
        yield _row(path, number, src, dst, _cell(cells, _START), _cell(cells, _SIZE))


def _host(path: str, number: int, cell: str, network: Network) -> int:
    text = cell.strip()
    if not (text.isascii() and text.lstrip("-").isdigit()):
        raise ValueError(f"{path} line {number}: {short(text)} is not a host number")
    if text.startswith("-") or len(text) > 9 or int(text) >= network.num_hosts:
        raise ValueError(f"{path} line {number}: there is no host {short(text)}, only 0 to {network.num_hosts - 1}")
    return int(text)


def _row(path: str, number: int, src: int, dst: int, start: str, size: str) -> _Row:
    if src == dst:
        raise ValueError(f"{path} line {number}: the flow goes from host {src} to itself")
    start_s, size_bytes = (_number(text) for text in (start, size))
    if not 0 <= start_s <= MAX_SECONDS:
        raise ValueError(f"{path} line {number}: a flow cannot start at {short(start)} seconds")
    if not (0 <= size_bytes <= MAX_FLOW_BYTES and size_bytes == int(size_bytes)):
        raise ValueError(f"{path} line {number}: {short(size)} is not a flow's size in whole bytes")
    return _Row(src, dst, start_s, size_bytes)


def _number(text: str) -> float:
    """What a cell says, nan where that is no number; an empty one says 0."""
    try:
        return float(text or 0)
    except ValueError:
        return math.nan
