import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traffic.bwmng import parse_samples, sample_command

CAPTURED = Path(__file__).parent / "captured"


def test_version_0_6_3():
    """Captured from two veth ports; 100 pings of 1,442 bytes a second left each."""
    series = parse_samples((CAPTURED / "bwm-ng-0.6.3.csv").read_text())
    assert list(series) == ["0_0_1-eth2", "0_0_1-eth21"]
    for one in series.values():
        assert one.t.shape == one.out_mbps.shape == one.in_mbps.shape == (4,)
        assert one.t[1] - one.t[0] == pytest.approx(1, abs=0.01)
        assert one.out_mbps == pytest.approx([1.1436] * 4, abs=0.003)
        assert (one.in_mbps < 0.002).all()
    assert series["0_0_1-eth2"].out_mbps[0] == pytest.approx(142_934 * 8 / 1e6)


def test_version_0_6_1():
    """Made by hand from its format: whole seconds, 16 columns, the last line cut off."""
    series = parse_samples((CAPTURED / "bwm-ng-0.6.1.csv").read_text())
    assert series["0_0_1-eth2"].out_mbps == pytest.approx([10.0, 9.992])
    assert series["0_0_1-eth2"].in_mbps == pytest.approx([0.264, 0.264])
    assert series["0_0_1-eth2"].t.tolist() == [1369812346, 1369812347]
    assert series["0_0_1-eth4"].out_mbps == pytest.approx([5.0])


def test_the_first_sample_has_no_second_before_it():
    first = "".join((CAPTURED / "bwm-ng-0.6.3.csv").read_text().splitlines(keepends=True)[:3])
    series = parse_samples(first)
    assert all(one.t.size == 0 for one in series.values())
    assert parse_samples("") == {}


@given(cut=st.integers(0, 2000))
def test_cutting_the_output_anywhere_loses_the_end_only(cut):
    whole = (CAPTURED / "bwm-ng-0.6.3.csv").read_text()
    full, part = parse_samples(whole), parse_samples(whole[:cut])
    for interface, one in part.items():
        assert one.out_mbps.tolist() == full[interface].out_mbps[: one.t.size].tolist()


def test_alien_lines_are_named():
    with pytest.raises(ValueError, match="line 1 is not a bwm-ng sample: 'failed to open outfile'"):
        parse_samples("failed to open outfile\n")


def test_command_selects_exact_names():
    command = sample_command(["0_0_1-eth2", "0_0_1-eth4"], Path("out.csv"))
    assert command[command.index("-I") + 1] == "0_0_1-eth2,0_0_1-eth4"
    assert command[command.index("-F") + 1] == "out.csv"


@pytest.mark.skipif(shutil.which("bwm-ng") is None, reason="bwm-ng is not installed")
def test_the_installed_bwm_ng_takes_the_command_and_keeps_its_samples_on_sigterm(tmp_path):
    output = tmp_path / "samples.csv"
    with subprocess.Popen(sample_command(["lo"], output)) as sampler:
        time.sleep(1.6)
        sampler.terminate()
        assert sampler.wait(timeout=120) == 0
    series = parse_samples(output.read_text())
    assert list(series) == ["lo"]
    assert series["lo"].t.size == 1
