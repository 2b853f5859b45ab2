"""Runs, sweeps and simulations from Python (docs/library.md); the commands of these names call the same functions.

Options have the commands' names, with ``_`` for ``-``, and are of the same types. Nothing is printed unless ``show`` is
True. A mistake, or something missing, is an exception with one sentence: UserMistake, UnfitMachine or RunFailed of
`record.errors`.

A scheme may be a class of your own with a method ``place`` (docs/own-scheduler.md), and traffic a list of flows: pairs
of hosts, or (source, destination, start in seconds, bytes; None: it lasts).
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness import root
from harness.jobs import make_slug, require_writable
from harness.run import make_job, without_auto
from hedera.schemes import with_hash
from record.errors import UserMistake
from record.files import temporary_folder, write_whole
from record.options import parse_inches
from record.progress import notebook_bar, silence, tell_user
from record.spec import Option, RunSpec, list_options
from simulator.config import Config

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from harness.jobs import Carrier
    from harness.run import Job
    from plots.compare_sweeps import VariedSweep
    from record.run import Run
    from simulator.result import Result
    from virtual.guest import Progress

Function = TypeVar("Function", bound=Callable[..., Any])
Flows = Sequence[tuple[Any, ...]]
"""Rows of a flow file: (src, dst), or (src, dst, start_s, size_bytes)."""
RESULTS = Path("results/runs")
FIXED = ("scheme", "traffic", "time", "disturb")
"""Fields of a run that a sweep does not vary."""


@contextmanager
def carrier_for(
    job: Job, at_once: int | None = None, cluster: str | None = None, *, wanted_time: str = "auto"
) -> Iterator[Carrier]:
    """Who carries out jobs like this one while the block runs; everything they need is made now. UnfitMachine says
    what is missing. ``wanted_time``: the time that the user asked for; what ``auto`` became is told in one line."""
    if cluster is not None:
        from harness.jobs import Workers
        from record.tasks import cluster as workers_of

        with workers_of(cluster) as (executor, threads):
            yield Workers(executor, threads)
    elif job.spec.time == "virtual":
        from harness.jobs import Guests, prepare
        from harness.network.machine import count_processors
        from virtual import cache

        if cache.moved:
            tell_user(cache.moved)
        if wanted_time == "auto":
            why = "this kernel has no Open vSwitch" if root.may_be_root() else "without root"
            tell_user(f"{why}: virtual time, in a Linux that is a process (docs/virtual-time.md)")
        yield Guests(prepare(tell_user, job), at_once or count_processors())
    else:
        from harness.network.machine import require_tools

        require_tools()
        yield root.find_root()


def _take_options_of(owner: type) -> Callable[[Function], Function]:
    """Decorator: have a function's signature and docstring name the described fields of a dataclass as options."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = [
            parameter for parameter in signature.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD
        ]
        lines = [inspect.cleandoc(function.__doc__ or ""), "", "Options:", ""]
        for name, option in _list_by_name(owner).items():
            if name not in signature.parameters:
                kind = option.kind if option.default is not None else option.kind | None
                parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=kind))
                lines.append(f"    ``{name}``: {option.help}")
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__doc__ = "\n".join(lines)
        return function

    return decorate


@cache
def _list_by_name(owner: type) -> dict[str, Option]:
    """The options of a dataclass by their names in Python."""
    return {option.in_python: option for option in list_options(owner).values()}


