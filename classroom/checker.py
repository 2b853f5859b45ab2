"""Checks your files on small examples with recorded answers, and says what is wrong and what to read again.

    python3 check.py                all files of the assignment in this folder
    python3 check.py demand.py      one of them, in any folder

It needs only Python 3.10 or later and NumPy. Grading uses different examples, and more of them.
"""

# ruff: noqa: E402, in a handout the path is set first
from __future__ import annotations

import faulthandler
import json
import subprocess
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if (HERE / "project").is_dir():  # in a handout: only the modules that a submission can import when it is graded
    sys.path[:] = [str(HERE / "project"), *(path for path in sys.path if Path(path).resolve() != HERE)]

if find_spec("numpy") is None:
    raise SystemExit("check.py needs NumPy: python3 -m pip install numpy")

import numpy as np

from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity
from hedera.schemes import Options
from topos.fattree import FatTree
from topos.links import canonical_cores, climb

CASES = HERE / "cases.json"
CLOSE = 1e-6
PATIENCE_S = 60
"""Seconds for all checks of a file; for a correct file they take a few."""
HELD, FAILED = 8, 9
"""Exit statuses of a process whose checks finished: all passed, or not. Any other status comes from the checked
code."""
TREE = FatTree(4)

Check = dict[str, Any]


class Wrong(Exception):
    """A mistake, and the example that shows it."""

    def __init__(self, words: str, example: str = "") -> None:
        super().__init__(words)
        self.example = example


# --- answers ------------------------------------------------------------------------------------------------


def array(given: Any, count: int, what: str) -> Any:
    """An answer as numbers, one for each flow."""
    values = np.asarray(given)
    if given is None or values.dtype.kind not in "biuf":
        raise Wrong(f"{what} answers with {type(given).__name__}, not with an array of numbers")
    if values.shape != (count,):
        raise Wrong(f"{what} answers with shape {values.shape} where there are {count} flows")
    if not np.isfinite(values).all():
        raise Wrong(f"some of the numbers that {what} answers with are not finite")
    return values


def place(scheduler: Any, flows: LargeFlows, links: LinkState) -> Any:
    """One period of a scheduler: the cores, checked as docs/own-scheduler.md requires."""
    before = {name: getattr(flows, name).copy() for name in LargeFlows.__dataclass_fields__}
    before["up"] = links.up.copy()
    core = array(scheduler.place(flows, links), flows.key.size, "place")
    if core.size and (core.dtype.kind not in "iu" or not 0 <= core.min() <= core.max() < TREE.num_cores):
        raise Wrong(f"place answers with {core.tolist()}: cores are whole numbers, 0 to {TREE.num_cores - 1}")
    for name, was in before.items():
        if not np.array_equal(was, links.up if name == "up" else getattr(flows, name)):
            raise Wrong(f"place writes to {name}, which belongs to the caller: copy it first")
    return core.astype(np.int32)


def make(theirs: Any, seed: int = 1, iterations: int = 1000) -> Any:
    """A scheduler, made as for a run."""
    return theirs(TREE, np.random.default_rng(seed), Options(iterations))


def table(flows: dict[str, list[Any]]) -> LargeFlows:
    """Flows as they were recorded, on their hashed paths."""
    src, dst, hashed = (np.array(flows[name], dtype=np.int32) for name in ("src", "dst", "hashed"))
    demand = np.array(flows["demand"], dtype=np.float64)
    return LargeFlows(np.arange(src.size), src, dst, demand, hashed.copy(), hashed)


# --- demands ------------------------------------------------------------------------------------------------


def demands(theirs: Any, check: Check) -> None:
    """Compare with recorded estimates; the result of a known mistake is recognised."""
    for case in check["cases"]:
        src, dst = (np.array(case[name], dtype=np.int32) for name in ("src", "dst"))
        given = array(theirs(src.copy(), dst.copy(), case["hosts"]), src.size, "estimate_demands")
        right = np.array(case["demand"])
        if np.allclose(given, right, atol=CLOSE):
            continue
        rows = [
            f"flow {n}: H{s} to H{d}: {mine:.4f}, by Figure 7 {its:.4f}{'' if abs(mine - its) < CLOSE else '   <-'}"
            for n, (s, d, mine, its) in enumerate(zip(src, dst, given, right, strict=True))
        ]
        known = (words for words, like in case["mistakes"] if np.allclose(given, like, atol=CLOSE))
        raise Wrong(next(known, check["words"]), "\n".join(rows[:20]))


