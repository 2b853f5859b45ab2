"""`hedera hull waiting`: where a packet waits on its way through the fat-tree, of sweeps made with --trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from hedera.schemes import CONTROL
from record.options import in_words, json_option, output
from record.output import conclude, write_csv
from record.run import CONNECTIONS, QUEUES, Run
from studies.hull.mice import Case, load_runs, make_case
from studies.study import Row, describe_interval_seeds, estimate_over_seeds, make_table, read_traced_rows
from topos.fattree import FatTree, port_name
from topos.network import NonBlocking

PLACES = ("its host", "edge, up", "aggregation, up", "core", "aggregation, down", "edge, to the host")
"""The ports that a packet to another pod goes through, in their order."""
_OF_LAYER = {"host": (0, 5), "edge": (1, 4), "aggregation": (2, 3)}
"""By the layer of a cable's lower end: the places of its two ports, upwards and downwards."""
WHOLE = "whole path"


def find_places(run: Run) -> dict[str, str]:
    """By the name of a port of the run's fat-tree, or of the control's one switch: its place."""
    tree = FatTree(run.spec.k)
    network = NonBlocking(tree.num_hosts) if run.scheme == CONTROL else tree
    place_of_port = {}
    for link in network.links():
        up, down = _OF_LAYER[network.layer(link.lower)]
        place_of_port[port_name(link.lower, link.lower_port)] = PLACES[up]
        place_of_port[port_name(link.upper, link.upper_port)] = PLACES[down]
    return place_of_port


def compute_waiting_ms(run: Run, folder: Path) -> dict[str, float]:
    """By place: how long a packet that comes at any moment of the window waits, on average over the place's ports: the
    bytes there over the link's rate. A host's have what its pacer holds, too. ValueError, one sentence, for a run
    whose curves are not in its folder."""
    low, high = run.window_s
    sampled = {row["t"] for row in read_traced_rows(folder / CONNECTIONS) if low <= float(row["t"]) < high}
    if not sampled:
        raise ValueError(f"{folder} has no curves of its window: make it with --trace")
    place_of_port = find_places(run)
    ports, waiting_bytes = Counter(place_of_port.values()), Counter[str]()
    for row in read_traced_rows(folder / QUEUES):
        if row["t"] in sampled and row["port"] in place_of_port:
            waiting_bytes[place_of_port[row["port"]]] += int(row["bytes"])
    ms = 8e-3 / run.spec.link_mbps
    return {place: ms * waiting_bytes[place] / (ports[place] * len(sampled)) for place in PLACES if ports[place]}


def make_rows(runs: Sequence[tuple[Run, Path]]) -> list[Row]:
    """A row for each case and place, and one for the whole path: the mean over seeds in ms, with a 95 % interval."""
    by_case: dict[Case, list[dict[str, float]]] = {}
    for run, folder in runs:
        if run.valid:
            waits = compute_waiting_ms(run, folder)
            by_case.setdefault(make_case(run), []).append(waits | {WHOLE: sum(waits.values())})
    return [
        {
            **case._asdict(), "place": place, "wait_ms": mean.mean, "low": mean.low, "high": mean.high,
            "seeds": len(seeds), "by_seed": " ".join(f"{waits_of_seed[place]:.6g}" for waits_of_seed in seeds),
        }
        for case, seeds in by_case.items()
        for place in seeds[0]
        for mean in [estimate_over_seeds(waits_of_seed[place] for waits_of_seed in seeds)]
    ]  # fmt: skip


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@output
@json_option
@in_words
def waiting(folders: Sequence[Path], out: Path, as_json: bool) -> None:
    """How long packets wait in each place of the fat-tree, of sweeps made with --trace (FOLDERS).

    The mean over ports and moments of what waits there, as time at the link's rate; by rate, TCP and scheme.
    """
    if not (rows := make_rows(load_runs(folders))):
        raise ValueError("there are no valid runs in these folders")
    names = ("mbps", "tcp", "scheme", "place", "wait_ms", "low", "high")
    tables = (
        []
        if as_json
        else [make_table(f"Waiting by place (ms), {describe_interval_seeds(rows[0]['seeds'])}", rows, *names)]
    )
    conclude(rows, tables, [write_csv(out / "waiting.csv", rows)], as_json)
