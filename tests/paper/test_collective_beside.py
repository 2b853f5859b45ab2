"""Emulated collectives beside the simulator: runs as the emulation writes them, of the simulator's own times."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace as replaced

from paper.collective import command
from paper.collective_beside import beside, config_of, run_of, summary
from results import record
from results.parts import Collective, FlowRecord, PathChange
from simulator.driver import simulate
from tests.results.test_record import run as any_run
from topos.wire import payload_share


def made(traffic="ring:16,16000000", scheme="ecmp", factor=1.0, **changes):
    """A run whose flows take ``factor`` times as long as in the simulator."""
    base = any_run(traffic=traffic, scheme=scheme, seed=1)
    base = replaced(base, spec=replaced(base.spec, link_mbps=1000.0, placement="random", seconds=20.0))
    found = simulate(config_of(base))
    nodes = np.flatnonzero(~found.graph.computes)
    flows = tuple(
        FlowRecord(
            src=int(found.graph.src[node]),
            dst=int(found.graph.dst[node]),
            start=factor * found.start_s[node],
            completion_s=factor * (found.end_s[node] - found.start_s[node]),
            size_bytes=int(found.graph.size_bytes[node]),
            mbps=1.0,
            paths=(PathChange(0.0, int(found.core[node])),),
        )
        for node in nodes
    )
    told = found.collective()
    collective = Collective(
        flows=told.flows, ended=told.flows, completion_s=factor * told.completion_s, steps=told.steps,
        slowest_step=0, slowest_step_s=1.0, longest_flow_s=1.0,
    )  # fmt: skip
    return replaced(base, flows=flows, matrix=(), collective=collective, **changes)


@pytest.fixture
def kept(tmp_path):
    def kept(run, name="one"):
        folder = tmp_path / name
        folder.mkdir()
        record.write(folder / "run.json", run)
        return folder

    return kept


def test_the_simulator_gets_the_same_experiment_on_links_of_what_packets_leave():
    run = made()
    config = config_of(run)
    assert (config.traffic, config.scheme, config.seed, config.placement) == (
        run.traffic,
        run.scheme,
        1,
        "random",
    )
    assert config.link_mbps == pytest.approx(1000 * payload_share(run.spec.mtu))
    assert config.engine == "maxmin"


def test_flows_that_take_twice_as_long_are_said_to(kept):
    rows = beside(run_of(kept(made(factor=2.0))))
    assert len(rows) == 480
    found = summary(rows)
    assert found.ratio == found.median_flow == pytest.approx(2.0, rel=1e-3)
    assert found.low_flow == found.high_flow == pytest.approx(2.0, rel=1e-2)
    assert found.same_path == 1.0
    moved = [replace(row, core=(row.simulated_core + 1) % 4) for row in rows[:240]] + rows[240:]
    assert summary(moved).same_path == 0.5


def test_the_command_writes_runs_flows_and_a_picture(kept, tmp_path):
    folders = [kept(made()), kept(made("all-to-all:16,16000000", factor=1.1), "two")]
    done = CliRunner().invoke(command, ["beside", *map(str, folders), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    with (tmp_path / "out" / "beside.csv").open() as file:
        assert [float(row["ratio"]) for row in csv.DictReader(file)] == pytest.approx([1.0, 1.1], rel=1e-3)
    with (tmp_path / "out" / "beside-flows.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 480 + 240
    assert (tmp_path / "out" / "beside.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"collective": None}, "which is no collective"),
        ({"verdict": "invalid", "reasons": ("slow",)}, "does not count: it is invalid"),
        ({"seed": 2}, "is not what its seed and traffic 'ring:16,16000000' give"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_sentence(kept, changes, words):
    folder = kept(replaced(made(), **changes))
    done = CliRunner().invoke(command, ["beside", str(folder)])
    assert done.exit_code != 0
    assert words in done.output
    assert "Traceback" not in done.output


def test_a_folder_without_a_run_is_named(tmp_path):
    done = CliRunner().invoke(command, ["beside", str(tmp_path / "nothing")])
    assert done.exit_code != 0
    assert f"{tmp_path / 'nothing' / 'run.json'}" in done.output
    (tmp_path / "run.json").write_text("{}")
    done = CliRunner().invoke(command, ["beside", str(tmp_path)])
    assert done.exit_code != 0
    assert "run.json" in done.output
