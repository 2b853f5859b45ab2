"""The site, from the files of the repository: `.venv/bin/sphinx-build -c docs . build/site` makes it."""

from importlib import metadata

project = "Hedera, reproduced"
copyright = "2026, the authors"
release = metadata.version("hedera-harness")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "results/**/README.md", "setup/*.md", "virtual/kernel/*.md"]
exclude_patterns = ["results/runs", "docs/examples"]

myst_heading_anchors = 4

html_theme = "furo"
html_title = project
html_extra_path = ["root"]  # sends who opens the folder to its first page
