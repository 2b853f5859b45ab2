"""Writes docs/options.md from the fields that the options are made of: .venv/bin/python docs/options.py"""

from pathlib import Path

from commands.parameters import option_table
from harness.run.spec import RunSpec
from packets.parameters import Parameters
from simulator.config import Config

HERE = Path(__file__).parent
TEXT = f"""# Options

Made by `docs/options.py` from the fields of an experiment; a test holds it against them. Each command's `--help` has
the same. A cell is the default; an empty one means that there is no such option there.

## Experiments: `hedera run`, `sweep` and `table 2` (emulated), `hedera simulate` (simulated)

{option_table(("emulated", RunSpec), ("simulated", Config))}
## HULL on packets: every `hedera hull` command

Numbers may have a unit: `--link-delay 100us`.

{option_table(("packets", Parameters))}"""

if __name__ == "__main__":
    (HERE / "options.md").write_text(TEXT, encoding="utf-8")
