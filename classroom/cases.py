"""What the checks ask, drawn from a seed, and what is right: computed by the project's own schedulers.

A handout has the cases of a public seed, and grading those of a secret one; this module is not handed out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from classroom.answering import History, HistoryFlow, walk
from classroom.checks import BASELINE, CONTRACT, TREE, Case
from classroom.submission import NAMES, Question
from hedera.demand import estimate_demands
from hedera.global_first_fit import GlobalFirstFit
from hedera.maxmin import bound_total
from hedera.simulated_annealing import SimulatedAnnealing
from simulator.config import Config
from topos.arrays import Int32
from topos.fattree import FatTree
from topos.links import find_canonical_cores, link_ends, num_links, path_links
from topos.network import NonBlocking
from traffic.patterns import draw

PUBLIC = 2010
KNOWN = f"{PUBLIC} is the seed of the students' own checks: grade with another one"

FIGURE_4: list[tuple[int, int]] = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 0), (1, 2), (2, 0), (2, 3), (3, 1), (3, 1)]
"""The example of section 4.2: H0 sends a flow each to H1, H2 and H3, H1 two to H0 and one to H2, and so on."""
FIGURE = "the example of Figure 4"
ONE_PASS = "flows that one pass decides"
NO_FLOWS, ORDER = "nothing to estimate", "the order of the flows does not matter"
DRAWN = 120
"""Random inputs of a check, small ones first."""
SEARCHES = 16
"""Bijections on which searches are compared: a pure descent leaves 1.9 links' worth of demand exceeded there."""
ENOUGH = 0.6
"""How much more than the project's own search may be left exceeded, in links, on average over these."""
TWICE = 15
"""Histories of the contract that are tried in another process, too, the largest ones."""
SHORT, HOT = 150, 8
"""Iterations of searches: for their reports alone, and of one that ends while its last state is often not its best."""
Flows = tuple[HistoryFlow, ...]


