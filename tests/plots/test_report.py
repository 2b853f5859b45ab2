"""The page as text: what it says, and that it needs nothing but itself."""

import json
import re
from html.parser import HTMLParser

import pytest

from plots.report import summarise_overheads, summarise_validity, write_all, write_page
from plots.stored_sweep import load_sweep
from record.options import Pictures, drawing
from tests.plots.pictures import texts
from tests.plots.sweeps import failed, rounds, run_document, store, write_sweep

FEW = ["nonblocking", "ecmp", "hedera-gff", "hedera-sa"]


class Page(HTMLParser):
    """Elements with their attributes, the words outside of script and style, ids and links."""

    VOID = frozenset({"meta", "link", "input", "br", "img"})

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return re.sub("[ \n]+", " ", "".join(self.words))

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def page_of(folder):
    page = Page(write_page(load_sweep(folder)).read_text(encoding="utf-8"))
    assert page.open == [], "every element is closed"
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs in page.all("a"):
        assert attrs["href"].removeprefix("#") in ids, f"{attrs['href']} leads nowhere"
    for _, attrs in page.elements:
        assert attrs.get("aria-labelledby", ids[0] if ids else None) in [*ids, None]
    for attrs in page.all("img"):
        assert attrs["alt"].strip()
    for attrs in page.all("svg"):
        assert attrs["aria-label"].strip()
        assert attrs["role"] == "img"
    assert not re.search("None(?! of these)", page.text)
    assert "Undefined" not in page.text
    return page


