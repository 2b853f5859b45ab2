"""The site, from the files of the repository: `.venv/bin/sphinx-build -c docs . build/site` makes it."""

import ast
import contextlib
import io
import re
import sys
import tempfile
from importlib import metadata
from pathlib import Path

project = "Hedera, reproduced"
copyright = "2026, the authors"
release = metadata.version("hedera-harness")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "findings/*.md", "results/**/README.md", "setup/*.md", "virtual/kernel/*.md"]
exclude_patterns = ["results/runs", "docs/examples"]

myst_heading_anchors = 4

html_theme = "furo"
html_title = project
html_extra_path = ["root"]  # sends who opens the folder to its first page


def setup(app):
    """Have the library's page executed as a notebook: what a cell prints, and the value of its last line, follow it."""
    app.connect("source-read", _executed)
    return {"parallel_read_safe": True}


def _executed(app, name, source):
    if name != "docs/library":
        return
    root = Path(__file__).parents[1]
    sys.path.insert(0, str(root))
    cells, names = re.split(r"(```python\n.*?```\n)", source[0], flags=re.DOTALL), {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate(cells):
            if cell.startswith("```python"):
                cells[number] += _output(
                    cell.removeprefix("```python\n").removesuffix("```\n"), names, f"cell{number}.py"
                )
    source[0] = "".join(cells)


def _output(code, names, file):
    """What a cell's output is on the page. Classes of a cell have a source, as in a notebook."""
    Path(file).write_text(code)
    tree = ast.parse(code)
    last = (
        tree.body.pop() if isinstance(tree.body[-1], ast.Expr) and isinstance(tree.body[-1].value, ast.Name) else None
    )
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(tree, Path(file).absolute(), "exec"), names)
            value = names[last.value.id] if last else None
    except Exception as error:  # where a machine cannot emulate, the page says so
        if type(error).__name__ != "UnfitMachine":
            raise
        return f"\nNot executed where this page was made: {error}\n"
    text = f"\n```text\n{said.getvalue()}```\n" if said.getvalue() else ""
    shown = f'<div style="overflow-x: auto">{value._repr_html_()}</div>' if last else ""
    return text + (f"\n```{{raw}} html\n{shown}\n```\n" if last else "")
