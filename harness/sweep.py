"""Many runs: patterns x schemes x trials, for each value of an option; resumed where they stopped, each run stored
on its own, and shown while they are made."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from harness.jobs import Carrier, Guests, Planned, UnderWay, carry_out
from harness.run import make_job
from hedera.schemes import SCHEMES, with_hash
from plots import Sweep, load_sweep, shorten_name
from plots.style import format_setting
from record.errors import UserMistake, to_one_line
from record.files import read_json, remove_partial, write_whole
from record.progress import is_quiet, notebook_bar
from record.run import LOST, Run
from record.spec import RunSpec
from topos.wire import DEFAULT_MTU
from traffic.patterns import PUBLISHED, REPLICATION

SETTINGS = "sweep.json"
MAX_SIZE = 16 << 20
"""A sweep's settings are read from files of at most so many bytes."""
PER_RUN = frozenset({"scheme", "traffic", "flows_per_host", "keep", "seed", "trial", "scale_sizes"})
"""These settings may differ between the runs of one sweep. All others must be the same, or the runs could not be
compared."""
# An archive holds no more with two tries of each.
MOST_RUNS = 10_000
"""A sweep has no more runs."""
# A page of many runs takes seconds to write, on a processor that a run could have.
PAGE_EVERY_S, PAGE_SHARE = 10.0, 0.1
"""While a sweep is unfinished its page is written at most so often, and takes at most this part of the time."""


@dataclass(frozen=True)
class TrafficSpec:
    """A traffic pattern, as `record.spec.Experiment` has it; ``scale_sizes``: False where sizes are as spelled."""

    traffic: str
    flows_per_host: int = 1
    keep: float = 1.0
    scale_sizes: bool = True


def _can_have(base: RunSpec, scheme: str) -> bool:
    try:
        replace(base, scheme=scheme)
    except UserMistake:
        return False
    return True


@dataclass(frozen=True)
class Part:
    """The runs for one combination of the varied options' ``values`` (by option): their folder, and the jobs."""

    folder: Path
    values: Mapping[str, Any]
    jobs: list[Planned]


def plan_parts(
    base: RunSpec,
    trials: int,
    patterns: Sequence[str] | None,
    suite: str,
    schemes: str | Sequence[str],
    varied: Mapping[str, tuple[str, Sequence[Any]]],
    folder: Path,
    hash: str | None = None,
) -> tuple[list[Part], list[str]]:
    """A part for each combination, one where nothing is varied, with its settings kept in its folder; and those of
    ``all`` schemes that this network cannot have. ``varied``: by option the field of `RunSpec` and its values.
    ``hash``: of the schemes that choose first paths by one.

    Raises UserMistake, before anything is written, for a mistake in any run.
    """
    if patterns is not None and not patterns:
        raise UserMistake("--patterns is empty")
    if suite not in SUITES:
        raise UserMistake(f"there is no suite {suite!r}; the suites are {', '.join(SUITES)}")
    asked_schemes = schemes or ("all" if patterns else SUITE_SCHEMES.get(suite, "all"))
    if asked_schemes == "all":  # all but baselines of other schemes
        names = [scheme.name for scheme in SCHEMES.values() if not scheme.hidden]
    else:
        names = (
            [name.strip() for name in asked_schemes.split(",")]
            if isinstance(asked_schemes, str)
            else list(asked_schemes)
        )
    left_out = (
        [name for name in names if not _can_have(base, name)] if asked_schemes == "all" and not base.plain else []
    )
    try:
        able = [with_hash(name, hash, others=True) for name in names if name not in left_out]
    except ValueError as error:
        raise UserMistake(str(error)) from None
    parts = {}
    for chosen in itertools.product(*(values for _, values in varied.values())):
        values = dict(zip(varied, chosen, strict=True))
        spec = replace(base, **{field: value for (field, _), value in zip(varied.values(), chosen, strict=True)})
        if patterns is None:
            traffic = SUITES[suite](spec)
        else:
            traffic = [TrafficSpec(pattern, spec.flows_per_host, spec.keep) for pattern in patterns]
        name = (
            carry_out.make_slug("-".join(f"{option}_{format_setting(value)}" for option, value in values.items()))
            if values
            else ""
        )
        parts[spec] = Part(folder / name, values, plan(spec, traffic, able, trials, folder / name))
    for spec, part in parts.items():
        keep_settings(spec, part.folder)
    return list(parts.values()), left_out


