"""The paper's figures and tables, what it leaves open, and collectives; and the options that these share."""

from __future__ import annotations

from collections.abc import Sequence

from hedera.schemes import find_scheme
from record.options import Command, names_option
from simulator.config import ENGINES
from studies.study import choose_among

SCHEMES = ("ecmp", "hedera-gff", "hedera-sa", "nonblocking")
"""The four columns of Figures 9, 10 and 11."""
ENGINE_LABELS = {"aimd": "AIMD (section 5.5)", "maxmin": "max-min fair rates"}

KEPT_RULE = "measured-or-estimated"
"""``--large-flows`` of the studies whose kept data (results/simulated, results/collectives) is by it; the paper's rule,
and every backend's default, is ``measured``. Each page that shows them names it."""

engines_option = names_option(
    "--engines", ENGINES, choose_among(*ENGINES), "Comma-separated: aimd (section 5.5), maxmin (ideal shares)."
)


def schemes_option(default: Sequence[str]) -> Command:
    text = "Comma-separated; hedera-clos shows what the network itself allows."
    return names_option("--schemes", default, lambda name: find_scheme(name).name, text)
