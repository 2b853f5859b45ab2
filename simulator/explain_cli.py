"""The command `hedera explain-ecmp`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from commands.shared import conclude, in_words, output, parallel, run_tasks, wide_console


@click.command("explain-ecmp")
@click.option(
    "--seeds", default=200, type=click.IntRange(1), show_default=True, help="Hash functions tried (maxmin)."
)
@click.option(
    "--aimd-seeds", default=20, type=click.IntRange(1), show_default=True, help="The same for aimd."
)
@output
@parallel
@in_words
def explain_ecmp(seeds: int, aimd_seeds: int, out: Path, jobs: int | None, cluster: str | None) -> None:
    """Which static routing the published testbed "ECMP" bars look like."""
    import numpy as np
    from rich.table import Table

    from commands.comparison import Row, write_csv
    from results.published import FIGURE_9
    from simulator import explain, pictures

    names = tuple(FIGURE_9)
    measured = np.array([FIGURE_9[name]["ecmp"] for name in names])
    tasks = [
        explain.Task(routing, engine, seed, names)
        for engine, count in (("maxmin", seeds), ("aimd", aimd_seeds))
        for routing in explain.ROUTINGS
        for seed in range(1, (1 if routing == "spanning tree" and engine == "maxmin" else count) + 1)
    ]
    predicted: dict[tuple[str, str], list[np.ndarray[Any, Any]]] = {}
    for task, values in zip(
        tasks, run_tasks("Predicting", explain.predict, tasks, jobs, cluster), strict=True
    ):
        predicted.setdefault((task.routing, task.engine), []).append(values)
    fits = {case: explain.fit(np.mean(runs, axis=0), measured) for case, runs in predicted.items()}
    alone = {case: [explain.fit(run, measured) for run in runs] for case, runs in predicted.items()}
    header = [
        "matrix",
        "published_mbps",
        *(f"{r}, {e} [Mb/s]" for r, e in fits),
        *(f"{r}, {e}, scaled" for r, e in fits),
    ]
    columns = [np.mean(runs, axis=0) for runs in predicted.values()] + [one.scaled for one in fits.values()]
    data = [(n, FIGURE_9[n]["ecmp"], *(float(c[i]) for c in columns)) for i, n in enumerate(names)]
    summary = [
        (
            r,
            e,
            len(alone[r, e]),
            f.scale,
            100 * f.error,
            f.correlation,
            100 * min(a.error for a in alone[r, e]),
        )
        for (r, e), f in fits.items()
    ]
    titles = ["routing", "engine", "seeds", "scale", "mean_relative_error_percent", "correlation"]
    files = [
        write_csv(out / "explain_ecmp.csv", header, data),
        write_csv(out / "explain_ecmp_fits.csv", [*titles, "best_single_seed_error_percent"], summary),
        pictures.explain_ecmp(names, measured, fits, out / "explain_ecmp.png"),
    ]
    made = Table(title="Published testbed ECMP bars against static routings", title_justify="left", box=None)
    for heading in (
        "routing",
        "engine",
        "seeds",
        "scale factor",
        "mean relative error",
        "correlation",
        "best seed",
    ):
        made.add_column(heading, justify="left" if heading in ("routing", "engine") else "right")
    for routing, engine, count, scale, error, correlation, best in summary:
        made.add_row(
            routing,
            engine,
            str(count),
            f"{scale:.3f}",
            f"{error:.1f} %",
            f"{correlation:.3f}",
            f"{best:.1f} %",
        )
    console = wide_console()
    console.print(made)
    closest = min(fits, key=lambda case: fits[case].error)
    chosen = fits[closest]
    rows = [
        Row(name, paper, ours)
        for name, paper, ours in zip(names, measured.tolist(), chosen.scaled.tolist(), strict=True)
    ]
    title = (
        f"Closest: {closest[0]} ({closest[1]}), predictions scaled by {chosen.scale:.3f}, "
        f"{100 * chosen.error:.1f} % mean relative error, correlation {chosen.correlation:.3f}"
    )
    conclude(title, rows, "Mb/s", files, digits=0)
