"""One self-contained HTML page about a sweep: what was run, the results, and how far they can be trusted.

The page contains its style, script, pictures (SVG) and data, and loads nothing from the network. Every number in it
comes from the runs or from results/published/. The same runs give the same page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hedera.schemes import CONTROL
from plots import completion, figure9, figure9_families, trials
from plots.figures import rate_sheets
from plots.load import Sweep, load_sweep
from plots.report import compare, fabric, tallies
from plots.report import runs as runs_data
from plots.shares import our_share, published_share
from plots.style import colour, house_style, image, label, short
from plots.summary import FEWEST, WINDOWS, Summary, by_scheme, summarise
from record.completion import CLASSES
from record.files import write_whole
from record.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "report.html"
RELOADED_AFTER_S = 15
"""A page about a sweep that goes on loads itself again, so often."""


def write_report(folder: str | Path, unfinished: bool = False, figure_9: bytes | None = None) -> Path:
    """Write ``folder/report.html`` from the runs below ``folder`` and return it; while the sweep is ``unfinished``
    the page says so, and reloads itself. ``figure_9``: all its bars (SVG), if drawn already.

    A folder without runs gives a page that says so. Raises ValueError when there is no such folder.
    """
    sweep = load_sweep(folder)
    page = sweep.folder / FILE
    write_whole(page, render(sweep, unfinished, figure_9))
    return page


def render(sweep: Sweep, unfinished: bool = False, figure_9: bytes | None = None) -> str:
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {
        "percent": _percent,
        "points": lambda value: f"{100 * value:+.1f}".replace("-", "\u2212"),
        "signed": lambda value: f"{value:+.1f}".replace("-", "\u2212"),
        "short": short,
        "label": label,
        "ms": lambda value: f"{value:.3g}\u202fms",
        "p": lambda value: "< 0.001" if value < 0.001 else f"{value:.3f}",
    }
    with house_style():
        context = _context(sweep, figure_9)
    context["reload_s"] = RELOADED_AFTER_S if unfinished else None
    return templates.get_template("report.html").render(context)


def _percent(value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f}\u202f%"  # the narrow space does not break


def _context(sweep: Sweep, figure_9: bytes | None) -> dict[str, Any]:
    runs = sweep.runs
    shared = {
        "name": sweep.folder.resolve().name,
        "runs": runs,
        "valid": sum(run.valid for run in runs),
        "skipped": [(str(one.path.relative_to(sweep.folder)), one.reason) for one in sweep.skipped],
        "CONTROL": CONTROL,
        "settings": tallies.settings(runs),
        "environment": tallies.environment(runs),
        "mixture": sweep.mixture,
        "days": sorted({run.started.date().isoformat() for run in runs if run.started}),
    }
    if not runs:
        return shared | {"summary": None, "palette": [], "completion": [], "overheads": [], "of_figure_9": []}
    summary = summarise(runs, sweep.tries)
    times = Counter(map(short, summary.schemes))
    css = {scheme: f"s{number}" for number, scheme in enumerate(summary.schemes)}
    return {
        **shared,
        "summary": summary,
        "trials": sorted({run.trial for run in runs}),
        "palette": [(css[scheme], scheme, colour(scheme)) for scheme in summary.schemes],
        "named": lambda scheme: short(scheme) if times[short(scheme)] == 1 else scheme,
        "css": lambda scheme: css.get(scheme, "ink"),
        "css_pairs": list(css.items()),
        **_published(summary, runs, figure_9 or figure9.figure(runs, summary)),
        **_trials(runs, sweep.tries),
        "overheads": tallies.overheads(runs),
        **_completion(runs, sweep.tries),
        **_judgement(summary, runs),
        **_explorer(sweep),
        "patterns": list(_patterns(summary, sweep)),
    }


def _completion(runs: Sequence[Run], tries: Sequence[Run]) -> dict[str, Any]:
    rows = [row for row in completion.rows(runs, tries) if row["over"] == trials.VALID or row["left_out"]]
    patterns = dict.fromkeys(row["pattern"] for row in rows)
    return {
        "completion": [(p, [row for row in rows if row["pattern"] == p]) for p in patterns],
        "size_classes": CLASSES,
    }


def _published(summary: Summary, runs: Sequence[Run], drawn: Figure | bytes) -> dict[str, Any]:
    schemes = [scheme for scheme in trials.first_to_last(summary.schemes) if scheme != CONTROL]
    matches = [found for scheme in schemes if (found := compare.match(summary, scheme)).pairs]
    static = {each.scheme: each for each in compare.like_for_like(summary)}
    both = [static[scheme] for scheme in ("spanning-tree", "ecmp") if scheme in static]
    published = partial(published_share, k=summary.k)
    own = [label(scheme) for scheme in schemes if trials.is_own(scheme)]
    of_figure_9 = [p for p in summary.patterns if p.startswith("published:")]
    at_a_glance = figure9_families.figure(runs, summary) if figure9_families.applies(summary) else None
    return {
        "headline": schemes,
        "title": _title(summary, own, len(of_figure_9)),
        "families": compare.families(summary),
        "everything": compare.everything(summary),
        "our_share": partial(our_share, summary),
        "published_share": published,
        "families_drawn": at_a_glance
        and image(at_a_glance, "Bars by family and scheme; the table below has the numbers"),
        "figure_9": image(drawn, "Bars by pattern and scheme; the numbers are in the table below"),
        "has_published": any(published(p, CONTROL) for p in summary.patterns),
        "matches": matches,
        "static": static,
        "closer": compare.closer(*both) if len(both) == 2 else None,
        "of_figure_9": of_figure_9,
        "order": compare.expected_order(summary, runs),
        "noticeable": compare.NOTICEABLE,
    }


def _title(summary: Summary, own: Sequence[str], of_figure_9: int) -> str:
    """What the page is about: schemes of the user's own, the published figure, or whatever was run."""
    patterns = summary.patterns
    what = label(patterns[0]) if len(patterns) == 1 else f"{len(patterns)} traffic patterns"
    if own:
        return f"{' and '.join(own)} on {what}"
    if of_figure_9 == len(patterns):
        return "Hedera’s Figure 9, reproduced" if of_figure_9 > 1 else f"{what} of Hedera’s Figure 9, reproduced"
    return f"{', '.join(summary.schemes)} on {what}"


