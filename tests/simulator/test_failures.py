"""Failures in the simulator: every scheme leaves what is broken, and the ideal engine reaches the bound."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from hedera.schemes import SCHEMES
from simulator.cli import simulate as command
from simulator.config import Config
from simulator.driver import simulate
from topos.fattree import FatTree
from topos.links import parse, path_links

TREE = FatTree(4)
FAT_TREE_SCHEMES = [name for name, scheme in SCHEMES.items() if name not in ("nonblocking", "spray", "planned")]


@pytest.mark.parametrize("engine", ["aimd", "maxmin"])
@pytest.mark.parametrize("scheme", FAT_TREE_SCHEMES)
@pytest.mark.parametrize("fault", ["switch:4_1_1@6", "link:0_2_1-4_1_1@6", "link:1_0_1-1_2_1@6", "switch:2_3_1@6"])
def test_every_scheme_leaves_what_is_broken(scheme, engine, fault):
    result = simulate(Config(scheme, "stride:4", seconds=12.0, engine=engine, fail=(fault,)))
    down = parse(fault, TREE, 12).links(TREE)
    assert not np.isin(path_links(TREE, result.src, result.dst, result.core), list(down)).any()
    (failure,) = result.failures
    assert failure.cut_off == 0
    before, after = result.phases
    assert before.best_mbps == pytest.approx(16_000)
    assert 12_000 - 1e-6 <= after.best_mbps < 16_000
    assert after.mbps <= after.best_mbps + 1e-6


def test_hedera_finds_the_best_that_is_left_and_again_when_it_is_mended():
    result = simulate(Config("hedera-gff", "stride:4", seconds=30.0, engine="maxmin", fail=("switch:4_1_1@12:20",)))
    assert [(phase.mbps, phase.best_mbps) for phase in result.phases] == [
        (16_000, 16_000),
        (pytest.approx(12_000), pytest.approx(12_000)),
        (16_000, 16_000),
    ]


def test_a_host_that_is_cut_off_sends_nothing_until_it_is_mended():
    config = Config("ecmp", "stride:4", seconds=12.0, fail=("switch:0_0_1@4:8",))
    result = simulate(config)
    broken, mended = result.failures
    assert (broken.affected, broken.cut_off) == (4, 4)
    assert mended.mended
    assert result.phases[1].mbps <= 12_000
    assert result.phases[2].mbps > result.phases[1].mbps


def test_flows_to_come_go_round_it_too():
    arrivals = "poisson:exponential:10000000,0.24 to randbij"
    fail = ("switch:4_1_1@3:6",)
    result = simulate(Config("spanning-tree", arrivals, seconds=10.0, engine="maxmin", fail=fail))
    between_pods = result.src // 4 != result.dst // 4
    during = between_pods & (result.start_s > 3) & (result.end_s < 6)
    assert during.sum() > 5
    assert (result.core[during] != 0).all()
    later = between_pods & (result.start_s > 6)
    assert (result.core[later] == 0).all()
    assert [phase.best_mbps for phase in result.phases] == [None] * 3, "flows that come and go have no such bound"


def test_the_control_has_none_of_these_links():
    config = Config("nonblocking", "stride:4", seconds=6.0, engine="maxmin", fail=("switch:0_0_1@2",))
    result = simulate(config)
    assert result.failures == ()
    assert [phase.mbps for phase in result.phases] == [16_000]


def test_without_failures_nothing_is_different():
    config = {"scheme": "hedera-gff", "traffic": "published:rand0", "seconds": 12.0}
    plain, late = (simulate(Config(**config, fail=fail)) for fail in ((), ("switch:4_1_1@11.9",)))
    assert np.array_equal(plain.total_mbps[:11_900], late.total_mbps[:11_900])
    assert plain.failures == plain.phases == ()


def test_the_command_takes_and_checks_them():
    options = ["--scheme", "ecmp", "--traffic", "stride:4", "--seconds", "6", "--engine", "maxmin", "--json"]
    found = json.loads(CliRunner().invoke(command, [*options, "--fail", "switch:4_1_1@2:4"]).stdout)
    assert [failure["t"] for failure in found["failures"]] == [2, 4]
    assert len(found["phases"]) == 3
    assert "failures" not in json.loads(CliRunner().invoke(command, options).stdout)
    wrong = CliRunner().invoke(command, [*options, "--fail", "link:0_0_1-0_0_2@2"])
    assert wrong.exit_code == 2
    assert "0_0_2 is a host" in wrong.stderr
