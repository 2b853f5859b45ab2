"""One self-contained HTML page about a sweep: what was run, the results, and how far they can be trusted.

The page contains its style, script, figures (inline SVG) and data, and loads nothing from the network. Every number
in it comes from the runs or from results/published/. The same runs give the same page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from files.writer import write_whole
from hedera.schemes import CONTROL
from plots import completion, trials
from plots.load import Sweep, load_sweep
from plots.report import bars, compare, environment, fabric, figures, rules
from plots.report import runs as runs_data
from plots.report.machines import SLOWER, compare_machines
from plots.report.rounds import Overhead, overheads
from plots.report.svg import Css, classes, percent
from plots.shares import Shares, our_share, published_share
from plots.style import colour, label, short
from plots.summary import Summary, summarise, tallies, windows
from results.record import Run
from traffic.completion import CLASSES

FILE = "report.html"

_TEMPLATES = Path(__file__).with_name("templates")
_MAIN_COMPARISONS = (
    ("hedera-sa", "hedera-gff"),
    ("hedera-sa", "ecmp"),
    ("hedera-gff", "ecmp"),
    ("ecmp", "ecmp-dst"),
    ("ecmp", "spanning-tree"),
)


def write_report(folder: str | Path) -> Path:
    """Write ``folder/report.html`` from the runs below ``folder`` and return it.

    A folder without runs gives a page that says so. Raises ValueError when there is no such folder.
    """
    sweep = load_sweep(folder)
    page = sweep.folder / FILE
    write_whole(page, render(sweep))
    return page


def render(sweep: Sweep) -> str:
    """The page."""
    return templates().get_template("report.html").render(_context(sweep))


def templates(*more: Path) -> Environment:
    """The page's templates and filters; ``more``: folders of other pages' templates in the same style."""
    environment_of_templates = Environment(
        loader=FileSystemLoader([*more, _TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment_of_templates.filters |= {
        "percent": percent,
        "points": lambda value: f"{100 * value:+.1f}".replace("-", "\u2212"),
        "signed": lambda value: f"{value:+.1f}".replace("-", "\u2212"),
        "short": short,
        "label": label,
        "ms": lambda value: f"{value:.3g}\u202fms",
        "p": lambda value: "< 0.001" if value < 0.001 else f"{value:.3f}",
    }
    return environment_of_templates


def _context(sweep: Sweep) -> dict[str, Any]:
    """The variables of the template."""
    runs = sweep.runs
    shared = {
        "name": sweep.folder.resolve().name,
        "runs": runs,
        "valid": sum(run.valid for run in runs),
        "skipped": [(str(one.path.relative_to(sweep.folder)), one.reason) for one in sweep.skipped],
        "CONTROL": CONTROL,
        "settings": environment.settings(runs),
        "machine": environment.machine(runs),
        "environment": environment.environment(runs),
        "dates": environment.dates(runs),
        "paper": environment.PAPER,
        "project": environment.project_citation(runs),
    }
    if not runs:
        return shared | {"summary": None, "palette": [], "completion": []}
    summary = summarise(runs, sweep.tries)
    css = classes(summary.schemes)
    return {
        **shared,
        "summary": summary,
        "trials": sorted({run.trial for run in runs}),
        "palette": [(css(scheme), scheme, colour(scheme)) for scheme in summary.schemes],
        "css": css,
        "css_pairs": [(scheme, css(scheme)) for scheme in summary.schemes],
        **_published(summary, runs, css),
        **_trials(runs, sweep.tries),
        **_rounds(runs, css),
        **_completion(runs, sweep.tries),
        **_judgement(summary, runs, css),
        **_explorer(sweep),
        "patterns": _patterns(summary, runs, css),
    }


def _completion(runs: Sequence[Run], tries: Sequence[Run]) -> dict[str, Any]:
    every = completion.rows(runs, tries)
    rows = [row for row in every if row.over == completion.VALID or row.left_out]
    patterns = dict.fromkeys(row.pattern for row in rows)
    return {
        "completion": [(p, [row for row in rows if row.pattern == p]) for p in patterns],
        "size_classes": CLASSES,
        "scheduling_costs": completion.costs(runs),
        "cost_names": completion.COSTS,
    }


def _published(summary: Summary, runs: Sequence[Run], css: Css) -> dict[str, Any]:
    matches = [found for scheme in compare.HEADLINE if (found := compare.match(summary, scheme)).pairs]
    static = {each.scheme: each for each in compare.like_for_like(summary)}
    both = [static[scheme] for scheme in ("spanning-tree", "ecmp") if scheme in static]
    return {
        "headline": [s for s in compare.HEADLINE if s in summary.schemes],
        "families": compare.families(summary),
        "everything": compare.everything(summary),
        "our_share": partial(our_share, summary),
        "published_share": published_share,
        "bars_of_control": bars.panels(Shares(summary, of_control=True), css),
        "bars_of_capacity": bars.panels(Shares(summary, of_control=False), css),
        "has_shares": any(bar.ratio for bar in summary.bars.values()),
        "has_published": any(published_share(p, "ecmp") is not None for p in summary.patterns),
        "scatters": [(each, figures.scatter(each, css)) for each in matches],
        "static": static,
        "closer": compare.closer(*both) if len(both) == 2 else None,
        "ecmp_rows": [
            (p, figures.ecmp_strip(summary, p, tuple(static), css))
            for p in summary.patterns
            if published_share(p, "ecmp") is not None
        ],
        "order": compare.expected_order(summary, runs),
        "noticeable": compare.NOTICEABLE,
        "loads": compare.loads(summary, runs),
    }


def _trials(runs: Sequence[Run], tries: Sequence[Run]) -> dict[str, Any]:
    compared = trials.compare_all(runs)
    every = {
        (each.first, each.second, row.pattern): row
        for each in trials.compare_all(tries, every=True)
        for row in (*each.patterns, each.overall)
    }
    main = [each for each in compared if (each.first, each.second) in _MAIN_COMPARISONS]
    reach = max(
        (
            abs(end)
            for each in compared
            for row in (*each.patterns, each.overall)
            for end in (row.mean, row.low, row.high)
            if end is not None
        ),
        default=1.0,
    )
    reach = min(reach, runs[0].capacity_mbps) or 1.0
    return {
        "comparisons": main,
        "certain": trials.in_a_sentence(runs, tries),
        "of_all_tries": every if any(not run.valid for run in tries) else {},
        "other_comparisons": [each for each in compared if each not in main],
        "interval": lambda difference: figures.interval_strip(difference, reach),
        "reach": reach,
        "verdicts": (trials.SUPPORTED, trials.ALONE, trials.UNSUPPORTED, trials.SILENT),
        "fewest": trials.FEWEST,
    }


def _rounds(runs: Sequence[Run], css: Css) -> dict[str, Any]:
    found: tuple[Overhead, ...] = overheads(runs)
    timed = any(quantiles for each in found for quantiles in each.ms.values())
    schemes = [each.scheme for each in found]
    return {
        "overheads": found,
        "round_times": figures.round_times(found, css) if timed else "",
        "changes": figures.changes_by_round(runs, schemes, css) if found else "",
    }


def _judgement(summary: Summary, runs: Sequence[Run], css: Css) -> dict[str, Any]:
    rows = runs_data.validity(runs, summary.schemes)
    most = max([1.0, *(value for row in rows for value, _ in row.of_maxmin)])

    def strips(row: runs_data.Validity) -> Mapping[str, str]:
        kind = css(row.scheme)
        said = f"{row.scheme}: one mark per run, {len(row.of_maxmin)} runs"
        return {
            "of_maxmin": figures.dots_strip(row.of_maxmin, most, kind, said),
            "idle": figures.dots_strip(row.least_idle, 100, kind, said),
        }

    return {
        "validity": [(row, strips(row)) for row in rows],
        "most_of_maxmin": most,
        "machines": compare_machines(runs),
        "slower": SLOWER,
        "uncounted": [run for run in runs if not run.valid],
        "remarkable": [run for run in runs if run.remarks],
        "rules": rules.applied(runs),
        "without_rules": sum(not run.rules for run in runs),
        "tallies": tallies(summary),
        "windows": windows(tallies(summary)),
        "dropping": sum(bool(run.queue_drops) for run in runs),
    }


def _explorer(sweep: Sweep) -> dict[str, Any]:
    tree = runs_data.tree_of(sweep.runs)
    return {
        "data": runs_data.explorer(sweep),
        "fabric": fabric.picture(fabric.draw(tree)) if tree else "",
        "largest_k": fabric.MAX_K,
        "most_flows": runs_data.MAX_FLOWS,
    }


def _patterns(summary: Summary, runs: Sequence[Run], css: Css) -> list[dict[str, Any]]:
    """The runs by pattern, each with its number among all runs and its picture."""
    order = list(summary.schemes)
    rows = []
    for pattern in summary.patterns:
        own = [(i, run) for i, run in enumerate(runs) if run.pattern == pattern]
        own.sort(key=lambda pair: (order.index(pair[1].scheme), pair[1].trial))
        controls = {run.trial: run for _, run in own if run.scheme == CONTROL}
        rows.append(
            {
                "pattern": pattern,
                "valid": sum(run.valid for _, run in own),
                "runs": [(i, run, figures.rate_panel(run, controls.get(run.trial), css)) for i, run in own],
            }
        )
    return rows
