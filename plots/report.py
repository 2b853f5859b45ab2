"""What is written about a sweep: pictures, tables, and one self-contained HTML page on what was run, the results, and
how far they can be trusted.

The page contains its style, script, pictures (SVG) and data, and loads nothing from the network. Every number in it
comes from the runs or from results/published/. The same runs give the same page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hedera.schemes import CONTROL
from plots import completion_times, explorer, figure9, paired_tests, published, rates, summary
from plots.local_paths import make_local_path_remover
from plots.pictures import list_written_files
from plots.stored_sweep import Sweep, select_settings
from plots.style import (
    colour,
    embed_image,
    format_seeds,
    format_setting,
    house_style,
    label,
    make_table,
    name_option,
    order_schemes,
    shorten_name,
)
from plots.summary import FEWEST, WINDOWS, summarise
from record.completion_times import CLASSES
from record.files import write_whole
from record.latex import write_latex
from record.options import Pictures, drawing, get_pictures
from record.run import Fact, Run

FOLDER = "figures"
PRINT = "print"
"""The folder in it for pictures of a given format or width."""
PAGE = "report.html"
RELOADED_AFTER_S = 15
"""The page of a sweep that goes on loads itself again so often."""
PARTS = ("polled", "compute", "install", "total")
"""The parts of a scheduling round's time."""
QUANTILES = {"low": 5, "median": 50, "high": 95, "maximum": 100}
"""The quantiles that the page shows, in percent."""


def write_all(sweep: Sweep) -> list[Path]:
    """Write the figures and tables of a sweep into ``figures`` in its folder, and its page, and return them: the main
    ones first, the page last.

    `figure9.png` and `.svg`, with the published numbers where a pattern has them, and `figure9-patterns` where that is
    by families (`plots.figure9`); `summary.csv`; `differences.csv`, paired tests between schemes; `completion.csv` and
    `.png` for flows that arrive and end; `rates/PATTERN-trial-N.svg` for each trial; `trace.svg` beside each run with
    traces. Without runs there is the page alone, which says so. The pictures once more in ``figures/print``, where a
    format or a width was asked for, and the tables as LaTeX: the page keeps its own. These come first then.
    """
    # The page and its pictures stay as they are on a screen, whatever was asked for print.
    with drawing(Pictures()):
        files = _write_all(sweep)
    pictures = get_pictures()
    printed = _draw_for_print(sweep) if sweep.runs and pictures.asked else []
    if sweep.runs and pictures.latex:
        printed.append(_write_tables(sweep, sweep.folder / FOLDER / PRINT / "summary.tex"))
    return [*printed, *files]


def _write_tables(sweep: Sweep, path: Path) -> Path:
    """The bars, and how schemes differ over all patterns, as LaTeX, without places of this machine."""
    _, bars = summary.make_table(sweep)
    compared = paired_tests.compare_all(sweep)
    pairs = paired_tests.select_comparisons(compared)
    tables = [bars]
    if pairs:
        rows = paired_tests.make_difference_rows(pairs, patterns=False)
        title = "Differences in Mb/s on the wire over all patterns, paired by seed, with 95 % intervals"
        tables.append(make_table(title, rows))
    runs = sweep.runs
    emulators = ", ".join(sorted({run.emulated_by for run in runs}))
    seeds = format_seeds(run.seed for run in runs)
    caption = f"{figure9.describe_network_and_time(runs)}, seeds {seeds}, emulator {emulators}."
    return write_latex(path, tables, caption, make_local_path_remover(sweep.tries))


def _draw_for_print(sweep: Sweep) -> list[Path]:
    out = sweep.folder / FOLDER / PRINT
    files = figure9.draw(sweep, out / "figure9")
    if any(run.valid and run.completion for run in sweep.runs):
        files += completion_times.draw(sweep.runs, out / "completion.png")
    for place, run in rates.find_traced(sweep):
        trace = out / "-".join([*place.relative_to(sweep.folder).parts, "trace.svg"])
        rates.draw_trace(place, run, trace)
        files += list_written_files(trace, ("svg",))
    for file in rates.draw_sheets(sweep, out / "rates").values():
        files += list_written_files(file, ("svg",))
    return files


