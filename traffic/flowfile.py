"""Flows of the user's own, from a file in one of two formats.

CSV, recognised by its header: ``src_host,dst_host`` or ``src,dst``, host numbers from 0, and whatever further columns,
separated by commas, semicolons or blanks. Two of these
say when a flow starts (seconds after the start of the run) and how much it sends (payload)::

    src_host,dst_host,start_s,size_bytes
    0,4,0.0,1000000
    1,5,0.25,

or the lines of the load generator that the paper's testbed used: white-space columns
``src_ip dst_ip dst_port type seed start stop size ...``, one flow per line, sizes in bytes::

    10.0.0.2 10.1.0.2 5001 tcp 1 0.0 60.0 0

or ns-3's flow.txt, as HPCC and its descendants have it: how many flows there are, and then a line for each, ``src dst
group port bytes start``, of which some leave out the port, and some the group too. Hosts are numbers, starts are in
seconds; what comes behind so many lines is not read, as there::

    1
    0 12 3 100 200000 2.0

or, as other replications have them, JSON ``{"0": [1, 2], "1": [3]}``, the receivers of each sender, or a matrix of at
least three rows: in row i and column j the number of flows from host i to host j.

In all but JSON, ``#`` starts a comment. A flow without a start begins with the run, one without a size, or of size 0,
sends until the run ends. No other column is used.

Or from a function in a file that is named on the command line, FILE.py:FUNCTION. ``FUNCTION(tree, rng)`` gets a
`topos.network.Network` and a NumPy generator that the seed fixes. It returns rows, one for each flow: ``(src, dst)``,
or ``(src, dst, start_s, size_bytes)``. They are then read as those of a CSV file. It runs in the user's process; a job
carries its rows.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from topos.network import Network, NonBlocking
from traffic.flows import LASTING, MAX_FLOW_BYTES, Flows, Stream, make_flows, make_generator
from traffic.user_files import job_files, load_own_code, quote_shortly, read_text, running_own_code

MAX_CSV_BYTES = 20_000_000
"""Larger files are refused."""
MAX_SECONDS = 1e9
"""When a flow may start."""
OWN_SPELLING = "FILE.py:FUNCTION"
_OWN_SPELLED = re.compile(r"(?P<file>.+\.py):(?P<function>[^\W\d]\w*)")
MAX_ROWS = 2_000_000
_HEADER = ("src_host", "dst_host", "start_s", "size_bytes")
_LOAD_GENERATOR = (0, 1, 5, 7)  # the columns of these in its lines


def record_flows(blocks: Iterable[Flows]) -> str:
    """Flows, such as `traffic.workload.Workload.blocks`, as CSV that gives the very same.

    Raises ValueError when one waits for another's end, which these columns cannot say.
    """
    rows = [",".join(_HEADER)]
    for flow in (flow for block in blocks for flow in block):
        if flow.after is not None:
            raise ValueError("flows that take turns have no start that a file could name")
        rows.append(f"{flow.src},{flow.dst},{flow.start_s!r},{flow.size_bytes or ''}")
    return "".join(f"{row}\n" for row in rows)


def read_listed(path: str | Path, network: Network) -> Flows:
    """The flows of a file in its order, with their starts and sizes.

    Raises ValueError with one sentence that names the file, and the line where there is one: a file that
    cannot be read or is no text, a header without the two columns, a host that the network does not have, a
    self-flow, a start or a size that is none, no flow at all.
    """
    return parse_listed(read_text(Path(path), MAX_CSV_BYTES), str(path), network)


def parse_listed(text: str, path: str, network: Network, *, own: bool = False) -> Flows:
    """The flows of a text, or of a function (``own``); ``path`` is what sentences call it. ValueError as above."""
    if text.count("\n") > MAX_ROWS:
        raise ValueError(f"{path} has more than {MAX_ROWS:,} lines")
    lines = _read_lines(text)
    if (head := next(lines, None)) is None:
        raise ValueError(f"{path} holds no flow")
    number, first = head
    if not own:
        try:
            if re.fullmatch("[0-9]{1,9}", first) and (ns3 := _parse_ns3(text, first, network)) is not None:
                return ns3
            converted = _parse_another_form(text, first)
        except ValueError as error:
            raise ValueError(f"{path}{error}" if str(error).startswith(" ") else f"{path}: {error}") from None
        if converted is not None:
            return parse_listed("\n".join([",".join(_HEADER[:2]), *converted]), path, network, own=True)
    separator = next((mark for mark in ";," if mark in first), "")
    is_csv = bool(separator or re.search(r"\b(src|dst)(_host)?\b", first))
    rows = array("d")
    places: list[int | None] = list(_LOAD_GENERATOR)
    try:
        if is_csv:
            places = _find_columns([re.sub("^(src|dst)$", r"\1_host", cell) for cell in _split_cells(first, separator)])
        for number, line in lines if is_csv else chain([head], lines):  # noqa: B007, which is in the sentence below
            cells = _split_cells(line, separator)
            values = [cells[at] if at is not None and at < len(cells) else "" for at in places]
            src, dst = (
                _parse_host(value, network) if is_csv else _parse_address(value, network) for value in values[:2]
            )
            rows.extend((src, dst, *_parse_times(src, dst, *values[2:])))
    except ValueError as error:
        place = f"{path} line {number}" if not own else f"{path} flow {number - 2}"
        raise ValueError(f"{place}: {error}") from None
    if not rows:
        raise ValueError(f"{path} holds no flow, only a header in line {number}")
    src, dst, start_s, size_bytes = np.array(rows).reshape(-1, 4).T
    size_bytes = np.where(size_bytes == 0, LASTING, size_bytes)
    return make_flows(src.astype(np.int32), dst.astype(np.int32), start_s, size_bytes)


def _parse_ns3(text: str, first: str, network: Network) -> Flows | None:
    """The flows of ns-3's flow.txt, whose first line is a number; None where the second is no flow. ValueError, from
    `` line`` on or a sentence, for one that is cut or has what makes no sense."""
    lines = islice(_read_lines(text), 1, None)
    rows, columns_of_all = array("d"), 0
    for at, (number, line) in zip(range(int(first)), lines, strict=False):
        cells = line.split()
        try:
            if at == 0 and not (4 <= len(cells) <= 6 and all(re.fullmatch("[0-9]+", cell) for cell in cells[:2])):
                return None
            columns_of_all = columns_of_all or len(cells)
            if len(cells) != columns_of_all:
                raise ValueError(f"{quote_shortly(line)} has not {columns_of_all} columns as those before it")
            src, dst = _parse_host(cells[0], network), _parse_host(cells[1], network)
            start_s, size_bytes = _parse_times(src, dst, cells[-1], cells[-2])
            if size_bytes == 0:
                raise ValueError("a flow has bytes above 0 in ns-3's flow.txt")
        except ValueError as error:
            raise ValueError(f" line {number}: {error}") from None
        rows.extend((src, dst, start_s, size_bytes))
    if not rows:
        return None
    if len(rows) < 4 * int(first):
        counts = f"{int(first):,} flows, and has {len(rows) // 4:,}"
        raise ValueError(f"it looks like ns-3's flow.txt, and is cut: it says {counts}")
    src, dst, start_s, size_bytes = np.array(rows).reshape(-1, 4).T
    return make_flows(src.astype(np.int32), dst.astype(np.int32), start_s, size_bytes)


_KINDS = (
    (r"<", "XML (of which --topology reads GraphML)"),
    (r"graph\s*\[", "GML, a topology (--topology reads node-link JSON and GraphML)"),
    (r"Nodes\s+\d|\d+->\d+", "a connection matrix of htsim, which htsim:FILE reads"),
    (r"num_ranks\b", "GOAL, which goal:FILE reads"),
    (r"\d+\s+\d+\s+(0|1|0?\.\d+)$|\d+(\.\d+)?\s+\d+(\.\d+)?$", "sizes of flows, which poisson:FILE,LOAD reads"),
    (r"\d+\s+\d+\s+\d+$", "ns-3's topology.txt, a network without flows"),
    (r"\d+(\.\d+)?$", "a list of numbers"),
)
"""What a first line looks like that belongs to no form that is read, and what it is."""


def _parse_another_form(text: str, first: str) -> list[str] | None:
    """The flows of JSON or a matrix as rows of CSV; None where it is neither. ``first``: the first line that is none of
    comment. ValueError that names the form where it is one that is not read."""
    hint = "flows are lines below a header src_host,dst_host (docs/workloads.md)"
    if first[0] in "{[":
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError(f"it looks like JSON or a list of Python's, and is no JSON; {hint}") from None
        lists = list(document.values()) if isinstance(document, dict) else []
        if not lists or any(not isinstance(to, list) or any(type(host) is not int for host in to) for to in lists):
            raise ValueError(f'it is JSON, of which {{"0": [1, 2]}} is read, receivers by sender; {hint}')
        return [f"{src},{dst}" for src, receivers in document.items() for dst in receivers]
    if re.match(r"(import|from|def|class|@\w+|\w+ *=)[\s\[({]|\"{3}|'{3}", first):
        raise ValueError(f"it is Python, of which FILE.py:FUNCTION names a function that returns flows; {hint}")
    if re.fullmatch(r"[\d.,;\s+-]+", first) and (matrix := _parse_matrix(text, hint)) is not None:
        return matrix
    if kind := next((kind for pattern, kind in _KINDS if re.match(pattern, first)), None):
        raise ValueError(f"it looks like {kind}; {hint}")
    return None


def _parse_matrix(text: str, hint: str) -> list[str] | None:
    """The flows of a matrix of numbers of flows as rows of CSV; None where it is none."""
    table = [re.split(r"[\s,;]+", line.strip(" ,;")) for _, line in _read_lines(text)]
    if not 3 <= len(table) == max(map(len, table)) == min(map(len, table)):
        return None
    if any(table[n][n].strip("0.") for n in range(len(table))):
        return None
    counts = [(src, dst, cell) for src, row in enumerate(table) for dst, cell in enumerate(row) if cell.strip("0.")]
    if wrong := next((cell for *_, cell in counts if not re.fullmatch(r"\d{1,6}(\.0*)?", cell)), None):
        raise ValueError(
            f"it is a matrix, whose numbers are flows from row to column, and {quote_shortly(wrong)} is none; {hint}"
        )
    if sum(int(float(cell)) for *_, cell in counts) > MAX_ROWS:
        raise ValueError(f"it is a matrix of more than {MAX_ROWS:,} flows")
    return [f"{src},{dst}" for src, dst, cell in counts for _ in range(int(float(cell)))]


def _find_columns(header: list[str]) -> list[int | None]:
    """Where the columns are that count; ValueError for a header that is none, or has a name nearly right."""
    if twice := [name for name in _HEADER if header.count(name) > 1]:
        raise ValueError(f"the header of a CSV file names {twice[0]} twice")
    if not {"src_host", "dst_host"} <= {*header}:
        raise ValueError("the header of a CSV file must have the columns src_host,dst_host")
    if near := [name for name in header if re.match("start|size|bytes", name) and name not in _HEADER]:
        raise ValueError(
            f"column {quote_shortly(near[0])} would not be read: a flow's start is start_s, its size size_bytes"
        )
    return [header.index(name) if name in header else None for name in _HEADER]


def _read_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers from 1, without comments."""
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        content = (re.sub(r"(^|\s)#.*", "", line) if "#" in line else line).strip()
        if content:
            yield number, content


