"""Writes docs/options.md from the fields that the options are made of: .venv/bin/python docs/options.py"""

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from harness.run.spec import RunSpec
from hedera.options import help_of
from hedera.parameter import option_of, parameters_of
from simulator.config import Config
from studies.hull.scenario import Parameters


def option_table(*backends: tuple[str, type]) -> str:
    """A table in Markdown of every option of experiments: meaning, allowed values, and default by backend.

    ``backends``: name and dataclass of each, in the order of the columns.
    """
    described = []
    for title, owner in backends:
        described.append((title, parameters_of(owner), {each.name: each.default for each in fields(owner)}))
    names = list(dict.fromkeys(name for _, known, _ in described for name in known))
    lines = [
        f"| option | meaning | may be | {' | '.join(title for title, _ in backends)} |",
        "| --- | --- | --- |" + " --- |" * len(backends),
    ]
    for name in names:
        having = [known[name] for _, known, _ in described if name in known]
        allowed = dict.fromkeys(one.allowed for one in having if one.allowed)
        cells = [_default(default[name]) if name in known else "" for _, known, default in described]
        lines.append(
            f"| `{option_of(name, having[0])}` | {help_of(having[0])} | {'; '.join(allowed)} | {' | '.join(cells)} |"
        )
    return "\n".join(lines) + "\n"


def _default(value: Any) -> str:
    if value is MISSING:
        return "needed"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == () else f"{value:g}" if isinstance(value, float) else str(value)


HERE = Path(__file__).parent
TEXT = f"""# Options

Made by `docs/options.py` from the fields of an experiment; a test holds it against them. Each command's `--help` has
the same. A cell is the default; an empty one means that there is no such option there.

## Experiments: `hedera run` and `sweep` (emulated), `hedera simulate` (simulated)

{option_table(("emulated", RunSpec), ("simulated", Config))}
## HULL on packets: every `hedera hull` command

Numbers may have a unit: `--link-delay 100us`.

{option_table(("packets", Parameters))}"""

if __name__ == "__main__":
    (HERE / "options.md").write_text(TEXT, encoding="utf-8")