def name_of(base: RunSpec, varied: Iterable[str]) -> str:
    """The name of a sweep's folder, after its settings."""
    packets = "" if base.mtu == DEFAULT_MTU else f"-mtu{base.mtu}"
    virtual = "-virtual" if base.time == "virtual" else ""
    network = f"k{base.k}" if base.topology is None else Path(base.topology).name
    network += "" if base.oversubscribe is None else f"-over{base.oversubscribe:g}"
    network += "" if base.delay_ms is None else f"-delay{base.delay_ms:g}ms"
    return "-by-".join([f"{network}-{base.link_mbps:g}mbps{packets}-{base.seconds:g}s{virtual}", *varied])


def plan(
    base: RunSpec, workloads: Sequence[TrafficSpec], schemes: Sequence[str], trials: int, folder: Path
) -> list[Planned]:
    """Every run of a sweep, trial by trial, so that one cut short has whole trials; what is named twice is done once.

    Trial t has seed ``base.seed + t - 1``, the same for all schemes: they face the same matrix and ports. UserMistake
    for more than MOST_RUNS.
    """
    if (runs := trials * len(workloads) * len(schemes)) > MOST_RUNS:
        raise UserMistake(f"these are {runs:,} runs, and a sweep has at most {MOST_RUNS:,}")
    jobs = []
    once = (dict.fromkeys(workloads), dict.fromkeys(schemes))
    for trial, workload, scheme in itertools.product(range(1, trials + 1), *once):
        workload_fields = asdict(workload) | {"scale_sizes": base.scale_sizes and workload.scale_sizes}
        spec = replace(base, scheme=scheme, trial=trial, seed=base.seed + trial - 1, **workload_fields)
        name = carry_out.name_folder(workload.traffic)
        if workload.flows_per_host != 1 or workload.keep != 1:
            name += f"-{workload.flows_per_host}flows-{workload.keep:g}kept"
        jobs.append(Planned(make_job(spec), folder / name / carry_out.name_folder(scheme) / f"trial-{trial}"))
    return jobs


def keep_settings(base: RunSpec, folder: Path) -> None:
    """Write down what all runs of a folder have in common. UserMistake when it cannot be written to, or holds a sweep
    with other settings."""
    carry_out.require_writable(folder)
    settings = {name: value for name, value in base.as_json().items() if name not in PER_RUN}
    settings = json.loads(json.dumps(settings | {"first_seed": base.seed}))  # as they will be read
    path = folder / SETTINGS
    # Runs with other settings would be drawn into the same picture.
    if os.path.lexists(path):
        try:
            stored = dict(read_json(path, MAX_SIZE))
        except (ValueError, TypeError):
            raise UserMistake(f"{path} cannot be read; use another --name") from None
        different = [name for name in settings | stored if stored.get(name) != settings.get(name)]
        if different:
            differences = ", ".join(
                f"{to_one_line(name, 40)} {to_one_line(stored.get(name), 40)} there, "
                f"{to_one_line(settings.get(name), 40)} here"
                for name in different[:5]
            )
            raise UserMistake(f"{folder} holds runs with other settings ({differences}); use another --name")
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
"""Patterns with several flows per host as the replication report has them: two, and six of which half are dropped. They
are drawn anew in each trial, by our rules, and all of the report's families are there with both numbers."""