def _split_cells(line: str, separator: str) -> list[str]:
    if not separator:
        return line.split()
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, strict=True))]
    except csv.Error as error:
        raise ValueError(f"it is not CSV: {error}") from None


def _parse_host(cell: str, network: Network) -> int:
    if not re.fullmatch("[0-9]{1,9}", cell) or int(cell) >= network.num_hosts:
        raise ValueError(f"there is no host {quote_shortly(cell)}, only 0 to {network.num_hosts - 1}")
    return int(cell)


def _parse_address(cell: str, network: Network) -> int:
    if cell not in network.host_by_ip:
        first, last = network.host_ip(0), network.host_ip(network.num_hosts - 1)
        raise ValueError(f"{quote_shortly(cell)} is not the address of a host; they are {first} to {last}")
    return network.host_by_ip[cell]


def _parse_times(src: int, dst: int, start: str, size: str) -> tuple[float, float]:
    """Start and size, an empty cell for 0; and what a whole row must be."""
    if src == dst:
        raise ValueError(f"the flow goes from host {src} to itself")
    start_s, size_bytes = (_parse_number(text) for text in (start, size))
    if not 0 <= start_s <= MAX_SECONDS:
        raise ValueError(f"a flow cannot start at {quote_shortly(start)} seconds")
    if not (0 <= size_bytes <= MAX_FLOW_BYTES and size_bytes == int(size_bytes)):
        raise ValueError(f"{quote_shortly(size)} is not a flow's size in whole bytes")
    return start_s, size_bytes


