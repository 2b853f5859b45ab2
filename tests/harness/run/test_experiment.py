"""Real runs: Mininet, Open vSwitch, iperf, bwm-ng and a real controller, at rates any machine can carry."""

import json
import os
import re
import signal
import subprocess

import pytest

from harness.network import fabric as network_fabric
from harness.network import netlink, shaping
from harness.network.cleanup import list_leftovers, run_folder, sole_use
from harness.network.cpulimit import find_groups_left
from harness.network.fabric import Bridge, Fabric, FabricOptions, OpenVSwitch
from harness.network.machine import has_kernel_datapath, time_travels
from harness.network.processes import Children, run_program, wait_until
from plots.explorer import describe_paths
from record.errors import RunFailed
from record.run import read
from simulator.config import Config
from simulator.driver import simulate
from tests.commands import HEDERA, PATIENCE_S, PROJECT, hedera, ran
from tests.harness.real_runs import LONG, footprint, hedera_run, result_of, working_for
from topos.fattree import FatTree

pytestmark = [pytest.mark.root, pytest.mark.alone]


@pytest.mark.parametrize("scheme", ["nonblocking", "hedera-gff", pytest.param("hedera-sa", marks=pytest.mark.real)])
def test_a_run_of_each_kind(tmp_path, clean, scheme):
    done = hedera_run(tmp_path / "run", scheme=scheme, seconds=12, bw=10)
    result = json.loads(done.stdout)
    # Where time travels no machine is slow: a link that moved flows do not fill yet tells of TCP, and nothing else may.
    reasons = [each for each in result["reasons"] if not (time_travels() and "have to be full" in each)]
    assert reasons == [], done.stderr
    assert done.returncode == (result["verdict"] != "ok")
    assert result["verdict"] == "ok" or result["reasons"]
    assert result == json.loads((tmp_path / "run" / "run.json").read_text())
    assert result["scheme"] == scheme
    assert len(result["flows"]) == 16
    share = result["bisection_mbps"] / result["capacity_mbps"]
    assert share <= 1.01
    if not scheme.startswith("hedera"):  # whose flows need a while to find their rate on a new path
        # TCP comes this near to max-min fairness only if packets are lost in the links' queues and nowhere else
        assert result["bisection_mbps"] > 0.92 * result["maxmin_mbps"]
    if scheme == "nonblocking":
        assert share > 0.9
    else:
        assert all(flow["paths"] for flow in result["flows"])
        assert len(result["links"]) == 20 * 4 + 16
    if scheme.startswith("hedera"):
        assert share > 0.5
        assert result["rounds"]
        assert any(len(flow["paths"]) > 1 for flow in result["flows"]), "no flow was moved"
    assert result["environment"]["platform"] == result["spec"]["platform"]


def test_switches_with_one_hash_use_half_of_the_cores_as_the_simulator_says(tmp_path, clean):
    done = hedera_run(tmp_path / "run", "--hash", "unsalted:destination", traffic="published:stride4", seconds=4)
    run = read(tmp_path / "run/run.json")
    assert run.scheme == "ecmp@unsalted:destination", done.stderr
    simulated = simulate(Config(run.scheme, run.traffic, seed=run.seed, seconds=1.0))
    cores = [[change.core for change in flow.paths] for flow in run.flows]
    assert cores == [[core] for core in simulated.core.tolist()]
    assert {core for (core,) in cores} == {0, 3}, "by its i-th port both times"
    assert describe_paths(run).startswith(
        "first paths by unsalted:destination; flows used 2 of 4 cores; acknowledgements"
    )


def test_the_tcp_of_2010_is_asked_for(tmp_path, clean):
    """Each option alone moves what a seed gives: the kernel has heard of it."""
    asked = ("--queue", "8", "--bw", "100")
    options = ((), ("--no-tail-loss-probes",), ("--initial-window", "3"))
    given = set()
    for number, more in enumerate(options):
        hedera_run(tmp_path / f"{number}", *asked, *more, scheme="ecmp", traffic="published:stride4", seconds=3)
        given.add(read(tmp_path / f"{number}/run.json").payload_mbps)
    assert len(given) == len(options)