def order(theirs: Any, check: Check) -> None:
    """The same flows in another order."""
    case = check["cases"][0]
    src, dst = (np.array(case[name], dtype=np.int32) for name in ("src", "dst"))
    turned = np.array(case["turned"])
    given, again = (
        array(theirs(src[at], dst[at], case["hosts"]), src.size, "estimate_demands")
        for at in (np.arange(src.size), turned)
    )
    if not given.any() or not np.allclose(given[turned], again, atol=CLOSE):
        raise Wrong(check["words"], f"flows {list(zip(src.tolist(), dst.tolist(), strict=True))}")


# --- first fit ----------------------------------------------------------------------------------------------


def periods(theirs: Any, case: dict[str, Any]) -> Iterator[dict[int, int]]:
    """The cores of the flows in a recorded history, period by period."""
    scheduler = make(theirs)
    on: dict[int, int] = {}
    for period in range(case["periods"]):
        there = [n for n, flow in enumerate(case["flows"]) if flow["born"] <= period < flow["gone"]]
        flows = [case["flows"][n] for n in there]
        src, dst, hashed = (np.array([f[x] for f in flows], dtype=np.int32) for x in ("src", "dst", "hashed"))
        hashed = canonical_cores(TREE, src, dst, hashed)
        core = np.array([on.get(n, h) for n, h in zip(there, hashed, strict=True)], dtype=np.int32)
        demand = np.array([f["demand"] for f in flows], dtype=np.float64)
        asked = LargeFlows(np.array(there, dtype=np.int64), src, dst, demand, core, hashed)
        on = dict(zip(there, place(scheduler, asked, LinkState(TREE)).tolist(), strict=True))
        yield on


def histories(theirs: Any, check: Check) -> None:
    """Check the cores of flows in the last period; or of every flow in every period."""
    for case in check["cases"]:
        found = list(periods(theirs, case))
        last, wrong = found[-1], ""
        if any(last[int(flow)] != core for flow, core in case.get("on", {}).items()):
            wrong = ", ".join(f"flow {flow} on core {last[int(flow)]}" for flow in case["on"])
        if "together" in case and len({last[flow] for flow in case["together"]}) > 1:
            wrong = ", ".join(f"flow {flow} on core {last[flow]}" for flow in case["together"])
        for period, right in enumerate(case.get("cores", ())):
            moved = [flow for flow, core in found[period].items() if core != right[str(flow)]]
            if moved and not wrong:
                flow = moved[0]
                wrong = f"flow {flow} on core {found[period][flow]} in period {period + 1}, not on {right[str(flow)]}"
        if wrong:
            raise Wrong(f"{check['words']} Found: {wrong}", case["told"])


# --- annealing ----------------------------------------------------------------------------------------------


class Search:
    """A search, which reports its state."""

    def __init__(self, theirs: Any, seed: int, iterations: int) -> None:
        self.made = make(theirs, seed, iterations)

    def period(self, flows: LargeFlows) -> tuple[Any, float, float]:
        """The cores of hosts, the energy of that state, and that of the first one."""
        core = place(self.made, flows, LinkState(TREE))
        core_of = np.array(self.made.core_of)
        if core_of.shape != (TREE.num_hosts,) or core_of.dtype.kind not in "iu":
            raise Wrong("after place, core_of must be an array of whole numbers, a core for each host")
        beyond = climb(flows.src, flows.dst, TREE.half) == 2
        if (core[beyond] != core_of[flows.dst[beyond]]).any():
            raise Wrong("a flow goes by another core than the state has for its destination")
        return core_of.astype(np.int64), float(self.made.energy), float(self.made.initial_energy)


NOTHING = table({name: [] for name in ("src", "dst", "hashed", "demand")})


def energy(flows: LargeFlows, core_of: Any) -> float:
    """The energy of a state, from nothing."""
    return exceeded_capacity(TREE, flows.src, flows.dst, flows.demand, core_of[flows.dst], LinkState(TREE))


