"""What a run's guest sees is the same for everybody, and one seed is one result."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.jobs import guest_files, guests
from harness.jobs.carry_out import run_job
from harness.run.job import EMULATOR, make_job
from record.spec import RunSpec
from tests.commands import hedera
from tests.harness.jobs.made import SPEC
from virtual.guest import Original
from virtual.kernel import read_manifest

KERNELS = {5: "7c4333a8b6f65ede753edad14a55856dd6001764f75babca941b07b8dd2615f9"}
"""The newest kernel of each version of the emulator: one that may change shares is a new version."""


def test_another_kernel_is_another_emulator_unless_it_changes_no_share():
    assert read_manifest()["sha256"] == KERNELS[EMULATOR]


def test_a_guest_sees_code_packages_and_the_system_at_fixed_places(tmp_path):
    made = guest_files.make_world(tmp_path)
    assert {"/usr", guest_files.CODE, guest_files.PACKAGES} <= {*made.folders}
    assert made.folders[guest_files.CODE] == tmp_path
    assert not {"/", "/home", "/tmp", "/root", os.getcwd()} & {*made.folders}
    links = made.folders[guest_files.PACKAGES]
    assert {"numpy", "msgspec", "mininet"} <= {*os.listdir(links)}
    assert not {"pytest", "mypy"} & {*os.listdir(links)}
    assert all(str(link.readlink()).startswith(("/opt/", "/usr/")) for link in links.iterdir())
    own = tmp_path / "own.py"
    own.write_text("class Mine:\n    def __init__(self, *_): pass\n    def place(self, flows): return {}\n")
    assert made.command(SPEC)[-1] == f"{guest_files.CODE}:{guest_files.PACKAGES}"
    assert made.command(RunSpec(f"{own}:Mine", "stride:4", time="virtual"))[-1].startswith(made.command(SPEC)[-1] + ":")


@pytest.mark.parametrize("platform", ["pox", "os-ken"])
def test_a_guest_has_pox_where_the_controller_is_on_it(platform, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(guest_files.machine, "find_pox", lambda: Path("pox"))
    seen = guest_files.World({}, "python", ()).of_run(RunSpec("ecmp", "stride:4", time="virtual", platform=platform))
    assert seen == ({guest_files.POX: tmp_path / "pox"} if platform == "pox" else {})


def test_the_code_of_guests_is_made_once_for_a_state_of_the_sources(tmp_path, monkeypatch):
    def compiles(command, env, **_):
        Path(env["NUMBA_CACHE_DIR"], "state").mkdir()
        return subprocess.CompletedProcess(command, 0)

    source = tmp_path / "sources" / "hedera" / "loop.py"
    source.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(guest_files, "PROJECT", tmp_path / "sources")
    monkeypatch.setattr(guest_files.subprocess, "run", compiles)
    found = []
    for text in ("a = 1", "a = 22"):
        source.write_text(text)
        found += [guest_files.copy_code(print), guest_files.copy_code(print)]
    assert found[0] == found[1] != found[2] == found[3]
    assert (found[0] / "hedera" / "loop.py").stat().st_mtime == guest_files.WRITTEN_S
    assert (found[0] / guest_files.COMPILED).is_dir()


@pytest.mark.slow
def test_the_code_of_guests_has_the_same_sizes_wherever_a_user_keeps_it(tmp_path, monkeypatch):
    """The length of the path once was in it, and so two users had two results of one seed."""
    source = tmp_path / "sources" / "hedera" / "loop.py"
    source.parent.mkdir(parents=True)
    source.with_name("__init__.py").touch()
    source.write_text("import numba\n\n@numba.njit(cache=True)\ndef add(number):\n    return number + 1\n")
    folder = "import os, sys; os.environ['NUMBA_CACHE_DIR'] += '/state'; sys.path[:1] = sys.argv.pop(1).split(':'); "
    monkeypatch.setattr(guest_files, "PROJECT", tmp_path / "sources")
    monkeypatch.setattr(guest_files, "COMPILE", folder + "from hedera.loop import add; add(1)")
    sizes = []
    for home in ("a", "another/one"):
        monkeypatch.setattr(guest_files.cache, "make_folder", lambda name, home=home: _made(tmp_path / home / name))
        code = guest_files.copy_code(print)
        sizes.append({path.relative_to(code): path.stat().st_size for path in code.rglob("*") if path.is_file()})
    assert sizes[0] == sizes[1]
    assert [path for path in sizes[0] if path.suffix == ".nbc"]


def _made(folder):
    folder.mkdir(parents=True)
    return folder


RUN = ["run", "--scheme", "hedera-sa", "--traffic", "stride:4", "--time", "virtual", "--seconds", "6", "--quiet"]


def told(place):
    """All that a run's folder tells, but for when and where it was made."""
    run = json.loads((place / "run.json").read_text())
    parts = {name: run[name] for name in run.keys() - {"started", "environment"}}
    raw = {path.name: path.read_bytes() for path in place.iterdir() if path.name != "run.json"}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode() + repr(sorted(raw.items())).encode()).hexdigest()