# Whether both platforms do is asked without a network (`tests.controllers.test_hedera_loop`).
@pytest.mark.parametrize("scheme", ["ecmp", "hedera-gff"])
def test_acknowledgements_go_back_over_their_datas_cables(tmp_path, clean, scheme):
    done = hedera_run(
        tmp_path / "run", "--ack-paths", "with-data", scheme=scheme, traffic="published:stride4", seconds=8
    )
    run = read(tmp_path / "run/run.json")
    assert run.verdict == "ok", done.stderr
    moved = 0
    for flow in run.flows:
        assert [path.core for path in flow.ack_paths] == [path.core for path in flow.paths]
        moved += len(flow.paths) - 1
    assert (moved > 0) == (scheme != "ecmp")
    # What arrives over a cable of data is acknowledged over it: as the switches count.
    data = {port: mbps for port, mbps in run.links.items() if mbps > 0.5 * run.spec.link_mbps}
    assert data
    assert {port for port, mbps in run.links.items() if mbps > 0.01 * run.spec.link_mbps} <= data.keys() | {
        port for port, streams in run.ack_streams.items() if streams > 0
    }


def test_a_hand_written_file_and_a_sequential_shuffle(tmp_path, clean):
    (tmp_path / "m.csv").write_text("src_host,dst_host\n0,15\n3,12\n3,9\n")
    done = hedera_run(tmp_path / "file", traffic=f"file:{tmp_path / 'm.csv'}", seconds=3)
    assert [(f["src"], f["dst"]) for f in json.loads(done.stdout)["flows"]] == [(0, 15), (3, 12), (3, 9)]
    done = hedera_run(tmp_path / "shuffle", traffic="shuffle:60000", scheme="ecmp", seconds=20, bw=5)
    result = json.loads(done.stdout)
    flows = result["flows"]
    assert sorted((f["src"], f["dst"]) for f in flows) == [(a, b) for a in range(16) for b in range(16) if a != b]
    # Every pair of hosts reaches each other; a transfer ends when all has arrived, and the next one starts then: 14
    # have when the last one starts.
    least_s = 14 * 60_000 * 8e-6 / 5
    for host in range(16):
        starts = [f["start"] for f in flows if f["src"] == host]
        assert max(starts) - min(starts) > least_s, "one at a time"
    carried = [f["mbps"] * f["seconds"] for f in flows]
    assert sum(carried) == pytest.approx(240 * 60000 * 8e-6, rel=1e-3), "all of it arrived"
    assert result["turns"]["shuffle_s"] > least_s


def test_a_collective_goes_where_the_simulator_says_and_ends_with_its_last_flow(tmp_path, clean):
    done = hedera_run(tmp_path / "run", traffic="ring:16,1000000", scheme="ecmp", seconds=60, bw=5)
    result = json.loads(done.stdout)
    assert (result["verdict"], result["reasons"]) == ("ok", []), done.stderr
    assert result["progress"] > 0.85
    found = result["collective"]
    assert found["ended"] == found["flows"] == len(result["flows"]) == 480
    assert found["steps"] == 30
    assert found["completion_s"] > 30 * 62_500 * 8e-6 / 5
    assert result["window_s"][1] < found["completion_s"] < 60, "it ended long before --seconds"
    run = read(tmp_path / "run/run.json")
    settings = {name: getattr(run.spec, name) for name in ("k", "link_mbps", "seconds", "placement")}
    simulated = simulate(Config(run.scheme, run.traffic, seed=run.seed, tick_s=1e-4, engine="maxmin", **settings))
    cores = simulated.core[~simulated.graph.computes].tolist()
    first = [[change.core for change in flow.paths if change.t <= flow.start][-1:] for flow in run.flows]
    assert all(core in ([], [other]) for core, other in zip(first, cores, strict=True)), "paths are the seed's"


