"""Claims on the shuffle of Table 2 under real TCP, over seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hedera.schemes import CONTROL
from paper.claims.claim import EMULATED, Claim, Source, interval_told
from plots.load import load_sweep
from plots.shuffle import SCHEMES, Shuffle
from results.published import TABLE_2

KEPT = Source(
    "table2",
    "hedera table 2 --time virtual --trials 5",
    "20 shuffles, a minute and a half of a processor each",
)


def _rows(folder: Path) -> Iterator[str]:
    """By scheme, over the control's with the same seed: a shuffle's time, hosts' mean time, and the bandwidth."""
    ended: dict[str, dict[int, Shuffle]] = {}
    for run in load_sweep(folder).runs:
        turns = run.turns
        if run.valid and turns and turns.shuffle_s is not None and turns.host_completion_s is not None:
            ended.setdefault(run.scheme, {})[run.seed] = Shuffle(turns.shuffle_s, turns.host_completion_s)
    for scheme in SCHEMES:
        if scheme == CONTROL:
            continue
        pairs = [(own, ended[CONTROL][seed]) for seed, own in ended[scheme].items()]
        took = [own.shuffle_s / control.shuffle_s for own, control in pairs]
        hosts = [own.host_completion_s / control.host_completion_s for own, control in pairs]
        cells = []
        for ours, quantity in ((took, 0), (hosts, 1), ([1 / one for one in hosts], 2)):
            published = TABLE_2[scheme][quantity] / TABLE_2[CONTROL][quantity]
            cells.append(f"{interval_told(ours, '.2f')} | {published:.2f}")
        yield f"| {scheme} | {' | '.join(cells)} |"


CLAIMS = (Claim("Table 2's shuffle under real TCP", "docs/dynamic.md", KEPT, _rows, EMULATED),)
