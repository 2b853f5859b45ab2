"""Real runs in which a program that the harness needs dies or hangs: a reason, soon, and nothing left behind."""

import json
import os
import sys

import pytest

from harness.network import fabric as network_fabric
from harness.network import shaping
from harness.network.cleanup import run_folder, sole_use
from harness.network.fabric import Fabric, FabricOptions
from harness.network.processes import Children
from record.errors import RunFailed
from tests.commands import HEDERA, PATIENCE_S, ran
from tests.fakes import machine_with
from tests.harness.real_runs import LONG
from topos.network import NonBlocking

pytestmark = [pytest.mark.root, pytest.mark.alone]

HANG = f"exec sleep {2 * PATIENCE_S}"


def reasons_of(tmp_path, before):
    """Why a run is invalid, which is over long before what hangs in it is."""
    command = [*before, HEDERA, "run", "--scheme", "ecmp", "--traffic", "stride:4", "--bw", "2", "--seconds", "3"]
    done = ran(*command, "--platform", "os-ken", "--out", tmp_path / "run", "--json")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    result = json.loads(done.stdout)
    assert result["verdict"] == "invalid", result["reasons"]
    assert json.loads((tmp_path / "run" / "run.json").read_text()) == result
    return "; ".join(result["reasons"])


@pytest.mark.parametrize(
    ("name", "does", "words"),
    [
        ("ovsdb-tool", "exit 1", "ovsdb-tool create"),
        ("ip", 'case "$*" in *-batch*) exit 1;; esac; exec $real "$@"', "ip -batch - failed"),
        ("iperf", "exit 1", "ended at once (status 1)"),
        pytest.param("bwm-ng", "exit 1", "bwm-ng", marks=LONG),
        ("bwm-ng", HANG, "bwm-ng"),
    ],
)
def test_a_program_that_dies_or_hangs(tmp_path, clean, name, does, words):
    assert words in reasons_of(tmp_path, machine_with(tmp_path, **{name: does}))


@pytest.mark.parametrize("daemon", ["ovsdb-server", "ovs-vswitchd"])
@pytest.mark.parametrize(
    ("does", "words"), [("exit 3", "ended at once (status 3)"), (HANG, "did not open its socket within 1 s")]
)
def test_an_open_vswitch_that_dies_or_hangs(tmp_path, clean, monkeypatch, daemon, does, words):
    (tmp_path / daemon).write_text(f"#!/bin/sh\n{does}\n")
    (tmp_path / daemon).chmod(0o755)
    monkeypatch.setattr(network_fabric, "PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(network_fabric, "DAEMON_SOCKET_S", 1.0)
    with (
        pytest.raises(RunFailed) as failure,
        sole_use(),
        run_folder() as sockets,
        Children() as children,
        Fabric(NonBlocking(4), FabricOptions(shaping.Shape(5)), sockets, children) as net,
    ):
        net.build()
        net.connect(6653)
    assert str(failure.value) == f"{daemon} {words}"


def test_a_run_stopped_by_its_deadline_leaves_nothing(tmp_path, clean):
    """A real run, hung while it sends."""
    program = (
        "from record.spec import RunSpec\nfrom harness.run import experiment\n"
        "experiment.compute_longest_s = lambda spec: 8.0\n"
        "spec = RunSpec('ecmp', 'stride:4', seconds=60, link_mbps=2, platform='os-ken').for_its_traffic()\n"
        "experiment.run_experiment(spec, lambda raw: print((raw / 'seen.json').read_text()))\n"
    )
    done = ran(sys.executable, "-c", program, check=True)
    assert json.loads(done.stdout)["failed"] == "the run did not end within 8 s: something hangs"