def searches(theirs: Any, check: Check) -> None:
    """Check what a search reports of its states, and where it ends."""
    moved, mine = False, []
    for seed, recorded in enumerate(check["cases"]):
        flows, search = table(recorded), Search(theirs, seed, check["iterations"])
        example = f"seed {seed}, k = 4, {flows.key.size} flows, {check['iterations']} iterations"
        first, _, _ = search.period(NOTHING)
        state, least, began = search.period(flows)
        mine.append(energy(flows, state))
        moved |= least < began - CLOSE
        match check["kind"]:
            case "one to one":
                for pod in np.split(np.stack([first, state]), TREE.k, axis=1):
                    if any(len(set(cores)) < TREE.num_cores for cores in pod.tolist()):
                        raise Wrong(f"{check['words']} Found: {pod.tolist()}", example)
            case "energies":
                for name, said, of in (("initial_energy", began, first), ("energy", least, state)):
                    if abs(said - energy(flows, of)) > CLOSE:
                        words = f"{name} is {said:.6f}, and computed afresh it is {energy(flows, of):.6f}. "
                        raise Wrong(words + check["words"], example)
            case "not worse":
                for _ in range(8):
                    if least > began + CLOSE:
                        raise Wrong(f"it began at {began:.3f} and ends at {least:.3f}: {check['words']}", example)
                    _, least, began = search.period(flows)
            case "goes on":
                _, _, again = search.period(flows)
                if abs(again - least) > CLOSE:
                    raise Wrong(f"it ended at {least:.3f}, then begins at {again:.3f}: {check['words']}", example)
    if check["kind"] != "finds":
        if not moved:
            raise Wrong("no search found a better state than it began with, although links carry too much")
    elif np.mean(mine) > check["enough"]:
        raise Wrong(
            f"{np.mean(mine):.2f} links' worth of demand is exceeded, the mean of {len(mine)} searches; a good one "
            f"leaves at most {check['enough']:.2f}. {check['words']}"
        )


# --- the loop -----------------------------------------------------------------------------------------------


class Told:
    """A placement with recorded answers, which records its inputs."""

    wants: dict[str, int]
    asked: list[LargeFlows]

    def place(self, flows: LargeFlows, links: LinkState) -> Any:
        """Some flows on other cores."""
        self.asked.append(flows)
        wanted = [self.wants.get(str(int(k)), int(c)) for k, c in zip(flows.key, flows.core, strict=True)]
        return np.array(wanted, dtype=np.int32)


def shares(src: Any, dst: Any, hosts: int) -> Any:
    """The demand estimation that a loop gets here: a stand-in for Figure 7, which is another milestone."""
    src, dst = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
    busy = np.maximum(np.bincount(src, minlength=hosts)[src], np.bincount(dst, minlength=hosts)[dst])
    return 1.0 / np.maximum(busy, 1)


def turns(theirs: Any, check: Check) -> None:
    """Check the answer to each of the recorded polls of the edge switches."""
    for case in check["cases"]:
        told = Told()
        loop = theirs(TREE, told, shares, case["mbps"])
        for number, turn in enumerate(case["turns"], 1):
            told.wants, told.asked = turn["wants"], []
            given = {name: np.array(values, dtype=case["types"][name]) for name, values in turn["counters"].items()}
            changes = dict(loop.round(types.SimpleNamespace(**given), LinkState(TREE)))
            found = {str(int(key)): int(core) for key, core in changes.items()}
            if len(told.asked) != 1:
                raise Wrong(f"{check['words']} In period {number} the placement was asked {len(told.asked)} times")
            last = told.asked[0]
            placed = {str(int(k)): float(d) for k, d in zip(last.key, last.demand, strict=True)}
            if placed.keys() != turn["placed"].keys():
                words = f"In period {number} flows {sorted(placed, key=int)} are placed, and it should be"
                raise Wrong(f"{check['words']} {words} {sorted(turn['placed'], key=int)}", case["told"])
            for key, right in turn["placed"].items():
                if abs(placed[key] - right) > CLOSE:
                    words = f"flow {key} is handed on with demand {placed[key]:.4f}, and it should be {right:.4f}"
                    raise Wrong(f"{check['words']} In period {number} {words}", case["told"])
            if found != turn["changes"]:
                words = f"In period {number} the changes are {found}, and they should be {turn['changes']}"
                raise Wrong(f"{check['words']} {words}", case["told"])


# --- a scheduler of one's own -------------------------------------------------------------------------------


