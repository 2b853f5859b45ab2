"""What the tests would not notice: ``python -m benchmarks.mutation``.

A mutant is a module with one small change (another operator, number, comparison, a loop that is left out). Tests that
pass on it do not see what it broke. The score of a package is the share of its mutants that its own tests fail on,
from a random sample, with the interval that the sample gives; survivors are listed, since each is either a test that
is missing or a change that changes nothing. Cosmic Ray makes the mutants: it changes source text, so that compiled
loops are mutated as well (mutmut leaves out whatever has a decorator).

Beside it stands the branch coverage of the same tests, with Numba's compiler off, so that loops are seen.

Needs more than the checks do: .venv/bin/pip install --require-hashes --no-deps -r setup/requirements-measure.lock
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import click
from scipy.stats import binomtest  # type: ignore[import-untyped]

from files.unprivileged import tied

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("hedera", "simulator", "harness/judge", "traffic")
"""Each with tests of its own in the folder of that name below tests/."""
FOR_SPEED = ("compiled", "cache", "lru_cache")
"""Decorators without which the code does the same."""
MAX_MEMORY = 8 << 30
"""Bytes of address space that tests of a mutant may take: one may well ask for all there is."""
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not root and not alone")


@dataclass(frozen=True)
class Mutant:
    """A module, relative to the project, with one change on a line."""

    file: Path
    line: int
    source: str
    change: str


@dataclass(frozen=True)
class Score:
    """Of a package: how many places there are to change, how each of those tried ended, and those that survived."""

    package: str
    possible: int
    ends: Counter[str]
    survivors: tuple[Mutant, ...]

    def __str__(self) -> str:
        tried = self.ends.total()
        found = binomtest(tried - self.ends["survived"], tried)
        low, high = found.proportion_ci(method="wilson")
        how = ", ".join(f"{count} {end}" for end, count in self.ends.most_common())
        return (
            f"{self.package}: {found.statistic:.0%} of {tried} mutants killed "
            f"(95 % interval {low:.0%} to {high:.0%}; {how}; {self.possible:,} places could be changed)"
        )


def sample(package: str, count: int, seed: int) -> tuple[int, list[Mutant]]:
    """How many places of a package can be changed, and ``count`` mutants that mean something else, drawn by ``seed``.

    Every place is as likely, though an operator has ten others to be replaced by and a comparison more.
    """
    from cosmic_ray.commands import init
    from cosmic_ray.work_db import WorkDB, use_db

    modules = sorted((ROOT / package).rglob("*.py"))
    with TemporaryDirectory() as folder, use_db(f"{folder}/db", WorkDB.Mode.create) as db:
        init(modules, db, {})
        specs = [item.mutations[0] for item in db.work_items]
    places = defaultdict(list)
    for spec in sorted(specs, key=lambda spec: (str(spec.module_path), spec.operator_name, spec.occurrence)):
        places[str(spec.module_path), spec.start_pos].append(spec)
    rng = random.Random(seed)
    found: list[Mutant] = []
    for place in rng.sample(sorted(places), len(places)):
        if len(found) == count:
            break
        if (mutant := made(rng.choice(places[place]))) is not None:
            found.append(mutant)
    return len(places), found


def made(spec: object) -> Mutant | None:
    """A mutation carried out; None where the program stays the same one."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    path = Path(spec.module_path)  # type: ignore[attr-defined]
    before = path.read_text(encoding="utf-8")
    operator = get_operator(spec.operator_name)(**spec.operator_args)  # type: ignore[attr-defined]
    after = mutate_code(before, operator, spec.occurrence)  # type: ignore[attr-defined]
    if after is None or meaning(before) == meaning(after):
        return None
    old, new = before.splitlines(), after.splitlines()
    line = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new) - 1)
    change = f"{old[line].strip()}  ->  {new[line].strip()}"
    return Mutant(path.relative_to(ROOT), line + 1, after, change)


