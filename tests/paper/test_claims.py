"""What the documents say is what the data says, and docs/claims.md is the table of it."""

import shutil
from pathlib import Path

import pytest

from paper.claims import claim as one
from paper.claims import command as claims
from paper.claims import figure_9
from tests.paper.commands import run
from tests.plots.sweeps import run_document, store


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: f"{claim.said} {claim.source.data}")
def test_the_document_says_what_the_data_does(claim):
    assert claims.unsaid(claim) == []


def test_the_page_is_made_of_them():
    assert (claims.ROOT / claims.PAGE).read_text(encoding="utf-8") == claims.page()


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: f"{claim.said} {claim.source.data}")
def test_a_document_that_says_another_number_is_found(claim, monkeypatch, tmp_path):
    """The last digit, or letter, of every claim is another one, one at a time."""
    data = claims.ROOT / "results" / claim.source.data
    text = " ".join((claims.ROOT / claim.said).read_text(encoding="utf-8").split())
    monkeypatch.setattr(one, "ROOT", tmp_path)
    document = tmp_path / claim.said
    document.parent.mkdir(parents=True, exist_ok=True)
    for words in claim.words(data):
        end = words.rstrip(" |%)")
        other = end[:-1] + chr(ord(end[-1]) + 1)
        document.write_text(text.replace(end, other), encoding="utf-8")
        assert words in claims.unsaid(claim, data)


def test_the_readme_says_of_figure_9_what_its_sweep_does():
    assert figure_9.unsaid() == []


@pytest.fixture
def swept(tmp_path, monkeypatch):
    """A folder with a sweep and a README that is older than it."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"Before.\n{figure_9.BEGIN}Old.\n{figure_9.END}\nAfter.\n")
    schemes = ("nonblocking", "ecmp", "spanning-tree", "hedera-gff", "hedera-sa")
    for pattern in ("stride2", "randbij0"):
        for scheme in schemes:
            share = {"hedera-sa": 0.5}.get(scheme, 0.9) if pattern == "stride2" else None
            store(tmp_path / figure_9.KEPT, run_document(f"published:{pattern}", scheme, share=share))
    monkeypatch.setattr(figure_9, "ROOT", tmp_path)
    return tmp_path


def test_the_section_on_figure_9_is_written_from_the_sweep(swept):
    assert "Old." in figure_9.unsaid()
    figure_9.write()
    assert figure_9.unsaid() == []
    text = (swept / "README.md").read_text()
    assert text.startswith("Before.\n")
    assert text.endswith("\nAfter.\n")
    assert "1 of the 5 trials so far" in text
    assert "`hedera-sa` below `hedera-gff` on stride2" in text
    assert "takes 3 valid trials" in text
    assert [path.name for path in (swept / "docs").iterdir()] == ["figure9.png"]


def test_a_number_of_it_that_is_another_one_is_found(swept):
    figure_9.write()
    text = (swept / "README.md").read_text()
    (row,) = (line for line in text.splitlines() if line.startswith("| all "))
    (swept / "README.md").write_text(text.replace(row, row.replace("0.", "1.", 1)))
    assert figure_9.unsaid() == [row, row.replace("0.", "1.", 1)]


def again(monkeypatch, tmp_path, data):
    """Figure 3's data, made again by a command that leaves these."""

    def made(words, **more):
        if words[0] == "git":
            return real(words, **more)
        shutil.copy(data, Path(words[words.index("--out") + 1]) / "explain_ecmp_fits.csv")
        return None

    real = claims.subprocess.run
    kept = tmp_path / "checked.csv"
    kept.write_text("source,revision,date,processor_s\nhull/table2.csv,abc,2026-01-01,5\n")
    monkeypatch.setattr(claims.subprocess, "run", made)
    monkeypatch.setattr(claims, "CHECKED", kept)
    return run(claims, "--rerun", "explain_ecmp"), kept.read_text().splitlines()


def test_data_that_says_the_same_again_is_kept_as_checked(monkeypatch, tmp_path):
    done, kept = again(monkeypatch, tmp_path, claims.ROOT / "results/simulated/explain_ecmp_fits.csv")
    assert done.exit_code == 0, done.output
    assert kept[1] == "hull/table2.csv,abc,2026-01-01,5"
    assert kept[2].startswith("simulated/explain_ecmp_fits.csv,")


def test_data_that_says_another_number_is_told_and_not_kept(monkeypatch, tmp_path):
    other = tmp_path / "other.csv"
    text = (claims.ROOT / "results/simulated/explain_ecmp_fits.csv").read_text()
    other.write_text(text.replace("3.75826", "4.75826"))
    done, kept = again(monkeypatch, tmp_path, other)
    assert done.exit_code == 1
    assert "README.md does not say what simulated/explain_ecmp_fits.csv does: mean error of 4.8 %" in done.output
    assert len(kept) == 2


def test_mistakes_are_one_sentence(monkeypatch, tmp_path):
    assert "no simulated data has nonsense in its name" in run(claims, "--rerun", "nonsense").output
    monkeypatch.setattr(claims, "ROOT", tmp_path)
    assert "claims are of a clone of the project" in run(claims).output