def _parse_number(text: str) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return math.nan


def find_own_file(spec: str) -> Path | None:
    spelled = _OWN_SPELLED.fullmatch(spec)
    return Path(spelled["file"]) if spelled else None


def load_own_flows(spec: str, network: Network, seed: int) -> Flows:
    """The flows of a spec FILE.py:FUNCTION. Raises ValueError, one sentence, for whatever does not work."""
    return parse_listed(
        job_files[spec] if spec in job_files else call_own_function(spec, network, seed), spec, network, own=True
    )


def call_own_function(spec: str, network: Network, seed: int) -> str:
    """What the function returns, as CSV. ValueError as above."""
    subject = f"traffic {spec!r}"
    file, function = spec.rsplit(":", 1)
    flows_of = load_own_code(subject, Path(file), function)
    if not callable(flows_of):
        raise ValueError(f"{subject}: there is no function {function} in {file}")
    with running_own_code(subject):
        return _call_once(flows_of, network.tree if isinstance(network, NonBlocking) else network, seed)


@lru_cache(maxsize=16)
def _call_once(function: Any, tree: Network, seed: int) -> str:
    """One function, network and seed have to give the same always: it is asked once."""
    flows = islice(function(tree, make_generator(seed, Stream.OWN_PATTERN)), MAX_ROWS + 1)
    return "\n".join([",".join(_HEADER), *_format_csv(flows)])


def _format_csv(flows: Iterator[Any]) -> Iterator[str]:
    for number, row in enumerate(flows):
        if number == MAX_ROWS:
            raise ValueError(f"it gives more than {MAX_ROWS:,} flows")
        cells = tuple(row)
        if len(cells) not in (2, 4):
            raise ValueError(f"flow {number} is no (src, dst) and no (src, dst, start_s, size_bytes), but {cells!r}")
        src, dst, start_s, size_bytes = (*cells, 0.0, 0)[:4]
        if src != int(src) or dst != int(dst):
            raise ValueError(f"flow {number} goes from {src!r} to {dst!r}, which are no host numbers")
        yield f"{int(src)},{int(dst)},{float(start_s)!r},{'' if size_bytes is None else int(size_bytes)}"
