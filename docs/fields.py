"""Writes docs/fields.md from the fields of a run, and what stands below them in the code: .venv/bin/python
docs/fields.py"""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE.parent / "record"


def classes(path: Path) -> list[ast.ClassDef]:
    return [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]


def words(node: ast.AST) -> str:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return ""
    return " ".join(str(node.value.value).split()).replace("``", "`")


def fields(record: ast.ClassDef, parts: set[str]) -> Iterator[str]:
    """Rows of a table: each field, what it is, and which part's it is."""
    for node, below in pairwise([*record.body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            named = {one.attr for one in ast.walk(node.annotation) if isinstance(one, ast.Attribute)} & parts
            links = ", ".join(f"[{part}](#{part.lower()})" for part in named)
            yield f"| `{node.target.id}` | {words(below)} | {links} |"


def sections(parts: list[ast.ClassDef]) -> Iterator[str]:
    for part in parts:
        own = [
            node.target.id
            for node in part.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]
        if own:
            yield f"## {part.name}\n\n{words(part.body[0])}\n\nFields: {', '.join(f'`{name}`' for name in own)}.\n"


PARTS = classes(RECORD / "parts.py")
(RUN,) = (one for one in classes(RECORD / "run.py") if one.name == "Run")
TEXT = f"""# The fields of run.json

Made by `docs/fields.py` from `record/run.py` and `record/parts.py`; a test holds it against them.
{words(RUN.body[0])}

| field | what it is | its parts |
| --- | --- | --- |
{chr(10).join(fields(RUN, {part.name for part in PARTS}))}

{chr(10).join(sections(PARTS))}"""

if __name__ == "__main__":
    (HERE / "fields.md").write_text(TEXT, encoding="utf-8")
