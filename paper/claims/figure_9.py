"""Figure 9 as the README tells it: its section and its picture, made from the sweep that is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from files.writer import write_whole
from paper.claims.claim import ROOT
from plots import figure9
from plots.load import Sweep, load_sweep
from plots.report.compare import Family, Order, everything, expected_order, families
from plots.shares import our_share
from plots.style import short
from plots.summary import Summary, summarise
from plots.trials import in_a_sentence
from results.record import Run

KEPT = Path("results/figure9")
TRIALS, SECONDS = 5, 60
"""Of the paper (section 6.1)."""
COMMAND = f"./test.sh {TRIALS} {SECONDS} --suite figure9 --time virtual --bw 10"
SAID = Path("README.md")
PICTURE = Path("docs/figure9.png")
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
    order = _order(expected_order(summary, sweep.runs), summary)
    return f"{_how(sweep)}\n\n{lines}\n\n{order}\n{said}\n{_over_fair(sweep.runs)}\n"


def _how(sweep: Sweep) -> str:
    trials = len({run.trial for run in sweep.runs})
    valid = sum(run.valid for run in sweep.runs)
    spec = sweep.runs[0].spec
    left = f"{trials} of the {TRIALS} trials so far" if trials < TRIALS else f"all {TRIALS} trials"
    if trials == 1:
        left += ", so that each bar is one run, and nothing is said to be more or less for certain"
    repeated = len(sweep.tries) - len(sweep.runs)
    tries = f", {repeated} of them at the second try" if repeated else ", none tried twice"
    links = f"links of {spec.link_mbps:g} Mb/s in virtual time"
    return (
        f"The paper's protocol, runs of {SECONDS} s, on {links}: `{COMMAND}`\n"
        f"({left}; {valid} of {len(sweep.runs)} runs valid{tries}; [{KEPT}]({KEPT}/README.md)). "
        "Medians as shares of the control, ours / published, and\n"
        "in brackets the mean absolute difference over the patterns of the family:"
    )


def _rows(rows: Sequence[Family]) -> Iterator[str]:
    yield f"| family | {' | '.join(COLUMNS.values())} |"
    yield f"|{' --- |' * (1 + len(COLUMNS))}"
    for family in rows:
        cells = []
        for scheme in COLUMNS:
            mean = family.means.get(scheme)
            full = mean and mean.published is not None and mean.mean_absolute is not None
            cells.append(f"{mean.ours:.2f} / {mean.published:.2f} ({mean.mean_absolute:.3f})" if mean and full else "")
        yield f"| {family.name} | {' | '.join(cells)} |"


def _order(order: Order, summary: Summary) -> str:
    """Where the order that one expects does not hold, in points of the control."""
    breaches = [
        f"`{one.expected}` below `{one.other}` on {short(one.pattern)} by {100 * lost:.1f} points"
        for one in order.breaches
        if (lost := _share(summary, one.pattern, one.other) - _share(summary, one.pattern, one.expected))
    ]
    expected = " >= ".join(f"`{scheme}`" for scheme in order.schemes)
    held = f"On the {len(order.patterns)} bijective patterns one expects {expected}; "
    return f"{held}it holds, to 1 %, on {order.held}" + (f". Exceptions: {'; '.join(breaches)}." if breaches else ".")


def _over_fair(runs: Sequence[Run]) -> str:
    """How far runs are from max-min fair rates."""
    over = [run.bisection_mbps / run.maxmin_mbps for run in runs if run.bisection_mbps and run.maxmin_mbps]
    return (
        f"Runs have {min(over):.0%} to {max(over):.0%} of the total that max-min fair rates on their flows' "
        "paths would have; it is more where TCP shares unequally."
    )


def _share(summary: Summary, pattern: str, scheme: str) -> float:
    return our_share(summary, pattern, scheme) or 0.0


def unsaid() -> list[str]:
    """The README's lines that the kept sweep does not have, and its own that are not there."""
    now, made = _now()[1].splitlines(), section(load_sweep(ROOT / KEPT)).splitlines()
    return [line for line in chain(made, now) if (line in made) != (line in now)]


def write() -> None:
    """The section, and the picture."""
    sweep = load_sweep(ROOT / KEPT)
    before, _, after = _now()
    write_whole(ROOT / SAID, f"{before}{BEGIN}{section(sweep)}{END}{after}")
    for path in figure9.draw(sweep.runs, ROOT / PICTURE.with_suffix(""), normalised=True):
        if path.suffix != PICTURE.suffix:
            path.unlink()


def _now() -> tuple[str, str, str]:
    """The README before its section, the section, and what follows."""
    before, _, rest = (ROOT / SAID).read_text(encoding="utf-8").partition(BEGIN)
    section, _, after = rest.partition(END)
    return before, section, after