@pytest.fixture
def fabric(monkeypatch):
    """A network without a controller, whose switches are made a few at a time, as in a large one."""
    monkeypatch.setattr(network_fabric, "PORTS_AT_ONCE", 12)
    options = FabricOptions(shaping.Shape(5))
    with (
        sole_use(),
        run_folder() as sockets,
        Children() as children,
        Fabric(FatTree(4), options, sockets, children) as built,
    ):
        built.build()
        built.connect(6653)
        yield built


def test_a_port_without_its_limit_is_named(fabric):
    fabric.verify()
    run_program(["tc", "qdisc", "del", "dev", "0_0_1-eth3", "root"], namespace=fabric.open_vswitch.namespace)
    with pytest.raises(RunFailed, match=r"not limited as they should be: 0_0_1-eth3 \(has noqueue, no limit\)"):
        fabric.verify()
    wrong = shaping.Shape(50).commands("0_0_1-eth3")
    run_program(["tc", "-batch", "-"], namespace=fabric.open_vswitch.namespace, stdin_text=wrong)
    with pytest.raises(RunFailed, match=r"0_0_1-eth3 \(limited to 50 Mb/s\)"):
        fabric.verify()


@pytest.fixture
def foreign_switch(tmp_path):
    """An Open vSwitch of somebody else's, with a bridge between two interfaces, in a namespace of its own."""
    run_program(["ip", "netns", "add", "not-ours"])
    theirs = netlink.hold_namespace()
    try:
        names = ("s1-eth1", "type", "veth", "peer", "name", "s1-eth2")
        run_program(["ip", "link", "add", "name", *names], namespace=theirs)
        with Children() as children:
            switch = OpenVSwitch(theirs, tmp_path / "foreign")
            switch.start(children)
            switch.configure([Bridge("s1", 1, {1: "s1-eth1"})], "tcp:127.0.0.1:6653")
            yield switch
    finally:
        netlink.release_namespace(theirs)
        run_program(["ip", "netns", "del", "not-ours"])


def test_foreign_bridges_namespaces_and_processes_are_left_alone(tmp_path, foreign_switch, clean):
    foreign = subprocess.Popen(["sleep", "100"])
    # The names of Mininet's own switches, and of a bridge of ours, in the namespace everybody uses.
    run_program(["ip", "link", "add", "name", "s1-eth1", "type", "veth", "peer", "name", "s1-eth2"])
    run_program(["ip", "link", "add", "name", "0_0_1", "type", "veth", "peer", "name", "0_0_2"])
    try:
        before = foreign_switch.vsctl("show")
        done = hedera_run(tmp_path / "run", seconds=3, scheme="nonblocking", bw=20)
        assert done.returncode == 0, json.loads(done.stdout)["reasons"]
        assert hedera("clean", check=True).stdout == "nothing to remove\n"
        assert foreign.poll() is None
        assert foreign_switch.switchd.poll() is None
        assert foreign_switch.vsctl("show") == before
        assert "not-ours" in run_program(["ip", "netns"])
        links = run_program(["ip", "-br", "link"])
        assert "s1-eth1" in links
        assert "0_0_1" in links
    finally:
        run_program(["ip", "link", "del", "s1-eth1"])
        run_program(["ip", "link", "del", "0_0_1"])
        foreign.kill()
        foreign.wait()


@pytest.fixture
def run_at(tmp_path):
    """A run of a stage's own length, that has come to the stage."""
    started = []

    def start(stage, scheme, time="auto", *options):
        command = [HEDERA, "run", "--scheme", scheme, "--traffic", "stride:4", "--bw", "2", "--time", time]
        command += ["--seconds", "3" if stage == "judging" else "30", "--out", tmp_path / "run", *options]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        started.append(process)
        for line in process.stderr:
            if line == f"{stage} ...\n":
                return process
        pytest.fail(f"it did not come to {stage}")

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


def only_in_real_time(test):
    """For what only real time has. Where this kernel has none, tests/kernel runs it in one that has."""
    without = pytest.mark.skipif(not has_kernel_datapath(), reason="this kernel has no Open vSwitch")
    return pytest.mark.real(without(test))


