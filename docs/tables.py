"""Writes docs/options.md and docs/fields.md from the fields that describe options, runs and the parts of run.json:
.venv/bin/python docs/tables.py"""

import ast
from collections.abc import Iterator
from dataclasses import MISSING
from itertools import pairwise
from pathlib import Path
from typing import Any

from record.run import Settings
from record.spec import RunSpec, options_of
from simulator.config import Config
from studies.hull.scenario import Parameters

HERE = Path(__file__).parent


def option_table(*backends: tuple[str, type]) -> str:
    """A table in Markdown of every option of experiments: meaning, allowed values, and default by backend.

    ``backends``: name and dataclass of each, in the order of the columns.
    """
    described = [(title, options_of(owner)) for title, owner in backends]
    names = dict.fromkeys(name for _, known in described for name in known)
    lines = [
        f"| option | meaning | may be | {' | '.join(title for title, _ in backends)} |",
        "| --- | --- | --- |" + " --- |" * len(backends),
    ]
    for name in names:
        having = [known[name] for _, known in described if name in known]
        allowed = "; ".join(dict.fromkeys(option.allowed for option in having if option.allowed))
        cells = " | ".join(default(known[name].default) if name in known else "" for _, known in described)
        lines.append(f"| `{having[0].name}` | {having[0].help} | {allowed} | {cells} |")
    return "\n".join(lines) + "\n"


def default(value: Any) -> str:
    if value is MISSING:
        return "needed"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == () else f"{value:g}" if isinstance(value, float) else str(value)


def setting(name: str) -> str:
    option = options_of(RunSpec).get(name)
    return f"`{name}`" + (f" (`{option.name}`)" if option else "")


def classes(path: Path) -> list[ast.ClassDef]:
    return [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]


def words(node: ast.AST) -> str:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return ""
    return " ".join(str(node.value.value).split()).replace("``", "`")


def fields(record: ast.ClassDef) -> Iterator[tuple[ast.AnnAssign, str, str]]:
    """Each field of a class: its definition, its name, and what stands below it."""
    for node, below in pairwise([*record.body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node, node.target.id, words(below)


def rows(record: ast.ClassDef, parts: set[str]) -> Iterator[str]:
    """Rows of a table: each field, what it is, and which part's it is."""
    for node, name, below in fields(record):
        named = {part.id for part in ast.walk(node.annotation) if isinstance(part, ast.Name)} & parts
        links = ", ".join(f"[{part}](#{part.lower()})" for part in named)
        yield f"| `{name}` | {below} | {links} |"


def sections(parts: list[ast.ClassDef]) -> Iterator[str]:
    for part in parts:
        if names := ", ".join(f"`{name}`" for _, name, _ in fields(part)):
            yield f"## {part.name}\n\n{words(part.body[0])}\n\nFields: {names}.\n"


CLASSES = classes(HERE.parent / "record" / "run.py")
(RUN,) = (each for each in CLASSES if each.name == "Run")
PARTS = [each for each in CLASSES if each is not RUN and not each.name.startswith("_")]
OPTIONS = f"""# Options

Made by `docs/tables.py` from the fields of an experiment; a test holds it against them. Each command's `--help` has
the same. A cell is the default; an empty one means that there is no such option there.

## Experiments: `hedera run` and `sweep` (emulated), `hedera simulate` (simulated)

{option_table(("emulated", RunSpec), ("simulated", Config))}
## HULL on packets: every `hedera hull` command

Numbers may have a unit: `--link-delay 100us`.

{option_table(("packets", Parameters))}"""
FIELDS = f"""# The fields of run.json

Made by `docs/tables.py` from `record/run.py`; a test holds it against them.
{words(RUN.body[0])}

| field | what it is | its parts |
| --- | --- | --- |
{chr(10).join(rows(RUN, {part.name for part in PARTS} | {"Settings"}))}

## Settings

Fields, and the [options](options.md) that they are of: {", ".join(map(setting, Settings.__struct_fields__))}.

{chr(10).join(sections(PARTS))}"""

if __name__ == "__main__":
    (HERE / "options.md").write_text(OPTIONS, encoding="utf-8")
    (HERE / "fields.md").write_text(FIELDS, encoding="utf-8")