def _trials(runs: Sequence[Run], tries: Sequence[Run]) -> dict[str, Any]:
    every = {
        (each.first, each.second, row.pattern): row
        for each in trials.compare_all(tries, every=True)
        for row in (*each.patterns, each.overall)
    }
    compared = trials.compare_all(runs)
    return {
        "comparisons": compared,
        "asked_first": trials.asked_first(compared),
        "certain": trials.in_a_sentence(runs, tries),
        "of_all_tries": every if any(not run.valid for run in tries) else {},
        "verdicts": (trials.SUPPORTED, trials.ALONE, trials.UNSUPPORTED, trials.SILENT),
        "fewest": FEWEST,
    }


def _judgement(summary: Summary, runs: Sequence[Run]) -> dict[str, Any]:
    schemes = by_scheme(summary.frame)
    return {
        "validity": tallies.validity(runs, summary.schemes),
        "uncounted": [run for run in runs if not run.valid],
        "remarkable": [run for run in runs if run.remarks],
        "without_rules": sum(not run.rules for run in runs),
        "tallies": list(schemes.itertuples()),
        "windows": {column: name for column, name in WINDOWS.items() if column in schemes},
        "dropping": sum(bool(run.queue_drops) for run in runs),
    }


def _explorer(sweep: Sweep) -> dict[str, Any]:
    tree = runs_data.tree_of(sweep.runs)
    return {
        "data": runs_data.explorer(sweep),
        "fabric": fabric.draw(tree) if tree else None,
        "fabric_size": (fabric.WIDTH, fabric.HEIGHT),
        "largest_k": fabric.MAX_K,
        "most_flows": runs_data.MAX_FLOWS,
    }


def _patterns(summary: Summary, sweep: Sweep) -> Iterator[dict[str, Any]]:
    """The runs by pattern, each with its number among all runs, and the pictures of its trials."""
    sheets = rate_sheets(sweep)
    for pattern in summary.patterns:
        own = [(i, run) for i, run in enumerate(sweep.runs) if run.pattern == pattern]
        own.sort(key=lambda pair: (summary.schemes.index(pair[1].scheme), pair[1].trial))
        words = f"{short(pattern)}: rates over time of every scheme, trial {{}}; the runs are listed below"
        drawn = [image(file.read_bytes(), words.format(t)) for (p, t), file in sheets.items() if p == pattern]
        yield {"pattern": pattern, "valid": sum(run.valid for _, run in own), "runs": own, "pictures": drawn}