def list_dynamic(base: RunSpec) -> list[TrafficSpec]:
    """Traffic that comes and goes: mice beside elephants, web search at three loads, the shuffle.

    Sizes are as spelled: scaled to links of 10 Mb/s, web search would be 600 new flows a second, which no machine of
    today sets up in emulation. A shuffle's transfers are such that at full rate they take an eighth of the run: over
    one core, under `spanning-tree`, they take three times as long and more.
    """
    traffic = (
        "stride:4 + poisson:fixed:10000,0.05",
        *(f"poisson:web-search,{load:g}" for load in (0.3, 0.5, 0.7)),
        f"shuffle:{_compute_bytes(base, 8)}",
    )
    return [TrafficSpec(spec, scale_sizes=False) for spec in traffic]


def list_table_2(base: RunSpec) -> list[TrafficSpec]:
    """The shuffle of section 6.3: 500 MB from each host to every other on links of 1 Gb/s, proportionally less on
    slower ones, so that times are the paper's; still less where at full rate that takes over a quarter of the run."""
    from record.published import TABLE_2_BYTES
    from traffic.poisson import REFERENCE_MBPS

    return [
        TrafficSpec(f"shuffle:{min(_compute_bytes(base, 4), round(TABLE_2_BYTES * base.link_mbps / REFERENCE_MBPS))}")
    ]


def _compute_bytes(base: RunSpec, times: float) -> int:
    """Bytes from each host to every other that at full rate take the run's time, so many times."""
    return max(1, round(base.link_mbps * 1e6 / 8 * base.seconds / times / (base.topo.num_hosts - 1)))


SUITES: Mapping[str, Callable[[RunSpec], list[TrafficSpec]]] = {
    "figure9": lambda base: FIGURE_9,
    "replication": lambda base: [TrafficSpec(f"replication:{name}") for name in REPLICATION],
    "several-flows": lambda base: SEVERAL_FLOWS,
    "dynamic": list_dynamic,
    "table2": list_table_2,
    "all": lambda base: FIGURE_9 + SEVERAL_FLOWS,
}
"""By name, a function that gives the workloads of a suite for runs like a given one."""
SUITE_SCHEMES = {"replication": "ecmp,hedera-gff,nonblocking,spanning-tree,random"}
"""The schemes of a suite where the user names none. Suites that are not here have all schemes."""


# --- carried out and shown ----------------------------------------------------------------------------------


def carry_out_with_progress(jobs: Sequence[Planned], folder: Path, carrier: Carrier) -> Sweep:
    """Run the jobs with a live line; then write the tables, figures and page, and return all runs of the folder.
    UserMistake at once when another sweep is at work there."""
    from plots.report import write_all

    with carry_out.alone_in(folder):
        remove_partial(folder)
        console = Console(stderr=True, quiet=is_quiet())
        # Runs of which the files have been edited since, or which another emulator made, make room.
        for why, count in Counter(filter(None, (job.set_aside() for job in jobs))).items():
            runs = "a run that is here" if count == 1 else f"{count} runs that are here"
            console.print(escape(f"{why}: {runs} moved aside, to be made again"), highlight=False, soft_wrap=True)
        left = [job for job in jobs if not job.done]
        done = len(jobs) - len(left)
        console.print(f"{len(jobs)} runs, {done} already done. Results: {folder}", highlight=False, soft_wrap=True)
        if left and isinstance(carrier, Guests):
            from harness import cost

            words = cost.describe_cost([job.spec for job in left], carrier.at_once)
            console.print(escape(words), highlight=False, soft_wrap=True)
        if left:
            counts = (BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn())
            columns = (*counts, TimeElapsedColumn(), TextColumn("{task.description}"))
            live = Progress(*columns, console=console, transient=True, speed_estimate_period=float("inf"))
            with live as bar, notebook_bar(f"of {len(left)} runs", len(left)) as fill:
                shown = Shown(bar, left, folder, fill)
                carry_out.carry_out_all(left, carrier, shown.done, shown.look)
        sweep = load_sweep(folder)
        write_all(sweep)
    return sweep