def _write_all(sweep: Sweep) -> list[Path]:
    if not sweep.runs:
        return [write_page(sweep)]
    out = sweep.folder / FOLDER
    files = figure9.draw(sweep, out / "figure9")
    charts = [file.read_bytes() for file in files if file.suffix == ".svg"]
    tables = {"summary.csv": summary.format_csv(sweep), "differences.csv": paired_tests.format_csv(sweep)}
    if any(run.valid and run.completion for run in sweep.runs):
        tables["completion.csv"] = completion_times.format_csv(sweep)
    for name, text in tables.items():
        write_whole(out / name, text)
        files.append(out / name)
    if "completion.csv" in tables:
        files += completion_times.draw(sweep.runs, out / "completion.png")
    files += (rates.draw_trace(place, run) for place, run in rates.find_traced(sweep))
    return [*files, *rates.draw_sheets(sweep, out / "rates").values(), write_page(sweep, charts)]


def write_page(sweep: Sweep, charts: Sequence[bytes] = (), unfinished: bool = False) -> Path:
    """Write ``report.html`` into the sweep's folder and return it; while the sweep is ``unfinished`` the page says so,
    and reloads itself. ``charts``: the pictures of `plots.figure9` as SVG, if they are drawn already."""
    with house_style():
        context = _collect_context(sweep, charts)
    context["reload_s"] = RELOADED_AFTER_S if unfinished else None
    page = sweep.folder / PAGE
    # The same runs give the same page, byte for byte, which tests and readers of a repository rely on: there is no date
    # of its making in it.
    text = load_page_templates().get_template("report.html").render(context)
    write_whole(page, make_local_path_remover(sweep.tries)(text))  # a page is sent to others
    return page


def load_page_templates() -> Environment:
    """The templates of pages, with the filters that they use."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {
        "percent": _format_percent,
        "points": lambda value: f"{100 * value:+.1f}".replace("-", "\u2212"),
        "signed": lambda value: f"{value:+.1f}".replace("-", "\u2212"),
        "short": shorten_name,
        "label": label,
        "describe_paths": explorer.describe_paths,
        "ms": lambda value: f"{value:.3g}\u202fms",
        "p": lambda value: "< 0.001" if value < 0.001 else f"{value:.3f}",
    }
    return templates


def _format_percent(value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f}\u202f%"  # the narrow space does not break


def _collect_context(sweep: Sweep, charts: Sequence[bytes]) -> dict[str, Any]:
    runs = sweep.runs
    context = {
        "name": sweep.folder.resolve().name,
        "skipped": [(str(file.path.relative_to(sweep.folder)), file.reason) for file in sweep.skipped],
    }
    if not runs:
        return context | {"summary": None, "palette": [], "completion": [], "overheads": [], "of_figure_9": []}
    schemes = summarise(sweep).schemes
    names = Counter(map(shorten_name, schemes))
    css = {scheme: f"s{number}" for number, scheme in enumerate(schemes)}
    tree = explorer.find_tree(runs)
    return {
        **context,
        "runs": runs,
        "valid": sum(run.valid for run in runs),
        "CONTROL": CONTROL,
        "settings": list_settings(runs),
        "environment": list_environment(runs),
        "mixture": sweep.mixture,
        "days": sorted({run.started.date().isoformat() for run in runs if run.started}),
        "summary": summarise(sweep),
        "trials": sorted({run.trial for run in runs}),
        "palette": [(css[scheme], scheme, colour(scheme)) for scheme in schemes],
        "named": lambda scheme: shorten_name(scheme) if names[shorten_name(scheme)] == 1 else scheme,
        "css": lambda scheme: css.get(scheme, "ink"),
        "css_pairs": list(css.items()),
        **_collect_bars(sweep, charts or [figure.content("svg") for figure in figure9.draw_figures(sweep)]),
        **_collect_differences(sweep),
        "overheads": summarise_overheads(runs),
        **_collect_completion(sweep),
        **_collect_verdicts(sweep),
        "data": explorer.collect_explorer_data(sweep),
        "fabric": explorer.draw_tree(tree) if tree else None,
        "fabric_size": (explorer.WIDTH, explorer.HEIGHT),
        "largest_k": explorer.MAX_K,
        "patterns": list(_collect_patterns(sweep)),
    }


def _collect_bars(sweep: Sweep, charts: Sequence[bytes]) -> dict[str, Any]:
    """All bars, and how they stand beside the published ones. ``charts``: the bars by family, if that is drawn, and
    all of them."""
    bars = summarise(sweep)
    schemes = [scheme for scheme in paired_tests.order_for_comparison(bars.schemes) if scheme != CONTROL]
    share = partial(published.find_published_share, k=bars.k)
    of_figure_9 = [pattern for pattern in bars.patterns if pattern.startswith("published:")]
    by_family = embed_image(charts[0], "Bars by family and scheme; the table below has the numbers")
    return {
        "headline": schemes,
        "title": _write_title(sweep, schemes, len(of_figure_9)),
        "families": published.list_families(bars),
        "everything": published.make_overall_family(bars),
        "published_share": share,
        "families_drawn": by_family if len(charts) > 1 else None,
        "figure_9": embed_image(charts[-1], "Bars by pattern and scheme; the numbers are in the table below"),
        "has_published": any(share(pattern, CONTROL) for pattern in bars.patterns),
        "matches": [matched for scheme in schemes if len((matched := published.match_published(bars, scheme)).rows)],
        "static": published.MAYBE_PUBLISHED_ECMP,
        "of_figure_9": of_figure_9,
    }


def _write_title(sweep: Sweep, schemes: Sequence[str], of_figure_9: int) -> str:
    """What the page is about: schemes of the user's own, the published figure, or whatever was run."""
    patterns = summarise(sweep).patterns
    subject = label(patterns[0]) if len(patterns) == 1 else f"{len(patterns)} traffic patterns"
    if labels := [label(scheme) for scheme in schemes if paired_tests.is_own(scheme)]:
        return f"{' and '.join(labels)} on {subject}"
    if of_figure_9 == len(patterns):
        return "Hedera’s Figure 9, reproduced" if of_figure_9 > 1 else f"{subject} of Hedera’s Figure 9, reproduced"
    return f"{', '.join(summarise(sweep).schemes)} on {subject}"


