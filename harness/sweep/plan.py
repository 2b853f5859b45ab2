"""Many runs: patterns x schemes x trials, resumed where they stopped, each run published on its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import UserMistake
from harness.jobs.job import job_of
from harness.jobs.publish import Planned, folder_of, require_writable
from harness.run.spec import RunSpec
from hedera.schemes import SCHEMES
from hedera.text import one_line
from record.files import read_json, write_whole
from traffic.patterns import PUBLISHED, REPLICATION

SETTINGS = "sweep.json"
MAX_SIZE = 16 << 20
"""Bytes of a sweep's settings that are still read."""
VARYING = frozenset({"scheme", "traffic", "flows_per_host", "keep", "seed", "trial", "scale_sizes"})
"""What differs between the runs of one sweep; all else must be the same for them to be compared."""
MOST_RUNS = 10_000
"""As many as an archive of runs holds with two tries of each."""


@dataclass(frozen=True)
class TrafficSpec:
    """A traffic pattern, how often each host sends it, and the fraction of flows kept.

    ``scale_sizes``: False where sizes are as spelled at any rate (`traffic.workload`).
    """

    traffic: str
    flows_per_host: int = 1
    keep: float = 1.0
    scale_sizes: bool = True


def split_schemes(text: str) -> list[str]:
    """Schemes from a comma-separated list; ``all`` is all but baselines of other schemes."""
    every = [scheme.name for scheme in SCHEMES.values() if not scheme.hidden]
    return every if text == "all" else [name.strip() for name in text.split(",")]


def plan(
    base: RunSpec, workloads: Sequence[TrafficSpec], schemes: Sequence[str], trials: int, folder: Path
) -> list[Planned]:
    """Every run of a sweep, trial by trial, so that a sweep cut short still has whole trials. What is named twice is
    done once.

    Trial t has seed ``base.seed + t - 1``, the same for all schemes: they face the same matrix and ports. Raises
    UserMistake for more runs than a sweep is kept with.
    """
    if (runs := trials * len(workloads) * len(schemes)) > MOST_RUNS:
        raise UserMistake(f"these are {runs:,} runs, and a sweep has at most {MOST_RUNS:,}")
    jobs = []
    for trial in range(1, trials + 1):
        for workload in dict.fromkeys(workloads):
            for scheme in dict.fromkeys(schemes):
                spec = replace(
                    base,
                    scheme=scheme,
                    traffic=workload.traffic,
                    flows_per_host=workload.flows_per_host,
                    keep=workload.keep,
                    scale_sizes=base.scale_sizes and workload.scale_sizes,
                    trial=trial,
                    seed=base.seed + trial - 1,
                )
                place = folder / _folder_name(workload) / folder_of(scheme) / f"trial-{trial}"
                jobs.append(Planned(job_of(spec), place))
    return jobs


def _folder_name(workload: TrafficSpec) -> str:
    name = folder_of(workload.traffic)
    if workload.flows_per_host != 1 or workload.keep != 1:
        name += f"-{workload.flows_per_host}flows-{workload.keep:g}kept"
    return name


def keep_settings(base: RunSpec, folder: Path) -> None:
    """Write down what all runs of a folder have in common.

    Raises UserMistake when it cannot be written to, or holds a sweep with other settings.
    """
    require_writable(folder)
    settings = {name: value for name, value in base.as_json().items() if name not in VARYING}
    settings = json.loads(json.dumps(settings | {"first_seed": base.seed}))  # as they will be read
    path = folder / SETTINGS
    if os.path.lexists(path):
        try:
            stored = dict(read_json(path, MAX_SIZE))
        except (ValueError, TypeError):
            raise UserMistake(f"{path} cannot be read; use another --name") from None
        names = [*settings, *(stored.keys() - settings)]
        different = [name for name in names if stored.get(name) != settings.get(name)]
        if different:
            what = ", ".join(
                f"{one_line(name, 40)} {one_line(stored.get(name), 40)} there, {one_line(settings.get(name), 40)} here"
                for name in different[:5]
            )
            raise UserMistake(f"{folder} holds runs with other settings ({what}); use another --name")
    else:
        write_whole(path, json.dumps(settings, indent=1, allow_nan=False) + "\n")


# --- suites -------------------------------------------------------------------------------------------------


FIGURE_9 = [TrafficSpec(f"published:{name}") for name in PUBLISHED]
"""The 20 published matrices, in Figure 9's order."""
SEVERAL_FLOWS = [
    TrafficSpec(traffic, flows, keep)
    for flows, keep in ((2, 1.0), (6, 0.5))
    for traffic in (
        *(f"stride:{i}" for i in (1, 2, 4, 8)), "staggered:0.2,0.3", "staggered:0.5,0.3", "random", "randbij",
    )
]  # fmt: skip
"""As the replication report's with several flows per host (2, and 6 with half of them dropped), drawn by our rules anew
in each trial, and all of its families with both numbers."""


def dynamic(base: RunSpec) -> list[TrafficSpec]:
    """Traffic that comes and goes: mice beside elephants, web search at three loads, the shuffle.

    Sizes are as spelled: scaled to links of 10 Mb/s, web search would be 600 new flows a second, which no machine of
    today sets up in emulation. A shuffle's transfers are such that at full rate they take an eighth of the run: over
    one core, under `spanning-tree`, they take three times as long and more.
    """
    traffic = (
        "stride:4 + poisson:fixed:10000,0.05",
        *(f"poisson:web-search,{load:g}" for load in (0.3, 0.5, 0.7)),
        f"shuffle:{_in_time(base, 8)}",
    )
    return [TrafficSpec(spec, scale_sizes=False) for spec in traffic]


def table_2(base: RunSpec) -> list[TrafficSpec]:
    """The shuffle of section 6.3: 500 MB from each host to every other on links of 1 Gb/s, proportionally less on
    slower ones, so that times are the paper's; still less where at full rate that takes over a quarter of the run."""
    from record.published import TABLE_2_BYTES
    from traffic.poisson import REFERENCE_MBPS

    return [TrafficSpec(f"shuffle:{min(_in_time(base, 4), round(TABLE_2_BYTES * base.link_mbps / REFERENCE_MBPS))}")]


def _in_time(base: RunSpec, times: float) -> int:
    """Bytes from each host to every other that at full rate take the run's time, so many times."""
    return max(1, round(base.link_mbps * 1e6 / 8 * base.seconds / times / (base.topo.num_hosts - 1)))


@dataclass(frozen=True)
class Suite:
    """Workloads for runs like a given one, and the schemes under which they are run where none are asked for."""

    workloads: Callable[[RunSpec], list[TrafficSpec]]
    schemes: str = "all"


SUITES = {
    "figure9": Suite(lambda base: FIGURE_9),
    "replication": Suite(
        lambda base: [TrafficSpec(f"replication:{name}") for name in REPLICATION],
        "ecmp,hedera-gff,nonblocking,spanning-tree,random",
    ),
    "several-flows": Suite(lambda base: SEVERAL_FLOWS),
    "dynamic": Suite(dynamic),
    "table2": Suite(table_2),
    "all": Suite(lambda base: FIGURE_9 + SEVERAL_FLOWS),
}


def suite(name: str) -> Suite:
    """UserMistake when there is no such suite."""
    if name not in SUITES:
        raise UserMistake(f"there is no suite {name!r}; the suites are {', '.join(SUITES)}")
    return SUITES[name]
