"""A whole run in a guest: Mininet, Open vSwitch's kernel datapath, iperf, os-ken; no root on the host."""

import json

import pytest

from virtual import errand

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.skipif("not __import__('shutil').which('mnexec')", reason="no Mininet"),
]
RUN = ("run", "--scheme", "ecmp", "--traffic", "stride:4", "--bw", "10", "--seconds", "5", "--json")


def test_a_run_in_a_guest(linux, tmp_path):
    ended = errand.run(linux, RUN, tmp_path / "run", real_s=500)
    assert ended.status == 0, ended.stderr
    assert ended.time_travel
    told, stored = json.loads(ended.stdout), json.loads((tmp_path / "run/run.json").read_text())
    assert told["verdict"] == "ok"
    assert stored["environment"]["datapath"] == "kernel", "built in, not a module"
    assert stored["environment"]["kernel"] == ended.kernel
    assert 0.4 < told["bisection_mbps"] / told["capacity_mbps"] < 0.9, "four flows and more share links"
    assert (tmp_path / "run/controller.txt").exists()


def test_a_command_that_fails_is_no_error_of_the_guest(linux, tmp_path):
    ended = errand.run(linux, ["run", "--scheme", "none", "--traffic", "stride:4"], tmp_path / "run")
    assert ended.status == 2
    assert "none" in ended.stderr
    assert not (tmp_path / "run").exists()
