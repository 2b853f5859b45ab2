"""Files that are nearly right: each is read, or refused with one sentence. Never a traceback, nor a hang."""

import json
import math
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st

from harness.errors import RunFailed, UserMistake
from harness.run.events import parse_events
from harness.run.spec import RunSpec
from harness.sweep.plan import SETTINGS, keep_settings
from harness.sweep.store import RESULT, read_run
from harness.verdict.result import describe
from plots.load import load_sweep
from plots.table import show
from results.record import encode, read
from tests.fuzz.mutations import FUZZ, TRIED, mutated
from tests.harness.verdict.test_result import fat_tree_observation, observation
from tests.plots.sweeps import broken, run_document
from tests.traffic.test_iperf import CAPTURED
from topos.fattree import FatTree
from traffic.bwmng import parse_samples
from traffic.flowfile import read_flows
from traffic.iperf import parse_report
from traffic.matrix import Matrix

TREE = FatTree(4)
CSV = b"src_host,dst_host,size\n0,4,1\n1,5,1\n# a comment\n15,0,2\n"
LOAD_GENERATOR = b"# flows\n10.0.0.2 10.1.0.2 5001 tcp 1 0.0 60.0 0\n10.0.0.3 10.2.0.2 5001 tcp 1 0.0 60.0 0\n"
IPERF = [path.read_bytes()[:1500] for path in sorted(CAPTURED.glob("iperf-*.csv"))]
BWMNG = [path.read_bytes()[:2500] for path in sorted(CAPTURED.glob("bwm-ng-*.csv"))]
LOG = b"".join(
    json.dumps(event, separators=(",", ":")).encode() + b"\n"
    for event in [
        {"t": 1000.0, "event": "start", "scheme": "ecmp", "platform": "os-ken", "platform_version": "4"},
        {"t": 1000.1, "event": "switch", "dpid": 1, "name": "0_0_1", "state": "up"},
        {"t": 1000.2, "event": "ready", "switches": 20},
        {
            "t": 1000.3,
            "event": "flow",
            "key": 1,
            "src": 0,
            "dst": 4,
            "src_port": 20_000,
            "dst_port": 5001,
            "core": 2,
            "reason": "hashed",
        },
        {"t": 1000.4, "event": "reroute", "key": 1, "core": 3, "round": 1},
        {
            "t": 1000.5,
            "event": "round",
            "round": 1,
            "flows": 32,
            "large": 16,
            "placed": 4,
            "changed": 4,
            "polled_s": 0.01,
            "compute_s": 0.001,
            "install_s": 0.02,
            "large_flows": [],
        },
        {"t": 1000.6, "event": "error", "message": "boom"},
    ]
)
RUNS = [
    json.dumps(document, separators=(",", ":")).encode() for document in (run_document(seconds=6), broken(seconds=6))
]
CONTROL = RunSpec("nonblocking", "stride:1", seconds=6)
BROKEN = RunSpec("ecmp", "stride:4", seconds=6, fail=("switch:4_1_1@2",))


def one_sentence(error):
    text = str(error)
    assert text.strip()
    assert "\n" not in text
    assert not re.search(r"[\x00-\x1f\x7f]", text), "nothing that a terminal would obey"
    assert len(text) < 600


@FUZZ
@given(content=mutated(CSV, LOAD_GENERATOR))
def test_flow_files(box, content):
    path = box / "flows"
    path.write_bytes(content)
    TRIED["flow files"] += 1
    try:
        matrix = read_flows(path, TREE)
    except ValueError as error:
        one_sentence(error)
    else:
        assert isinstance(matrix, Matrix)
        assert matrix.src.max() < 16


@FUZZ
@given(content=mutated(*IPERF))
def test_what_iperf_wrote(content):
    TRIED["iperf reports"] += 1
    report = parse_report(content.decode(errors="replace"))
    for flow in report.flows.values():
        assert math.isfinite(flow.mbps)
        assert all(map(math.isfinite, flow.per_second_mbps))


@FUZZ
@given(content=mutated(*BWMNG))
def test_what_bwm_ng_wrote(content):
    TRIED["bwm-ng samples"] += 1
    try:
        found = parse_samples(content.decode(errors="replace"))
    except ValueError as error:
        one_sentence(error)
    else:
        for series in found.values():
            assert all(map(math.isfinite, [*series.t, *series.out_mbps, *series.in_mbps]))


@FUZZ
@given(content=mutated(LOG))
def test_what_a_controller_logged(content):
    TRIED["controller logs"] += 1
    events = parse_events(content)
    for spec, seen in ((CONTROL, observation()), (BROKEN, fat_tree_observation(BROKEN))):
        seen.events = events
        try:
            encode(describe(spec, seen))
        except (RunFailed, ValueError) as error:
            one_sentence(error)


@FUZZ
@given(content=mutated(*RUNS))
def test_results(box, content):
    TRIED["results"] += 1
    folder = box / "sweep" / "stride_4" / "ecmp" / "trial-1"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESULT).write_bytes(content)
    read_run(folder)
    try:
        read(folder / RESULT)
    except ValueError as error:
        one_sentence(error)
    show(load_sweep(box / "sweep").runs)


BASE = RunSpec("ecmp", "stride:1", platform="os-ken", seconds=10)


def settings_of_a_sweep():
    with TemporaryDirectory() as folder:
        keep_settings(BASE, Path(folder))
        return (Path(folder) / SETTINGS).read_bytes()


UNCHANGED = settings_of_a_sweep()


@FUZZ
@example(content=UNCHANGED)
@given(content=mutated(UNCHANGED))
def test_settings_of_a_sweep(box, content):
    TRIED["sweep settings"] += 1
    (box / SETTINGS).write_bytes(content)
    try:
        keep_settings(BASE, box)
    except UserMistake as error:
        one_sentence(error)
        assert content != UNCHANGED
    assert (box / SETTINGS).read_bytes() == content


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@FUZZ
@given(data=st.data())
def test_results_with_any_value_anywhere(box, data):
    """At any depth: a member of the document is replaced by something else that is JSON."""
    TRIED["results"] += 1
    document = broken(seconds=6)
    at = document
    while True:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(JSON)
    path = box / "run.json"
    path.write_text(json.dumps(document))
    try:
        run = read(path)
    except ValueError as error:
        one_sentence(error)
    else:
        show([run])