def make_cases(seed: int) -> dict[str, list[Case]]:
    """The checks of each file, in the order of the milestones; last those of a scheduler of one's own."""
    histories = _draw_histories(Random(f"{seed} contract"), DRAWN // 2, failures=True)
    # A second process answers some of them again, to see whether the seed alone decides. The last ones have the most
    # flows, and so the most that chance could decide otherwise.
    again = [history.question(seed=3) for history in histories if not history.cables][-TWICE:]
    cases_of_contract = [_make_history_case(history) for history in histories]
    contract = [_check(10, "contract", CONTRACT, "contract", "", *cases_of_contract, {"questions": again})]
    return dict(
        zip(
            NAMES,
            (_make_demand_cases(seed), _make_first_fit_cases(seed), _make_annealing_cases(seed), contract),
            strict=True,
        )
    )


def _check(worth: int, name: str, section: str, kind: str, words: str, *cases: Case) -> Case:
    """``worth``: its points (docs/assignment/rubric.md)."""
    return {"worth": worth, "name": name, "section": section, "kind": kind, "words": words, "cases": list(cases)}


# --- demands ------------------------------------------------------------------------------------------------


def _make_demand_cases(seed: int) -> list[Case]:
    rng = Random(f"{seed} demand")
    pairs = sorted((_draw_pairs(rng, 6, rng.randint(1, 12)) for _ in range(DRAWN)), key=len)
    decided = [_estimate(flows, 6) for flows in pairs if _is_decided_in_one_pass(flows, 6)]
    many, few = _draw_pairs(rng, 128, 600), _draw_pairs(rng, 8, 20)
    permutation = rng.sample(range(20), 20)
    questions = [_estimate(pairs, 8)["questions"][0] for pairs in (few, [few[n] for n in permutation])]
    order = {"questions": questions, "permutation": permutation, "setting": f"flows {few}, 8 hosts"}
    marked = (
        "the flows marked below want what no sender or receiver limits them to. Which of the two limits each? Figure 7 "
        "goes on until no demand changes any more, not for one pass of EST-SRC and EST-DST; and so does EST-DST's own "
        "loop (lines 9 to 18), since others may fall below a share that has grown"
    )
    other = "the same flows in another order get other demands; each answer belongs to its flow"
    empty, random = "without flows there are no demands: an array of length 0", [_estimate(flows, 6) for flows in pairs]
    once = "the flows marked below have their demands after one EST-SRC and one EST-DST, and nothing changes after that"
    return [
        _check(5, FIGURE, "section 4.2, Figure 4", "demands", marked, _estimate(FIGURE_4, 4)),
        _check(1, NO_FLOWS, "section 4.2", "demands", empty, _estimate([], 4)),
        _check(4, ONE_PASS, "section 4.2, Figure 7", "demands", once, *decided),
        _check(5, "random flows, as Figure 7 has it", "section 4.2, Figure 7", "demands", marked, *random),
        _check(2, ORDER, "section 4.2", "order", other, order),
        _check(3, "600 flows among 128 hosts", "section 4.2, Figure 7", "demands", marked, _estimate(many, 128)),
    ]


def _is_decided_in_one_pass(pairs: list[tuple[int, int]], hosts: int) -> bool:
    """Whether senders that share evenly, and receivers that then limit their largest flows, are all that there is."""
    src, dst = np.array(pairs).T
    demand = 1.0 / np.bincount(src)[src]
    # What each receiver allows is computed from the senders' shares alone. Where another pass of Figure 7 would change
    # a share again, the two differ.
    for host in np.flatnonzero(np.bincount(dst, weights=demand) > 1.0):
        wanted = np.sort(demand[dst == host])
        room = (1.0 - np.cumsum(wanted) + wanted) / np.arange(wanted.size, 0, -1)
        demand[dst == host] = np.minimum(demand[dst == host], room[np.argmax(wanted > room)])
    return bool(np.allclose(demand, estimate_demands(src, dst, hosts)))


def _draw_pairs(rng: Random, hosts: int, count: int) -> list[tuple[int, int]]:
    return [(s, (s + rng.randrange(1, hosts)) % hosts) for s in (rng.randrange(hosts) for _ in range(count))]


def _estimate(pairs: list[tuple[int, int]], hosts: int) -> Case:
    src, dst = [s for s, _ in pairs], [d for _, d in pairs]
    few = len(pairs) <= 20
    setting = f"flows {pairs}, {hosts} hosts" if few else f"{len(pairs)} random flows among {hosts} hosts"
    right = estimate_demands(src, dst, hosts).tolist()
    return {"questions": [{"src": src, "dst": dst, "hosts": hosts}], "demand": right, "setting": setting}


# --- histories ----------------------------------------------------------------------------------------------


def _make_history_case(history: History, **right: Any) -> Case:
    return {"questions": [history.question()], **right, "setting": str(history)}


def _draw_histories(rng: Random, count: int, failures: bool, sizes: Sequence[float] = (0.0,)) -> list[History]:
    """Small ones first. ``sizes``: demands to draw from, so that no host's link is asked for more than it has."""
    histories = [History(4, ())]
    for _ in range(count):
        tree, periods = FatTree(rng.choice((4, 4, 4, 6))), rng.randint(1, 3)
        flows, cables, sent, received = [], [], [0.0] * tree.num_hosts, [0.0] * tree.num_hosts
        for _ in range(int(13 * rng.random() ** 1.5)):  # up to twelve, mostly few
            src = rng.randrange(tree.num_hosts)
            dst = (src + rng.randrange(1, tree.num_hosts)) % tree.num_hosts
            born, size, hashed = rng.randrange(periods), rng.choice(sizes), rng.randrange(tree.num_cores)
            sent[src], received[dst] = sent[src] + size, received[dst] + size
            if max(sent[src], received[dst]) <= 1:
                flows.append(HistoryFlow(src, dst, hashed, size or None, born, born + rng.randint(1, 3)))
        for flow in rng.choices(flows, k=rng.randint(0, 2)) if failures and flows else ():
            # a cable between switches, on one of its paths if it leaves its edge switch
            path = path_links(tree, [flow.src], [flow.dst], [rng.randrange(tree.num_cores)])[0, 1:5]
            inner = [int(link) for link in path if link >= 0] or [tree.num_hosts + flow.src]
            cables.append(link_ends(tree, rng.choice(inner)))
        histories.append(History(tree.k, tuple(flows), periods, tuple(cables)))
    return sorted(histories, key=lambda history: (len(history.flows), history.periods, len(history.cables)))


SCENES = json.loads((Path(__file__).with_name("templates") / "scenes.json").read_text(encoding="utf-8"))
"""Histories of flows, each with one right answer: its points and name, what is to be seen, flows (`HistoryFlow`),
periods, ``cores`` of flows in each, and flows that share a core in the last one (``together``).

But in the first, demands are 0.9 of a link and parts of that, so that neither rounding nor a literal < matters. They
stay the same while a flow lives: how a reservation follows a changing demand is left open by the paper, and here. At
k = 4, hosts 0 and 1 share an edge switch, hosts 0 to 3 a pod, and four cores lead to each pod."""


def _make_first_fit_cases(seed: int) -> list[Case]:
    cases, scenes = [], []
    for scene in SCENES:
        history = History.read({"k": 4, "cables": (), **scene})
        case = _make_history_case(history, cores=scene["cores"], together=scene["together"])
        scenes.append(_check(scene["worth"], scene["name"], scene["section"], "history", scene["words"], case))
    for history in _draw_histories(Random(f"{seed} first fit"), DRAWN, failures=False, sizes=(0.9, 0.45, 0.225)):
        cores = walk(history, GlobalFirstFit(FatTree(history.k)).place)
        cases.append(_make_history_case(history, cores=[list(period.items()) for period in cores], together=[]))
    first = (
        "is that the first path, in the order of tree.path_cores, on which every link has room beside what the flows "
        "before it hold? Or, if no path has, its hashed one?"
    )
    return [
        *scenes,
        _check(4, "random histories, as Figure 5 has it", "section 4.3, Figure 5", "history", first, *cases),
    ]


# --- annealing ----------------------------------------------------------------------------------------------


def _draw_hashed_flows(rng: Random, born: int = 0, gone: int = 9, pattern: str = "random", each: int = 2) -> Flows:
    """Random traffic on hashed paths; by default two flows from ``each`` host."""
    matrix = draw(pattern, TREE, rng.randrange(1 << 30), flows_per_host=each)
    hashed = np.array([rng.randrange(4) for _ in matrix.src], np.int32)
    hashed = find_canonical_cores(TREE, matrix.src, matrix.dst, hashed)
    return _estimate_flows(TREE, matrix.src, matrix.dst, hashed, born, gone)


def _estimate_flows(tree: FatTree, src: Int32, dst: Int32, hashed: Int32, born: int = 0, gone: int = 9) -> Flows:
    """Flows with the demands that they are estimated to have together."""
    demand = np.asarray(estimate_demands(src, dst, tree.num_hosts))
    each = zip(src.tolist(), dst.tolist(), hashed.tolist(), demand.tolist(), strict=True)
    return tuple(HistoryFlow(*flow)._replace(born=born, gone=gone) for flow in each)


def _make_annealing_cases(seed: int) -> list[Case]:
    rng = Random(f"{seed} annealing")

    def search(number: int, iterations: int, periods: int, *flows: HistoryFlow) -> Question:
        return History(4, flows, periods).question(number, iterations)

    def check(worth: int, name: str, where: str, rule: str, words: str, *questions: Question, **more: Any) -> Case:
        case = {"rule": rule, "questions": list(questions), "setting": "k = 4, two flows from each host", **more}
        return _check(worth, name, f"section 4.4, {where}", "searches", words, case)

    bijections = [_draw_hashed_flows(rng, pattern="randbij", each=1) for _ in range(SEARCHES)]
    # What a good search leaves is not a number of the paper: the project's own search of the same inputs tells it.
    ours = []
    for number, flows in enumerate(bijections):
        reference = SimulatedAnnealing(TREE, np.random.default_rng(number))
        walk(History(4, flows), reference.place)
        ours.append(reference.energy)
    return [
        check(
            3, "the hosts of a pod share no core", "State and Initial state", "one to one",
            "as many cores as a pod has hosts, and each is to be used by one of them; a move swaps two",
            search(1, SHORT, 4, *(flow for n in (1, 2, 3) for flow in _draw_hashed_flows(rng, n, n + 1))),
        ),
        check(
            5, "energies are those of their states", "Energy", "energies",
            "a difference that is kept move by move must cover all links of both hosts' flows, up and down, and be "
            "undone when a move is refused; links between hosts and edge switches do not count",
            *(search(n, SHORT, 2, *_draw_hashed_flows(rng, 1)) for n in range(5)),
        ),
        check(
            4, "never worse than its start", "Figure 6", "not worse",
            "Figure 6 returns the best state seen, s_B, and not the last one",
            *(search(n, SHORT, 2, *_draw_hashed_flows(rng, 1)) for n in range(5)),
            *(search(n, HOT, 9, *_draw_hashed_flows(rng, 1)) for n in range(5, 10)),
        ),
        check(
            3, "a period begins with the best state of the last", "Dynamically changing flows", "goes on",
            "of the same flows, it begins with the best state of the last one",
            *(search(n, SHORT, 3, *_draw_hashed_flows(rng, 1)) for n in range(5)),
        ),
        check(
            5, "it finds good states", "Figure 6 and Neighbor generator", "finds",
            "Are all three kinds of move tried, worse states accepted while it is hot, and few when it is cold?",
            *(search(n, 1000, 1, *flows) for n, flows in enumerate(bijections)),
            enough=float(np.mean(ours)) + ENOUGH,
            setting="k = 4, random bijections: each host sends and receives a flow",
        ),
    ]  # fmt: skip


# --- bandwidth ----------------------------------------------------------------------------------------------

SIZES, ROUNDS = (4, 8), 4
PATTERNS = 3
"""Patterns of each kind at each size."""
DRAWS = 1  # of a scheduler's own: the seed of the traffic would reveal future flows


def make_quality_cases(seed: int) -> list[Case]:
    """The traffic on which schedulers are measured, and what ECMP, the baseline and any paths reach under it.

    It is random, so that a submission cannot contain prepared answers."""
    cases = []
    for drawn in (int(np.random.default_rng((seed, n)).integers(1 << 31)) for n in range(PATTERNS)):
        for k, cores in ((k, k * k // 4) for k in SIZES):
            rng = np.random.default_rng((drawn, k, 5))  # apart from others of one seed
            stride = int(rng.integers(cores, k * cores - cores))
            edge, pod = rng.integers(5, 40, 2) / 100
            drawn_traffic = (f"stride:{stride}", f"staggered:{edge:.2f},{pod:.2f}", "randbij", "random")
            cases += [_make_quality_case(k, traffic, drawn) for traffic in drawn_traffic]
    return cases


def _make_quality_case(k: int, traffic: str, seed: int) -> Case:
    """Of flows that last: ``bound``, in links, is what no paths can exceed; shares are of that. Only hosts' links limit
    it, as on one switch: a fat-tree is a folded Clos network, and flows may be split."""
    from simulator.driver import Simulation

    config = Config("ecmp", traffic, k=k, seconds=3.0, tick_s=0.1, interval_s=0.5, seed=seed, engine="maxmin")
    runs = {name: Simulation(replace(config, scheme=name)) for name in ("ecmp", BASELINE)}
    work, switch = runs["ecmp"].work, NonBlocking(config.tree.num_hosts)
    bound = round(bound_total(switch, work.src, work.dst, np.ones(num_links(switch))) or 0.0)
    history = History(k, _estimate_flows(FatTree(k), work.src, work.dst, runs["ecmp"].paths.hashed), ROUNDS)
    shares = {name: run.run().bisection_mbps / config.link_mbps / bound for name, run in runs.items()}
    return {
        "questions": [history.question(DRAWS, config.iterations)],
        "setting": f"k = {k}, {traffic}",
        "bound": bound,
        **shares,
    }
