"""The README's section on Figure 9 and its picture, made from the sweep that is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from plots import figure9
from plots.load import Sweep, load_sweep
from plots.report.compare import Family, everything, expected_order, families
from plots.shares import our_share
from plots.style import short
from plots.summary import Summary, summarise
from plots.trials import in_a_sentence
from results.files import write_whole
from results.record import Run

KEPT = "results/figure9"
TRIALS, SECONDS = 5, 60
"""Of the paper (section 6.1)."""
COMMAND = f"./test.sh {TRIALS} {SECONDS} --suite figure9 --time virtual --bw 10"
SAID = "README.md"
PICTURE = "docs/figure9.png"
BEGIN, END = "<!-- made by `hedera claims --write` -->\n", "<!-- until here -->"
COLUMNS = {
    "hedera-gff": "hedera-gff",
    "hedera-sa": "hedera-sa",
    "spanning-tree": "spanning-tree, against published ECMP",
    "ecmp": "ecmp, against published ECMP",
}


def section(sweep: Sweep) -> str:
    """What the README says of a sweep's bars, in Markdown. Raises ValueError when there is no run."""
    summary = summarise(sweep.runs, sweep.tries)
    lines = "\n".join(_rows([*families(summary), everything(summary)]))
    said = in_a_sentence(sweep.runs, sweep.tries)
    return f"{_how(sweep)}\n\n{lines}\n\n{_order(summary, sweep.runs)}\n{said}\n{_over_fair(sweep.runs)}\n"


def _how(sweep: Sweep) -> str:
    trials = len({run.trial for run in sweep.runs})
    valid = sum(run.valid for run in sweep.runs)
    left = f"{trials} of the {TRIALS} trials so far" if trials < TRIALS else f"all {TRIALS} trials"
    if trials == 1:
        left += ", so that each bar is one run, and nothing is said to be more or less for certain"
    repeated = len(sweep.tries) - len(sweep.runs)
    tries = f", {repeated} of them at the second try" if repeated else ", none tried twice"
    return (
        f"The paper's protocol, runs of {SECONDS} s, on links of {sweep.runs[0].spec.link_mbps:g} Mb/s in virtual "
        f"time: `{COMMAND}`\n({left}; {valid} of {len(sweep.runs)} runs valid{tries}; [data]({KEPT}/summary.csv), "
        f"[how it was made]({KEPT}/README.md)).\nMeans over the patterns of a family of the bars' shares of the "
        "control, ours / published, and\nin brackets the mean absolute difference:"
    )


def _rows(found: Sequence[Family]) -> Iterator[str]:
    yield f"| family | {' | '.join(COLUMNS.values())} |"
    yield f"|{' --- |' * (1 + len(COLUMNS))}"
    for family in found:
        cells = []
        for scheme in COLUMNS:
            mean = family.means.get(scheme)
            full = mean and None not in mean.values()
            cells.append("{ours:.2f} / {published:.2f} ({mean_absolute:.3f})".format(**mean) if mean and full else "")
        yield f"| {family.name} | {' | '.join(cells)} |"


def _order(summary: Summary, runs: Sequence[Run]) -> str:
    """Where the order that one expects does not hold, in points of the control."""

    def share(pattern: str, scheme: str) -> float:
        return our_share(summary, pattern, scheme) or 0.0

    order = expected_order(summary, runs)
    told = []
    for breach in order.breaches:
        pattern, expected, other = breach["pattern"], breach["expected"], breach["other"]
        points = 100 * (share(pattern, other) - share(pattern, expected))
        told.append(f"`{expected}` below `{other}` on {short(pattern)} by {points:.1f} points")
    expected = " >= ".join(f"`{scheme}`" for scheme in order.schemes)
    held = f"On the {len(order.patterns)} bijective patterns one expects {expected}; it holds, to 1 %, on {order.held}"
    return f"{held}. Exceptions: {'; '.join(told)}." if told else f"{held}."


def _over_fair(runs: Sequence[Run]) -> str:
    over = [run.bisection_mbps / run.maxmin_mbps for run in runs if run.bisection_mbps and run.maxmin_mbps]
    return (
        f"Runs have {min(over):.0%} to {max(over):.0%} of the total that max-min fair rates on their flows' "
        "paths would have; it is more where TCP shares unequally."
    )


def unsaid(root: Path) -> list[str]:
    """Of the section as it is, and of the one that is made, the lines that the other has not."""
    now, made = _now(root)[1].splitlines(), section(load_sweep(root / KEPT)).splitlines()
    return [f"{SAID} differs from {KEPT}: {line}" for line in made + now if (line in made) != (line in now)]


def write(root: Path) -> None:
    sweep = load_sweep(root / KEPT)
    before, _, after = _now(root)
    write_whole(root / SAID, f"{before}{BEGIN}{section(sweep)}{END}{after}")
    for path in figure9.draw(sweep.runs, (root / PICTURE).with_suffix("")):
        if path.suffix != Path(PICTURE).suffix:
            path.unlink()


def _now(root: Path) -> tuple[str, str, str]:
    before, _, rest = (root / SAID).read_text(encoding="utf-8").partition(BEGIN)
    made, _, after = rest.partition(END)
    return before, made, after