def meaning(source: str) -> str:
    """What a program says, without annotations, which are never evaluated, and decorators that are for speed."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
            node.decorator_list = [d for d in node.decorator_list if ast.unparse(d) not in FOR_SPEED]
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


class Copy:
    """A copy of the project to spoil."""

    def __init__(self, place: Path) -> None:
        self.place = place
        left_out = shutil.ignore_patterns(".*", "__pycache__", "runs", "*.egg-info")
        shutil.copytree(ROOT, place, symlinks=True, ignore=left_out)
        self._environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(place / ".numba"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._environment.pop("PYTHONPATH", None)

    def passes(self, tests: Sequence[str], most_s: float) -> bool | None:
        """Whether tests pass, with this folder's modules; None when they take longer than ``most_s``."""
        process = subprocess.Popen(
            [*tied("KILL"), "prlimit", f"--as={MAX_MEMORY}", sys.executable, *PYTEST, "-x", *tests],
            cwd=self.place,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(most_s) in (0, 5)  # 5: there was none to run
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def try_out(self, mutant: Mutant, package: str, most_s: float) -> str:
        """How a mutant ends: by its module's own tests, by the package's others, by time, or not at all."""
        path = self.place / mutant.file
        before = path.read_bytes()
        path.write_text(mutant.source, encoding="utf-8")
        try:
            own = f"tests/{mutant.file.parent}/test_{mutant.file.stem}.py"
            stages = {f"tests/{package}": "killed by another module's tests"}
            if (self.place / own).exists():
                stages = {own: "killed by its own tests", **stages}
            for tests, end in stages.items():
                if (passed := self.passes([tests], most_s)) is None:
                    return "killed by time"
                if not passed:
                    return end
            return "survived"
        finally:
            path.write_bytes(before)


@contextmanager
def copies(jobs: int) -> Iterator[SimpleQueue[Copy]]:
    """So many copies, to take from and give back."""
    with TemporaryDirectory(prefix="hedera-mutation-") as folder:
        free: SimpleQueue[Copy] = SimpleQueue()
        for n in range(jobs):
            free.put(Copy(Path(folder, str(n))))
        yield free


def score(package: str, count: int, seed: int, jobs: int) -> Score:
    """Try a sample of a package's mutants. RuntimeError where its tests fail as it is."""
    possible, drawn = sample(package, count, seed)
    with copies(jobs) as free, ThreadPoolExecutor(jobs) as pool:

        def unspoilt(_: int) -> float:
            copy = free.get()
            began = time.monotonic()  # compiling included, of which a mutant needs less
            if not copy.passes([f"tests/{package}"], 3600):
                raise RuntimeError(f"the tests of {package} fail as it is, in a copy of this folder")
            free.put(copy)
            return time.monotonic() - began

        most_s = 60 + 3 * max(pool.map(unspoilt, range(jobs)))

        def end_of(mutant: Mutant) -> str:
            copy = free.get()
            try:
                return copy.try_out(mutant, package, most_s)
            finally:
                free.put(copy)

        ends = list(pool.map(end_of, drawn))
    survivors = [mutant for mutant, end in zip(drawn, ends, strict=True) if end == "survived"]
    return Score(package, possible, Counter(ends), tuple(survivors))


def coverage() -> dict[str, tuple[float, float]]:
    """The share of lines and of branches that a package's own tests reach, by package.

    RuntimeError where a run of tests did not come to its end: it has counted nothing.
    """
    found = {}
    for package in PACKAGES:
        with TemporaryDirectory() as folder:  # one each, or a run that ends early would tell the last one's numbers
            environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "COVERAGE_FILE": f"{folder}/data"}
            run = [sys.executable, "-m", "coverage", "run", "--branch", f"--source={ROOT / package}"]
            # A loop that is not compiled may take an hour at k = 48, and numbers wrap around with a warning.
            patience = ["--timeout=60", "-W", "ignore::RuntimeWarning"]
            tests = [*PYTEST, *patience, f"tests/{package}"]
            done = subprocess.run([*run, *tests], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False)
            if done.returncode not in (0, 1):  # 1: some failed, of those that want a compiler among others
                raise RuntimeError(f"the tests of {package} ended with status {done.returncode} under coverage")
            told = [sys.executable, "-m", "coverage", "json", "-q", "-o", f"{folder}/json"]
            subprocess.run(told, cwd=ROOT, env=environment, check=True)
            totals = json.loads(Path(folder, "json").read_text())["totals"]
            found[package] = (
                totals["covered_lines"] / totals["num_statements"],
                totals["covered_branches"] / totals["num_branches"],
            )
    return found


@click.command()
@click.option("--count", default=40, show_default=True, help="Mutants of each package.")
@click.option("--seed", default=1, show_default=True, help="Which they are.")
@click.option("--jobs", default=2, show_default=True, help="Copies of the project at work at once.")
@click.option("--package", "packages", multiple=True, type=click.Choice(PACKAGES), help="These alone.")
@click.option("--coverage/--no-coverage", "covered", default=True, help="Branch coverage as well.")
def main(count: int, seed: int, jobs: int, packages: tuple[str, ...], covered: bool) -> None:
    """Mutation scores and branch coverage of the packages that compute; half an hour on two free processors."""
    for package in packages or PACKAGES:
        try:
            found = score(package, count, seed, jobs)
        except RuntimeError as error:
            raise click.ClickException(str(error)) from None
        print(found, flush=True)
        for mutant in sorted(found.survivors, key=lambda one: (one.file, one.line)):
            print(f"    {mutant.file}:{mutant.line}  {mutant.change}", flush=True)
    if covered:
        for package, (lines, branches) in coverage().items():
            print(f"{package}: {lines:.1%} of lines and {branches:.1%} of branches reached", flush=True)


if __name__ == "__main__":
    main()
