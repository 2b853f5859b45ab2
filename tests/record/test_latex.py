import re
import shutil
import subprocess
from pathlib import Path

import pytest

from record.latex import write_latex
from record.output import make_plain_table
from tests.commands import PATIENCE_S


def latex(folder: Path, *tables, notes=""):
    return write_latex(folder / "t.tex", tables, notes).read_text()


def test_a_table_has_rules_and_nothing_that_latex_would_read(tmp_path):
    table = make_plain_table("Shares in % of a_b:", "scheme", "95 %", "95 %", left=1)
    table.add_row(r"my\[x].py:C", "90 %", "1 & 2")
    lines = [line.strip() for line in latex(tmp_path, table, notes="Seeds 1, 2; --bw 10, <5 ms.").splitlines()]
    assert r"\caption{Shares in \% of a\_b. Seeds 1, 2; -{}-bw 10, \textless{}5 ms.}" in lines
    assert r"\begin{tabular}{lrr}" in lines
    assert r"scheme & 95 \% & 95 \% \\" in lines
    assert r"my[x].py:C & 90 \% & 1 \& 2 \\" in lines
    assert [line for line in lines if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]


def test_numbers_are_set_as_numbers(tmp_path):
    table = make_plain_table("", "scheme", "p", "difference")
    table.add_row("ecmp-dst", "6.5e-05", "-0.9")
    table.add_row("-k 4", "1e+06", "2 to -6.3 stride4")
    text = latex(tmp_path, table)
    assert r"ecmp-dst & 6.5$\times10^{-5}$ & $-$0.9 \\" in text
    assert r"-k 4 & 1$\times10^{6}$ & 2 to $-$6.3 stride4 \\" in text


def wide(columns: int, cell: str = "1234.5"):
    table = make_plain_table("Wide", "scheme", *(f"scheme-{number}" for number in range(1, columns)))
    table.add_row("hedera-sa", *[cell] * (columns - 1))
    return table


def test_a_table_wider_than_a_column_stands_across_both(tmp_path):
    assert r"\begin{table}" in latex(tmp_path, wide(3))
    assert r"\begin{table*}" in latex(tmp_path, wide(7))
    assert r"\footnotesize" in latex(tmp_path, wide(11))
    stacked = latex(tmp_path, wide(8, "110.6 (4 of 5), all 111.9"))
    assert r"\shortstack[r]{110.6 (4 of 5), \\ all 111.9}" in stacked
    assert "resizebox" not in stacked
    scaled = latex(tmp_path, wide(20))
    assert r"\resizebox{\textwidth}{!}{%" in scaled
    assert r"% \usepackage{graphicx}" in scaled


def test_many_rows_continue_in_a_further_float(tmp_path):
    table = make_plain_table("Long", "flow", "Mb/s")
    for number in range(90):
        table.add_row(f"flow {number}", "1.0")
    text = latex(tmp_path, table, notes="Seeds 1.")
    assert re.findall(r"\\caption\{(.*)\}", text) == ["Long. Seeds 1.", "Long, continued.", "Long, continued."]
    assert [len(re.findall("flow \\d", part)) for part in text.split(r"\end{tabular}")] == [40, 40, 10, 0]


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_tex_sets_it_within_the_columns_of_a_page(tmp_path):
    odd = make_plain_table('Odd <names> | 100 % of "a" `b` it\'s ~ ^ # $ { } \\ ± × µ ≤ ≥ → − –:', "a --b", "95 % ±")
    odd.add_row("[x] naïve_scheme.py:C", "1e-05 ± 2")
    odd.add_row("[2pt] & more", "-3")
    long = make_plain_table("Long", "flow", "Mb/s")
    for number in range(90):
        long.add_row(f"flow {number}", "1.0")
    shapes = [odd, long, *map(wide, range(2, 24, 3)), *(wide(n, "110.6 74% (4 of 5), all 111.9 75%") for n in (4, 8))]
    latex(tmp_path, *shapes, notes="Seeds 1, 2; --bw 10.")
    (tmp_path / "page.tex").write_text(
        r"\documentclass[twocolumn]{article}\usepackage[margin=0.75in]{geometry}\usepackage{booktabs,graphicx}"
        r"\begin{document}\input{t.tex}Text.\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not re.findall(r"Overfull \\hbox.*|.*too large.*|Missing character.*", done.stdout)