@pytest.mark.slow
def test_a_whole_sweep_s_page_is_complete_and_needs_nothing_but_itself(tmp_path):
    schemes = ["nonblocking", "ecmp", "hedera-sa"]
    write_sweep(tmp_path, ["published:stride4", "published:stag0(0.2,0.3)"], schemes, trials=3)
    page = page_of(tmp_path)
    assert "18 runs: 2 traffic patterns, 3 schemes, 3 trials" in page.text
    assert "seeds1, 2, 3measured window" in page.text
    assert f"emulator{load_sweep(tmp_path).runs[0].emulated_by}" in page.text
    sections = [attrs["id"] for attrs in page.all("section")]
    assert " ".join(sections) == ("summary bars explorer runs trials overhead published validity environment")
    assert len(page.all("h1")) == len(page.all("main")) == 1
    sources = [attrs["src"] for _, attrs in page.elements if "src" in attrs]
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert [attrs["href"] for attrs in page.all("link")] == ["data:,"]
    policy = next(attrs["content"] for attrs in page.all("meta") if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'")
    text = write_page(load_sweep(tmp_path)).read_text(encoding="utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import", text)
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
    stored = {(run.pattern, run.scheme, run.trial): run for run in load_sweep(tmp_path).runs}
    assert len(data["runs"]) == len(stored) == 18
    for run in data["runs"]:
        assert run["mbps"] == stored[run["pattern"], run["scheme"], run["trial"]].bisection_mbps
        assert len(run["total"]) == 30


OWN = "mine.py:Mine"


@pytest.mark.slow
def test_a_scheme_of_ones_own_is_the_subject_and_no_control_competes(tmp_path):
    """It is in the title, the first number and the first differences, and no section is on the published figure."""
    rates = {"nonblocking": 150.0, "ecmp": 60.0, "hedera-gff": 120.0, OWN: 135.0, "random": 66.0}
    for scheme, rate in rates.items():
        for trial, noise in enumerate((-1.0, 0.0, 1.0), 1):
            more = noise * 2 if scheme == OWN else noise
            store(tmp_path, run_document("stride:3", scheme, trial, bisection_mbps=rate + more))
    page = page_of(tmp_path)
    answers, family = page.text.split("Answers")[2].split("What was received")
    assert page.text.split("Answers")[0].endswith(f"{OWN} on stride:3 ")
    assert answers.index(OWN) < answers.index("hedera-gff") < answers.index("ecmp")
    assert f"{OWN} \u2212 ecmp+75.0+72.5 to +77.5 supported 31" in " ".join(answers.split())
    assert f"{OWN} \u2212 hedera-gff+15.0+12.5 to +17.5 supported 31" in " ".join(answers.split())
    assert "nonblocking \u2212" not in answers
    assert "drawnstride190\u202f%" in family.replace(" ", "")
    assert "published" not in [attrs["id"] for attrs in page.all("section")]


@pytest.mark.parametrize(("verdict", "word"), [("invalid", "INVALID (0 of 1)"), ("not judged", "NOT JUDGED (0 of 1)")])
def test_runs_that_do_not_count_are_named_with_their_reasons_and_their_numbers_count_for_nothing(
    tmp_path, verdict, word
):
    write_sweep(tmp_path, ["published:stride4"], FEW)
    bad = {"verdict": verdict, "reasons": ["the machine was too slow"]}
    store(tmp_path, run_document("published:stride4", "hedera-sa", bisection_mbps=123.4, **bad))
    store(tmp_path, run_document("published:stride4", "hedera-gff", remarks=["TCP was slow"]))
    text = page_of(tmp_path).text
    assert "3 of 4 runs are valid" in text
    assert word in text
    (cards,) = (part for part in text.split("Share of the control, mean over")[1:])
    assert "hedera-sa" not in cards.split("What was received")[0]
    assert text.count("the machine was too slow") == 2, "in the table of verdicts and at the run"
    assert text.count("123.4") == 1, "in the table of verdicts"
    assert "TCP was slow" in text


def test_no_runs(tmp_path):
    (tmp_path / "run.json").write_text("{")
    assert [file.name for file in write_all(load_sweep(tmp_path))] == ["report.html"]
    text = page_of(tmp_path).text
    assert "There are no runs in this folder" in text
    assert "1 file below this folder not used" in text


def test_words_from_files_cannot_do_harm(tmp_path):
    """Reasons and facts may be any text, names may have quotes; a run whose name is markup is not read, but told of."""
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>'\""
    quoted = """file:"'onerror=alert(1) &lt;b&gt;"""
    store(tmp_path, run_document(quoted, "ecmp", verdict="invalid", reasons=[evil], environment={"kernel": evil}))
    store(tmp_path, run_document(quoted, "nonblocking", started="2026-03-01T10:00:00Z"))
    store(tmp_path, run_document("stride:4", "<script>alert(1)</script>"))
    page = page_of(tmp_path)
    assert "onerror" not in [name for _, attrs in page.elements for name in attrs]
    assert len(page.all("script")) == 2
    words = "".join(page.words)
    assert words.count(evil) == 3, "in the table of verdicts, at the run and in the environment"
    assert quoted in words
    assert "stride_4/<script>alert(1)</script>/trial-1/run.json is not a run" in words


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A sweep's folder, and all files that were written of it."""
    folder = tmp_path_factory.mktemp("written")
    write_sweep(folder, ["published:stride4", "staggered:0.2,0.3"], trials=2)
    return folder, write_all(load_sweep(folder))


@pytest.mark.slow
def test_all_files_of_a_sweep_are_listed(written):
    folder, files = written
    assert [str(file.relative_to(folder)) for file in files] == [
        "figures/figure9.png",
        "figures/figure9.svg",
        "figures/summary.csv",
        "figures/differences.csv",
        "figures/rates/published_stride4-trial-1.svg",
        "figures/rates/published_stride4-trial-2.svg",
        "figures/rates/staggered_0.2,0.3-trial-1.svg",
        "figures/rates/staggered_0.2,0.3-trial-2.svg",
        "report.html",
    ]
    for file in files:
        assert file.stat().st_size > 300
        if file.suffix == ".png":
            assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_its_picture_names_patterns_and_schemes(written):
    shown = texts(written[1][1])
    assert {"stride4", "staggered:0.2,0.3", "hedera-sa", "nonblocking (control)"} <= shown
    assert not any("invalid" in text for text in shown)


@pytest.mark.slow
def test_files_that_are_written_again_are_the_same_byte_for_byte(written):
    folder, files = written
    before = {file: file.read_bytes() for file in files}
    for file in files:
        file.unlink()
    assert {file: file.read_bytes() for file in write_all(load_sweep(folder))} == before


INVALID = {"verdict": "invalid", "reasons": ["slow"]}


@pytest.mark.slow
def test_what_was_asked_for_is_listed_first(tmp_path):
    for scheme, rate in (("nonblocking", 150.0), ("ecmp", 60.0)):
        for trial in (1, 2, 3):
            store(tmp_path, run_document("stride:4", scheme, trial=trial, bisection_mbps=rate + trial))
    with drawing(Pictures(("pdf",), latex=True)):
        files = [file.relative_to(tmp_path).as_posix() for file in write_all(load_sweep(tmp_path))]
    assert files[0] == "figures/print/figure9.pdf"
    assert [file.startswith("figures/print/") for file in files] == sorted(
        (file.startswith("figures/print/") for file in files), reverse=True
    )
    text = (tmp_path / "figures/print/summary.tex").read_text()
    assert text.count(r"\begin{tabular}") == 1, "two schemes, one of them the control: no differences"
    assert "seeds 1, 2, 3" in text


def test_validity_by_scheme(tmp_path):
    idle = {"t": [1, 2], "idle_percent": [50, 20]}
    rates = {"scheme": "ecmp", "maxmin_mbps": 100.0, "cpu": idle}
    store(tmp_path, run_document(trial=1, bisection_mbps=80.0, **rates))
    store(tmp_path, run_document(trial=2, bisection_mbps=60.0, **rates, **INVALID))
    store(tmp_path, failed(scheme="ecmp", trial=3))
    (row,) = summarise_validity(load_sweep(tmp_path).runs, ["ecmp"])
    assert (row["valid"], row["runs"]) == (1, 3)
    assert row["of_maxmin"] == pytest.approx((0.6, 0.7, 0.8))
    assert row["least_idle"] == (0.2, 0.2, 0.2)


def test_overhead_over_all_runs(tmp_path):
    store(tmp_path, run_document(scheme="hedera-gff", trial=1, rounds=rounds((2, 0), (4, 9), (6, 2))))
    store(tmp_path, run_document(scheme="hedera-gff", trial=2, rounds=rounds((2, 7), (4, 0)), **INVALID))
    store(tmp_path, run_document(scheme="ecmp"))
    (found,) = summarise_overheads(load_sweep(tmp_path).runs)
    assert (found["scheme"], found["runs"], found["rounds"], found["idle_rounds"]) == ("hedera-gff", 2, 5, 2)
    assert (found["first_changes"], found["later_changes"], found["runs_with_later_changes"]) == (16, 2, 1)
    assert found["ms"]["total"]["median"] == 10
    assert found["ms"]["polled"]["maximum"] == 5
    assert found["interval_s"] == 2
    assert found["interval_share"] == pytest.approx(0.005)


def test_a_page_of_an_unfinished_sweep_loads_itself_again(tmp_path):
    sweep = load_sweep(write_sweep(tmp_path, ["stride:4"], ["nonblocking"]))
    for unfinished in (True, False):
        page = Page(write_page(sweep, unfinished=unfinished).read_text())
        refresh = [attrs["content"] for attrs in page.all("meta") if attrs.get("http-equiv") == "refresh"]
        assert refresh == (["15"] if unfinished else [])
        assert ("The sweep goes on" in page.text) == unfinished


def test_rounds_whose_times_were_not_stored(tmp_path):
    store(tmp_path, run_document(scheme="hedera-gff", rounds=[{"t": 2, "large": 3, "changed": 1}]))
    (found,) = summarise_overheads(load_sweep(tmp_path).runs)
    assert found["ms"] == {}
    assert found["interval_share"] is None