def _collect_differences(sweep: Sweep) -> dict[str, Any]:
    of_tries = {
        (pair.first, pair.second, row.pattern): row
        for pair in paired_tests.compare_all(sweep, paired_tests.ALL_TRIES)
        for row in (*pair.patterns, pair.overall)
    }
    return {
        "comparisons": paired_tests.compare_all(sweep),
        "of_interest": paired_tests.select_comparisons(paired_tests.compare_all(sweep)),
        "certain": paired_tests.describe_significance(sweep),
        "of_all_tries": of_tries if any(not run.valid for run in sweep.tries) else {},
        "verdicts": (paired_tests.SUPPORTED, paired_tests.ALONE, paired_tests.UNSUPPORTED, paired_tests.SILENT),
        "fewest": FEWEST,
    }


def _collect_completion(sweep: Sweep) -> dict[str, Any]:
    rows = [row for row in completion_times.make_rows(sweep) if row["over"] == paired_tests.VALID or row["left_out"]]
    by_pattern = [(pattern, list(members)) for pattern, members in groupby(rows, itemgetter("pattern"))]
    return {"completion": by_pattern, "size_classes": CLASSES}


def _collect_verdicts(sweep: Sweep) -> dict[str, Any]:
    runs, schemes = sweep.runs, summary.average_by_scheme(summarise(sweep).frame)
    return {
        "validity": summarise_validity(runs, summarise(sweep).schemes),
        "uncounted": [run for run in runs if not run.valid],
        "remarkable": [run for run in runs if run.remarks],
        "without_rules": sum(not run.rules for run in runs),
        "tallies": list(schemes.itertuples()),
        "windows": {column: name for column, name in WINDOWS.items() if column in schemes},
        "dropping": sum(bool(run.queue_drops) for run in runs),
    }


def _collect_patterns(sweep: Sweep) -> Iterator[dict[str, Any]]:
    """The runs by pattern, each with its number among all runs, and the pictures of its trials."""
    sheets = rates.draw_sheets(sweep, sweep.folder / FOLDER / "rates")
    for pattern in summarise(sweep).patterns:
        runs = [(number, run) for number, run in enumerate(sweep.runs) if run.pattern == pattern]
        runs.sort(key=lambda member: (summarise(sweep).schemes.index(member[1].scheme), member[1].trial))
        words = f"{shorten_name(pattern)}: rates over time of every scheme, trial {{}}; the runs are listed below"
        pictures = [
            embed_image(file.read_bytes(), words.format(trial))
            for (pattern_of_file, trial), file in sheets.items()
            if pattern_of_file == pattern
        ]
        yield {"pattern": pattern, "valid": sum(run.valid for _, run in runs), "runs": runs, "pictures": pictures}


