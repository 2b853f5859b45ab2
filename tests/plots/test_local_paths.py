"""What is handed on, published or exported names no folder, user or host of the machine that made it."""

import json
import lzma
import os
import re
import sys
import zipfile

import pytest

from plots.export import export, keep
from plots.local_paths import make_local_path_remover
from plots.report import write_page
from plots.stored_sweep import load_sweep
from record.run import ARCHIVE
from tests.commands import HEDERA, PROJECT, asked, ran
from tests.plots.sweeps import run_document, store

USER, HOST = "annabellina", "annas-laptop-7"
NAMED = "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"


def everything(folder):
    """Each file below a folder with its content, what is packed unpacked."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        yield str(file.relative_to(folder)), content
        if file.suffix == ".xz":
            yield f"{file.name}, unpacked", lzma.decompress(content)
        elif file.suffix == ".zip":
            with zipfile.ZipFile(file) as packed:
                for name in packed.namelist():
                    yield f"{file.name}: {name}", packed.read(name)


def assert_nameless(folder, *places):
    seen = 0
    for name, content in everything(folder):
        seen += 1
        for word in (*places, USER, HOST, *([str(PROJECT)] if len(PROJECT.parts) > 2 else [])):
            assert word.encode() not in content, f"{word} in {name}"
            assert word not in name
            assert re.sub(r"[^A-Za-z0-9.,_-]+", "_", word).strip("_.") not in name
    assert seen


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home" / USER
    home.mkdir(parents=True)
    return home


@pytest.fixture
def of_ann(home):
    """A command as a user of a distinct name gives it, on a machine of a distinct name where we may name one."""
    known = {**os.environ, "HOME": str(home), "USER": USER, "LOGNAME": USER, "HOSTNAME": HOST}

    def of_ann(*words):
        named = ["unshare", "--uts", sys.executable, "-c", NAMED, HOST] if os.geteuid() == 0 else []
        done = ran(*named, HEDERA, *words, env=known, cwd=home)
        assert done.returncode == 0, done.stderr
        return done

    return of_ann


@pytest.mark.slow
@pytest.mark.parametrize("service", ["gradescope", "prairielearn"])
def test_a_class_s_files_do_not_name_the_packer(of_ann, home, tmp_path, service):
    of_ann("assignment", "pack", "course", "--for", service)
    assert_nameless(home / "course", str(home), str(tmp_path))
    assert "PATH=$PWD/.venv/bin:$PATH" in (home / "course/handout/handout.md").read_text()


def test_recorded_flows_do_not_name_their_file(of_ann, home):
    (home / "mine.csv").write_text("src_host,dst_host\n0,4\n1,5\n")
    (home / "out").mkdir()
    of_ann(
        "simulate", "--scheme", "ecmp", "--traffic", f"file:{home}/mine.csv", "--seconds", 1, "--record", "out/f.csv"
    )
    assert_nameless(home / "out", str(home))


@pytest.fixture
def sweep(home, tmp_path):
    """With schemes and traffic in files of ann's, two of one name, and the words of a scheme that failed."""
    folder = tmp_path / "sweep"
    one, other = f"{home}/best.py:Best", f"{home}/older/best.py:Best"
    for traffic in ("stride:4", f"file:{home}/my flows.csv", f"stride:2 + file:{home}/b.csv"):
        for scheme in ("nonblocking", one, other):
            slug = re.sub(r"[^A-Za-z0-9.,_-]+", "_", scheme).strip("_.") + f"-{len(scheme):06x}"
            document = run_document(traffic, scheme, trial=1)
            document["inputs"] = {f"{home}/best.py": "0" * 16, str(home / "older/best.py"): "1" * 16}
            if scheme == one and traffic == "stride:4":
                document |= {"verdict": "invalid", "reasons": [f"{PROJECT}/hedera/x.py and {home}/best.py, line 3: no"]}
            place = folder / re.sub(r"[^A-Za-z0-9.,_-]+", "_", traffic).strip("_.") / slug / "trial-1"
            place.mkdir(parents=True)
            (place / "run.json").write_text(json.dumps(document))
    (folder / "sweep.json").write_text(json.dumps({"topology": f"{home}/net.py:Net", "k": 4}))
    return folder


def test_a_published_copy_and_tables_do_not_name_the_users_folders(sweep, home, tmp_path):
    """And are as good as the sweep: nothing of one name became one."""
    keep(sweep, tmp_path / "kept")
    export(sweep, tmp_path / "tables")
    for folder in ("kept", "tables"):
        assert_nameless(tmp_path / folder, str(home))
    whole, copy = load_sweep(sweep), load_sweep(tmp_path / "kept")
    assert len(copy.runs) == len(whole.runs) == 9
    assert {run.scheme for run in copy.runs} == {"nonblocking", "best.py:Best", "2/best.py:Best"}
    assert {run.traffic for run in copy.runs} == {"stride:4", "file:my flows.csv", "stride:2 + file:b.csv"}
    rates = [sorted(run.bisection_mbps for run in each.runs) for each in (whole, copy)]
    assert rates[0] == rates[1]
    assert (tmp_path / "kept" / ARCHIVE).stat().st_size > 0


def test_a_page_does_not_name_the_users_folders(sweep, home):
    page = write_page(load_sweep(sweep)).read_text(encoding="utf-8")
    for word in (str(home), USER, f"{PROJECT}/"):
        assert word not in page


@pytest.mark.slow
def test_the_command_s_page_does_not_name_them_either(sweep, home):
    assert asked("report", sweep).returncode == 0
    page = (sweep / "report.html").read_text(encoding="utf-8")
    for word in (str(home), USER, f"{PROJECT}/"):
        assert word not in page


@pytest.mark.parametrize(
    ("below", "places", "names"),
    [
        ("", ("a/sweep", "b/sweep"), ("a/sweep", "b/sweep")),
        ("", ("a/sweep", "c/last"), ("sweep", "last")),
        ("", ("sweep", "a/sweep"), ("sweep (1)", "a/sweep")),
        ("away", ("a/sweep", "b/sweep"), ("sweep (1)", "sweep (2)")),
    ],
)
def test_a_comparison_does_not_name_the_users_folders(home, monkeypatch, below, places, names):
    """Folders of one name are told apart by what lies below the current folder, or by numbers."""
    own = f"{home}/best.py:Best"
    for number, place in enumerate(places):
        for scheme in ("nonblocking", own):
            document = run_document("stride:4", scheme, settings={"topology": f"{home}/{number}.json"})
            (home / place / scheme.rpartition("/")[2]).mkdir(parents=True)
            (home / place / scheme.rpartition("/")[2] / "run.json").write_text(json.dumps(document))
    (home / below).mkdir(exist_ok=True)
    monkeypatch.chdir(home / below)
    done = asked("compare", *(home / place for place in places), "--html", "--out", "page")
    assert done.returncode == 0, done.stderr
    page = (home / below / "page/compare.html").read_text(encoding="utf-8")
    assert all(f">{name}<" in page for name in names)
    assert "best.py:Best" in page
    assert "0.json" in page
    for word in (str(home), USER, f"{PROJECT}/"):
        assert word not in page


def test_relative_names_stay_as_they_are(tmp_path):
    store(tmp_path, run_document("docs/examples/ring.py:ring", "docs/examples/least_loaded.py:LeastLoaded"))
    (run,) = load_sweep(tmp_path).runs
    text = f"{run.scheme} on {run.traffic}, 10 Mb/s, 3/4 of ../x"
    assert make_local_path_remover([run])(text) == text