def contract(theirs: Any, check: Check) -> None:
    """Check the contract: valid answers, unchanged inputs, equal answers for equal seeds, no failed links."""
    exceeded, moved = [], False
    for recorded in check["cases"]:
        flows, links = table(recorded), LinkState(TREE)
        links.fail(recorded["down"])
        answers = [place(make(theirs), flows, links) for _ in range(2)]
        if (answers[0] != answers[1]).any():
            raise Wrong("two schedulers of one seed answer differently: draw from rng and from nothing else")
        core = answers[0]
        moved |= bool((core != flows.hashed).any())
        usable = links.usable(flows.src, flows.dst, core)
        if wrong := np.flatnonzero(~usable & links.usable_cores(flows.src, flows.dst).any(axis=1)).tolist():
            words = f"flow {wrong[0]} is put on core {core[wrong[0]]}, whose path has a failed link"
            raise Wrong(f"{words}: ask links.usable(src, dst, core)", recorded["told"])
        exceeded.append(exceeded_capacity(TREE, flows.src, flows.dst, flows.demand, core, links))
    if check["kind"] == "moves":
        if not moved:
            raise Wrong(check["words"])
        left = f"{sum(exceeded):.2f} links' worth of demand is exceeded in all; "
        print(f"     {left}under ECMP {check['ecmp']:.2f}, under hedera-gff {check['baseline']:.2f}")


KINDS: dict[str, Callable[[Any, Check], None]] = {
    "demands": demands,
    "order": order,
    "histories": histories,
    "turns": turns,
    **dict.fromkeys(("one to one", "energies", "not worse", "goes on", "finds"), searches),
    **dict.fromkeys(("contract", "moves"), contract),
}


def look(path: Path, checks: list[Check]) -> bool:
    """Run all checks of a file and print the findings; whether all passed."""
    try:
        module = types.ModuleType("submission")
        sys.modules["submission"] = module
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except Exception as error:  # noqa: BLE001, it may raise anything
        print(f"NO   {path.name} cannot be loaded: {type(error).__name__}: {error}{line_of(error, path)}")
        return False
    theirs, good = getattr(module, checks[0]["attribute"], None), 0
    if theirs is None:
        print(f"NO   {path.name} has no {checks[0]['attribute']}")
        return False
    for check in checks:
        example = ""
        try:
            KINDS[check["kind"]](theirs, check)
            words = ""
        except Wrong as wrong:
            words, example = str(wrong), wrong.example
        except Exception as error:  # noqa: BLE001, and here
            words = f"it raises {type(error).__name__}: {error}{line_of(error, path)}"
        good += not words
        print(f"{'NO  ' if words else 'ok  '} {check['name']} ({check['section']})", flush=True)
        if words:
            print("\n".join([f"       {words}", *(f"         {line}" for line in example.splitlines())]))
    print(f"{path.name}: {good} of {len(checks)} checks hold", flush=True)
    return good == len(checks)


def line_of(error: Exception, path: Path) -> str:
    """The last line of a file in an error's traceback."""
    numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    number = error.lineno if isinstance(error, SyntaxError) else numbers[-1] if numbers else None
    return f" (line {number} of {path.name})" if number else ""


def main(words: list[str]) -> int:
    """Check the files named, or all in this folder, each in a process of its own. 0: all passed."""
    checks: dict[str, list[Check]] = json.loads(CASES.read_text(encoding="utf-8"))
    if words[:1] == ["--one"]:
        faulthandler.dump_traceback_later(PATIENCE_S, exit=True)
        return HELD if look(Path(words[1]).resolve(), checks[Path(words[1]).name]) else FAILED
    paths = [Path(word) for word in words] or [HERE / file for file in checks if (HERE / file).is_file()]
    for path in paths:
        if path.name not in checks or not path.is_file():
            print(f"there is no {path}" if path.name in checks else f"files are called {', '.join(checks)}")
            return 2
    done = []
    for path in paths:
        print(f"\n{path.name}", flush=True)
        done.append(subprocess.run([sys.executable, "-B", __file__, "--one", str(path)], check=False).returncode)
        if done[-1] not in (HELD, FAILED):
            print(f"NO   {path.name} came to no end within {PATIENCE_S} s, or ended Python: see the lines above")
    print("\nGrading draws other examples: what fails here loses points there; what holds here may still.")
    return 0 if set(done) == {HELD} else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