@pytest.mark.parametrize("stage", ["building", "sending", pytest.param("judging", marks=LONG)])
def test_ctrl_c_leaves_nothing_and_stores_nothing(tmp_path, clean, run_at, stage):
    process = run_at(stage, "hedera-gff")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 130
    assert "everything is torn down" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


@only_in_real_time  # in virtual time nothing is tied to the harness: the machine ends with it
def test_kill_9_of_the_user_s_process_leaves_nothing(tmp_path, clean, run_at):
    process = run_at("sending", "ecmp", "real")
    process.kill()
    process.communicate()
    assert wait_until(lambda: footprint() == clean, PATIENCE_S)


@only_in_real_time
def test_kill_9_of_root_s_leaves_what_the_next_start_removes(tmp_path, run_at):
    before = footprint()
    process = run_at("sending", "ecmp", "real")
    os.kill(working_for(process), signal.SIGKILL)
    assert "the process that is root has ended" in process.communicate()[1]
    assert process.returncode == 1
    # no process, interface or namespace outlives the harness; a folder and cgroups wait for the next start
    assert wait_until(lambda: footprint()["processes"] == before["processes"], PATIENCE_S)
    assert footprint()["links"] == before["links"]
    assert len(list_leftovers()) == 1
    assert json.loads(hedera_run(tmp_path / "run", seconds=3).stdout)["flows"]
    assert footprint() == before


@only_in_real_time
def test_host_cpu_is_in_the_result_of_a_run(tmp_path, clean):
    run = result_of(tmp_path / "run", "--host-cpu", "0.0625", scheme="nonblocking")
    assert run["spec"]["host_cpu"] == 0.0625
    quota_us, period_us = map(int, run["environment"]["host_cpu_max"].split())
    assert quota_us / period_us == pytest.approx(0.0625 * run["environment"]["cores"], rel=0.01)
    assert run["environment"]["hosts_limited"] == 16
    held = run.get("throttled_s", {})
    assert any("--host-cpu held back" in remark for remark in run.get("remarks", ())) is bool(held)


@only_in_real_time
def test_host_cpu_leaves_no_groups_after_ctrl_c(tmp_path, clean, run_at):
    process = run_at("sending", "ecmp", "real", "--host-cpu", "0.0625")
    [group] = find_groups_left().values()
    assert len([path for path in group.iterdir() if path.is_dir()]) == 16
    assert (group / "0_0_2" / "cgroup.procs").read_text().split()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 130, said
    assert find_groups_left() == {}


def test_of_two_runs_at_once_one_waits(tmp_path, clean):
    """Neither is ended by the other, and each is judged as if it had been alone."""
    command = [HEDERA, "run", "--scheme", "nonblocking", "--traffic", "stride:4", "--bw", "2", "--seconds", "3"]
    both = [
        subprocess.Popen(
            [*command, "--out", tmp_path / name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for name in "ab"
    ]
    said = [process.communicate(timeout=PATIENCE_S) for process in both]
    assert all("Mb/s" in out for out, _ in said), said
    waited = [told for _, told in said if re.search(r"waiting for process \d+ \(nonblocking on", told)]
    assert len(waited) == 1, "the first was waited for by the second"


def test_the_readme_s_command_resumes_and_draws(tmp_path, clean):
    command = [PROJECT / "test.sh", 1, 3, "--patterns", "stride:1", "--schemes", "nonblocking,ecmp", "--bw", 2]
    command += ["--results", tmp_path, "--name", "short"]
    first = ran(*command)
    assert first.returncode == 0, first.stderr
    assert "stride:1" in first.stdout
    assert (tmp_path / "short" / "figures" / "figure9.png").stat().st_size > 10_000
    runs = {path: path.stat() for path in (tmp_path / "short").glob("*/*/trial-*/*")}
    second = ran(*command)
    assert second.returncode == 0, second.stderr
    assert "2 already done" in second.stderr
    assert second.stdout == first.stdout
    assert {path: path.stat() for path in (tmp_path / "short").glob("*/*/trial-*/*")} == runs, "nothing was run"