# --- what is counted over the runs --------------------------------------------------------------------------


def list_settings(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The settings that all these runs share, by their options; their seeds, the measured window, and what emulated
    them, of which results may differ."""
    a, b = runs[0].window_s
    settings = [(name_option(name), format_setting(value)) for name, value in select_settings(runs[0]).items()]
    listed = format_seeds(run.seed for run in runs)
    emulators = ", ".join(sorted({run.emulated_by for run in runs}))
    return [
        *settings, ("seeds", listed), ("measured window", f"second {a:.3g} to {b:.3g}"), ("emulator", emulators),
    ]  # fmt: skip


def list_environment(runs: Sequence[Run]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Every entry of the runs' environments, nested ones as ``tools: iperf``: its name, and its values with the number
    of runs that have them, the most frequent first."""
    values: dict[str, Counter[str]] = {}
    for run in runs:
        for name, value in _flatten(run.environment):
            values.setdefault(name, Counter())[value] += 1
    return [(name, counts.most_common()) for name, counts in values.items()]


def _flatten(record: Mapping[str, Fact], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}: ")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            yield prefix + name, text if value not in (None, "") else "none"


def summarise_validity(runs: Sequence[Run], schemes: Sequence[str]) -> list[dict[str, Any]]:
    """For each scheme the verdicts on its runs; and lowest, median and highest over them of measured over max-min fair
    total, and of how idle the processors were in the worst second, as shares (None: not stored)."""
    rows = []
    for scheme in schemes:
        of_scheme = [run for run in runs if run.scheme == scheme]
        # A machine that is too slow shows in both: rates stay below what the paths allow, and no processor is idle.
        fair = [run.bisection_mbps / run.maxmin_mbps for run in of_scheme if run.bisection_mbps and run.maxmin_mbps]
        idle = [min(run.cpu.idle_percent) / 100 for run in of_scheme if run.cpu.idle_percent]
        row = {"scheme": scheme, "valid": sum(run.valid for run in of_scheme), "runs": len(of_scheme)}
        rows.append(row | {"of_maxmin": _compute_range(fair), "least_idle": _compute_range(idle)})
    return rows


def _compute_range(values: Sequence[float]) -> tuple[float, ...] | None:
    return tuple(map(float, np.percentile(values, [0, 50, 100]))) if values else None


def summarise_overheads(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A row for each scheme with rounds, over valid and invalid runs: the time of a round counts in both.

    ``ms``: QUANTILES by those PARTS that were stored; ``interval_share``: the median round's time over the interval
    between rounds; ``delay_ms`` was set for the controller in virtual time, where computing takes none (0 in real
    time). ``first_changes`` are the paths changed by the first round of each run that changed any, ``later_changes``
    those changed afterwards; ``idle_rounds`` changed nothing.
    """
    rows = []
    for scheme in order_schemes(run.scheme for run in runs if run.rounds):
        with_rounds = [run for run in runs if run.scheme == scheme and run.rounds]
        rounds, spec = [r for run in with_rounds for r in run.rounds], with_rounds[0].spec
        changes = [[r.changed for r in run.rounds if r.changed] for run in with_rounds]
        times = {part: [ms for r in rounds if (ms := getattr(r, f"{part}_ms")) is not None] for part in PARTS}
        percent = list(QUANTILES.values())
        ms = {
            part: dict(zip(QUANTILES, np.percentile(durations_ms, percent).tolist(), strict=True))
            for part, durations_ms in times.items()
            if durations_ms
        }
        rows.append(
            {
                "scheme": scheme,
                "runs": len(with_rounds),
                "rounds": len(rounds),
                "idle_rounds": sum(r.changed == 0 for r in rounds),
                "first_changes": sum(of_run[0] for of_run in changes if of_run),
                "later_changes": sum(sum(of_run[1:]) for of_run in changes),
                "runs_with_later_changes": sum(len(of_run) > 1 for of_run in changes),
                "large": float(np.median([r.large for r in rounds])),
                "ms": ms,
                "interval_s": spec.interval_s,
                "interval_share": ms["total"]["median"] / 1e3 / spec.interval_s if "total" in ms else None,
                "delay_ms": spec.controller_delay_ms if spec.time == "virtual" else 0.0,
            }
        )
    return rows