@pytest.mark.virtual
def test_a_run_in_a_copy_of_a_guest_is_the_run_in_a_guest_of_its_own(tmp_path, monkeypatch):
    copied, copy = [], Original.copy
    monkeypatch.setattr(Original, "copy", lambda *given: copied.append(copy(*given)) or copied[-1])
    where = guests.Guests(guests.prepare(print), 1)
    jobs = {
        traffic: make_job(replace(SPEC, traffic=traffic, scheme="hedera-sa")) for traffic in ("stride:1", "randbij")
    }
    with where.prepared_for(jobs.values()):
        for traffic, job in jobs.items():
            assert run_job(job, tmp_path / "copied" / traffic, where).valid
    assert len(copied) == len(jobs)
    for traffic, job in jobs.items():
        run_job(job, tmp_path / "own" / traffic, where)
        assert told(tmp_path / "own" / traffic) == told(tmp_path / "copied" / traffic)
    assert len(copied) == len(jobs)


@pytest.mark.virtual
def test_one_seed_is_one_result_in_any_folder_beside_other_work_and_seeds_differ(tmp_path):
    """Of the control, too, of which nothing is drawn but the moments at which its flows start."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    found = {}
    try:
        for scheme, seed, folder in (
            ("hedera-sa", 1, "a"), ("hedera-sa", 1, "b/longer/path"), ("nonblocking", 1, "c"), ("nonblocking", 2, "d"),
        ):  # fmt: skip
            place = tmp_path / folder
            place.parent.mkdir(parents=True, exist_ok=True)
            home = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", ""), "UNHEARD": "x" * len(folder) * 1000}
            changed = ["--scheme", scheme, "--seed", seed, "--out", place]
            hedera(*RUN, *changed, check=True, env=os.environ | home, cwd=place.parent)
            found[folder] = told(place)
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert found["a"] == found["b/longer/path"]
    assert found["c"] != found["d"]


@pytest.mark.virtual
def test_a_cable_delays_each_way_of_a_packet_by_which_round_trips_grow(tmp_path):
    """A packet of 1500 bytes takes 1.2 ms of each 10 Mb/s link; the handshake none to speak of."""
    (tmp_path / "flows.csv").write_text("src_host,dst_host,start_s,size_bytes\n0,4,2,1000\n0,1,3,1000\n")
    traffic = ["--traffic", f"file:{tmp_path}/flows.csv", "--no-scale-sizes", "--scheme", "ecmp", "--seconds", "5"]
    hedera(*RUN, *traffic, "--delay", "5", "--out", tmp_path / "out", check=True, cwd=tmp_path)
    far, near = json.loads((tmp_path / "out/run.json").read_text())["flows"]
    assert 12 * 5 < far["rtt_ms"] < 12 * 5 + 10
    assert 4 * 5 < near["rtt_ms"] < 4 * 5 + 5