class Shown:
    """The live line, with the time that is left; a line for every run that is done; and the page, which follows."""

    def __init__(
        self, bar: Progress, left: Sequence[Planned], folder: Path, fill: Callable[[float], None] | None
    ) -> None:
        self._bar = bar
        self._fill, self._total = fill, len(left)
        self._folder = folder
        self._unfinished = list(left)
        self._page_due = float("-inf")
        self._task = bar.add_task("", total=len(left))

    def _tell_progress(self) -> str:
        (task,) = self._bar.tasks
        left = "" if task.time_remaining is None else f", {timedelta(seconds=task.time_remaining)} left"
        return f"{task.completed:.0f}/{self._total}{left}"

    def look(self, under_way: UnderWay) -> None:
        words = [
            f"{shorten_name(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}: "
            + carry_out.describe_stage(*stage)
            for job, stage in under_way.items()
        ]
        self._bar.update(self._task, description=escape("; ".join(words)))

    def done(self, planned: Planned, run: Run) -> None:
        from plots.report import write_page

        console = self._bar.console
        tried_again = not run.lost and not planned.done
        if not tried_again:
            self._unfinished.remove(planned)
            self._bar.advance(self._task)
            if self._fill:
                self._fill(self._total - len(self._unfinished))
        spec = planned.spec
        text = f"{escape(shorten_name(spec.traffic)):28} {escape(spec.scheme):14} trial {spec.trial}  "
        rate = run.payload_mbps  # as in the table and the picture
        if run.lost:
            text += "           lost"
        elif rate is None:
            text += "      no result"
        else:
            text += f"{rate:7.1f} Mb/s {rate / run.payload_capacity_mbps:4.0%} of all links"
        if not run.valid:
            text += f"  [red]{run.verdict}[/]{', trying once more' if tried_again else ''}: {escape(run.reasons[0])}"
        # In a log there is no live line, so every line tells its time, how many are done and how long the others take.
        beginning = "" if console.is_terminal else f"{time.strftime('%H:%M:%S')} {self._tell_progress()}  "
        console.print(beginning + text, highlight=False, soft_wrap=True)
        if self._unfinished and (began := time.monotonic()) >= self._page_due:
            with suppress(OSError, ValueError):  # where no page can be written, the sweep goes on
                write_page(load_sweep(self._folder), unfinished=True)
            self._page_due = began + max(PAGE_EVERY_S, (time.monotonic() - began) / PAGE_SHARE)


def show(part: Part, sweep: Sweep) -> None:
    """Print the values of a part, its table, where the pictures and the page are, and what did not work."""
    from plots import paired_tests, report, summary

    if part.values:
        print(", ".join(f"{option} {value}" for option, value in part.values.items()))
    print(summary.show(sweep, paired_tests.describe_significance(sweep)), flush=True)
    if sweep.mixture:
        print(sweep.mixture)
    if sweep.runs:
        print(f"pictures and tables: {sweep.folder / report.FOLDER}/")
    print(f"the page: {sweep.folder / report.PAGE}")
    for job, run in _find_not_valid(part):
        run_name = f"{shorten_name(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}"
        print(f"{run.verdict}: {run_name}: {run.reasons[0]}", file=sys.stderr)


def describe_not_counted(part: Part) -> str:
    """A sentence that says how many runs of a part do not count, and why; empty if all of them count."""
    counts = Counter[str](run.verdict for _, run in _find_not_valid(part))
    if not counts:
        return ""
    verdicts = " and ".join(f"{n} {'is' if n == 1 else 'are'} {verdict}" for verdict, n in counts.items())
    again = "; this machine lost runs, which the same command makes again" if counts[LOST] else ""
    return f"of {len(part.jobs)} runs {verdicts}, and shown as such; the reasons are above{again}"


def _find_not_valid(part: Part) -> list[tuple[Planned, Run]]:
    return [(job, run) for job in part.jobs if (run := job.outcome()) is not None and not run.valid]