def parse_fields(owner: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as fields of a dataclass, of the fields' types. UserMistake for one that it lacks, or of another type."""
    known, values = _list_by_name(owner) | list_options(owner), {}  # as commands have them, too
    for name, value in options.items():
        if name not in known:
            raise UserMistake(f"there is no option --{name}; the options are {', '.join(_list_by_name(owner))}")
        option = known[name]
        several = isinstance(value, str) and option.kind is tuple
        values[option.field] = option.checked((value,) if several else value, strict=False)
    return values


@_take_options_of(RunSpec)
def run(
    scheme: str | type,
    traffic: str | Flows,
    *,
    hash: str | None = None,
    out: Path | str | None = None,
    show: bool = False,
    **options: Any,
) -> Run:
    """Emulate one run, and return what its run.json holds, whatever its verdict.

    ``hash``: FUNCTION:FIELDS, what switches choose first paths by. ``out``: a new folder for its files (default: one
    below results/runs/single). ``show``: tell each stage.
    """
    from harness.jobs import carry_out

    last = ""
    fill: Callable[[float], None] | None = None

    def tell(stage: str, progress: Progress | None) -> None:
        nonlocal last
        if fill and progress:
            fill(progress.simulated_s)
        if stage and stage != last:
            last = stage
            tell_user(f"{carry_out.describe_stage(stage, progress)} ...")

    with silence(not show):
        names = spell_scheme(scheme, hash=hash), spell_traffic(traffic)
        spec = RunSpec(*names, **parse_fields(RunSpec, options))
        job = make_job(without_auto(spec, root.may_be_root()))  # a mistake is found before anything is made
        if spec.scaling_in_words:
            tell_user(spec.scaling_in_words)
        folder = Path(out) if out else choose_folder(*names)
        require_writable(folder.parent, folder.name)
        # Beside its traffic a guest has some 15 s of its own clock, for building the network and for its end.
        with carrier_for(job, 1, wanted_time=spec.time) as carrier, notebook_bar("the run", spec.seconds + 15) as fill:
            return carry_out.run_job(job, folder, carrier, tell)


def choose_folder(scheme: str, traffic: str) -> Path:
    """A folder for a single run, named after it and the time."""
    return RESULTS / "single" / f"{time.strftime('%Y%m%d-%H%M%S')}-{make_slug(traffic)}-{make_slug(scheme)}"


@_take_options_of(RunSpec)
def sweep(
    trials: int,
    seconds: float,
    *,
    patterns: Sequence[str | Flows] | None = None,
    suite: str = "figure9",
    schemes: str | Sequence[str | type] | None = None,
    hash: str | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    name: str | None = None,
    results: Path | str = RESULTS,
    cluster: str | None = None,
    jobs: int | None = None,
    show: bool = False,
    **options: Any,
) -> VariedSweep:
    """Run patterns x schemes x trials, and write their tables, pictures and page; a sweep goes on where it stopped.

    ``patterns``: traffic, in place of a ``suite``. ``schemes``: names and classes, or "all" (default: the suite's).
    ``hash``: FUNCTION:FIELDS, of all schemes that choose first paths by one.
    ``vary``: a list of values for each option, a sweep for every combination. ``name``: of its folder in ``results``.
    ``cluster``: a Dask scheduler, tls://HOST:PORT. ``jobs``: runs side by side in virtual time. ``show``: print what
    the command prints.
    """
    from harness import sweep as sweeps
    from plots.compare_sweeps import VariedSweep

    with silence(not show):
        spec = RunSpec("ecmp", "stride:1", seconds=seconds, **parse_fields(RunSpec, options))
        if cluster:
            if spec.time == "real":
                raise UserMistake("a cluster makes runs in virtual time: real time takes a machine of one's own")
            spec = replace(spec, time="virtual")
        base, varied = without_auto(spec, root.may_be_root()), parse_varied(vary or {})
        folder = Path(results) / make_slug(name or sweeps.name_of(base, varied))
        # Classes and flows are kept beside the runs that were made of them: the sweep can go on in another process.
        own_files = folder / "given"  # the classes and flows that were given to it
        traffic = None if patterns is None else [spell_traffic(pattern, own_files) for pattern in patterns]
        names = schemes if isinstance(schemes, str) else [spell_scheme(scheme, own_files) for scheme in schemes or ()]
        if not isinstance(schemes, str) and len(set(names)) < len(set(schemes or ())):
            raise UserMistake("two of the classes have one name")
        parts, left_out = sweeps.plan_parts(base, trials, traffic, suite, names, varied, folder, hash)
        if left_out:
            tell_user(f"left out, as they are for a fat-tree whose links all have one rate: {', '.join(left_out)}")
        planned = [job.spec for part in parts for job in part.jobs]
        for sentence in dict.fromkeys(spec.scaling_in_words for spec in planned if spec.scaling_in_words):
            tell_user(sentence)
        done = []
        with carrier_for(make_job(base), jobs, cluster, wanted_time=spec.time) as carrier:
            for part in parts:
                runs = sweeps.carry_out_with_progress(part.jobs, part.folder, carrier)
                done.append((runs, part.values))
                if show:
                    sweeps.show(part, runs)
        failed = "; ".join(filter(None, map(sweeps.describe_not_counted, parts)))
        swept = VariedSweep(folder, tuple(done), not failed)
        for file in swept.write() if varied else []:
            if show:
                print(f"the {'table' if file.suffix == '.csv' else 'picture'} of all: {file}")
        if show and failed:
            print(f"hedera: {failed}", file=sys.stderr)
    return swept


def parse_varied(vary: Mapping[str, Sequence[Any]]) -> dict[str, tuple[str, tuple[Any, ...]]]:
    """Varied options as `harness.sweep.plan_parts` takes them: by option the field and its values. UserMistake."""
    names = {name: option.field for name, option in _list_by_name(RunSpec).items() if option.field not in FIXED}
    varied = {}
    for option, values in vary.items():
        field = names.get(option.replace("-", "_"))
        if field is None or not values:
            shown = ", ".join(name.replace("_", "-") for name in names)
            raise UserMistake(f"--vary is OPTION=VALUE,VALUE, once for each of {shown}; not {option!r}")
        varied[option.replace("_", "-")] = (
            field,
            tuple(parse_fields(RunSpec, {field: value})[field] for value in values),
        )
    return varied


@_take_options_of(Config)
def simulate(scheme: str | type, traffic: str | Flows, *, hash: str | None = None, **options: Any) -> Result:
    """Run the paper's flow-level simulator once. ``hash``: FUNCTION:FIELDS, what switches choose first paths by."""
    from simulator.driver import Simulation

    try:
        names = spell_scheme(scheme, hash=hash), spell_traffic(traffic)
        config = Config(*names, **parse_fields(Config, options))
        with notebook_bar("the simulation", config.seconds) as fill:
            return Simulation(config).run(fill)
    except ValueError as mistake:
        raise UserMistake(str(mistake)) from None


def compare_schemes(
    results: Iterable[Run | Result], measure: str | Callable[[Any], float | None] = "bisection_mbps"
) -> DataFrame:
    """How each two schemes differ, paired by seed: for each pattern, and in the mean over ``all`` that every seed has.

    The rows are those of `hedera simulate --against` and of a sweep's differences.csv: ``scheme`` minus another, over
    how many ``trials``, the mean difference, its 95 % interval (Student's; none with fewer than three seeds) and p as
    Holm's correction leaves it. ``results``: runs or simulations that differ in scheme, traffic and seed alone; runs
    that are not valid are left out. ``measure``: the name of a result's number, or a function that gives it.
    """
    from pandas import DataFrame

    from plots import paired_tests
    from plots.stored_sweep import select_settings
    from record.run import Run

    rows, settings = [], set()
    for result in results:
        if isinstance(result, Run):
            if not result.valid:
                continue
            of_result = {"pattern": result.pattern, "trial": result.seed, "scheme": result.scheme}
            settings.add(repr(select_settings(result)))
        else:
            config = result.config
            of_result = {"pattern": config.traffic, "trial": config.seed, "scheme": config.scheme}
            settings.add(repr(replace(config, scheme="ecmp", traffic="stride:1", seed=1)))
        rows.append({**of_result, "value": measure(result) if callable(measure) else getattr(result, measure)})
    if len(settings) > 1:
        raise UserMistake("these results differ in more than scheme, traffic and seed")
    frame = DataFrame(rows)
    if not rows or frame.scheme.nunique() < 2:
        raise UserMistake("there are no valid results of two schemes to compare")
    values = frame.pivot_table("value", ["pattern", "trial"], "scheme")
    pairs = paired_tests.list_pairs(frame.scheme)
    return DataFrame(paired_tests.make_difference_rows(paired_tests.compare_schemes(values, pairs)))


def plot(result: Run | Result | VariedSweep, width: str | float | None = None) -> Figure:
    """A matplotlib figure: of a run or a simulation the rate over time, of a sweep what `VariedSweep.plot` draws.

    ``width``: for a printed page, in inches or as "84mm": text has 8 points, colours have dashes and hatches, and
    ``savefig("x.pdf")`` embeds TrueType fonts.
    """
    from plots import rates
    from plots.style import house_style
    from record.run import Run
    from simulator.result import Result

    width_in = None if width is None else parse_inches(width)
    with house_style():
        if isinstance(result, Run):
            figure = rates.draw_figure([result])
        elif isinstance(result, Result):
            config = result.config
            figure = rates.draw_simulated_rates(
                config.scheme, result.mbps_per_second, result.capacity_mbps, config.window_s
            )
        else:
            figure = result.plot()
    if width_in is not None:
        figure.lay_out_for_print(width_in)
    return figure


# --- classes and flows of the caller's ----------------------------------------------------------------------


@cache
def _make_own_folder() -> Path:
    """A folder that lasts as long as this process, whose results may look into its files."""
    until_exit = ExitStack()
    atexit.register(until_exit.close)
    return until_exit.enter_context(temporary_folder("library"))


def spell_scheme(scheme: str | type, folder: Path | None = None, hash: str | None = None) -> str:
    """A scheme as the commands name it: FILE.py:CLASS for a class, whose definitions are copied into ``folder``;
    and with the ``hash`` that is asked for. UserMistake where it can have none."""
    name = scheme
    if not isinstance(name, str):
        file = (folder or _make_own_folder()) / f"{name.__name__}.py"
        write_whole(file, collect_definitions(name))
        name = f"{file}:{name.__name__}"
    try:
        return with_hash(name, hash)
    except ValueError as error:
        raise UserMistake(str(error)) from None


def collect_definitions(owner: type) -> str:
    """The imports, functions, classes and constants of the file or notebook cell that a class is defined in."""
    # The rest of a script may be what calls us, and must not run again.
    # A method knows its file or cell; a class of a notebook does not.
    methods = [method for method in vars(owner).values() if inspect.isfunction(method)]
    try:
        source = "".join(inspect.findsource(methods[0])[0])
    except (IndexError, OSError):
        raise UserMistake(f"the source of {owner.__name__} is not known: give it as FILE.py:CLASS") from None
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    statements = [node for node in ast.parse(source).body if isinstance(node, kinds) or _is_constant(node)]
    lines = (ast.unparse(node) for node in statements)
    return "".join(f"{line}\n" for line in lines if "hedera_harness" not in line.partition("\n")[0])


def _is_constant(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    return not any(isinstance(part, ast.Call) for part in ast.walk(node.value))


def spell_traffic(traffic: str | Flows, folder: Path | None = None) -> str:
    """Traffic as the commands name it: file:PATH for a list of flows, which is written into ``folder``."""
    if isinstance(traffic, str):
        return traffic
    rows = ["src_host,dst_host,start_s,size_bytes"]
    rows += [",".join("" if cell is None else str(cell) for cell in (*flow, None, None)[:4]) for flow in traffic]
    text = "\n".join(rows) + "\n"
    file = (folder or _make_own_folder()) / f"flows-{hashlib.sha256(text.encode()).hexdigest()[:8]}.csv"
    write_whole(file, text)
    return f"file:{file}"
