"""Emulated runs beside the simulator's."""

import msgspec
import pytest

from paper.completion import beside, config_of
from results.parts import Completion
from results.record import encode, read
from simulator.config import Config
from tests.results.test_record import run

BASE = Config("ecmp", "random", tick_s=0.001)
SMALL = Completion(
    size_class="small", flows=9, cut_off=1, known_share=0.5, mean_s=0.1, median_s=0.1, p95_s=0.2, p99_s=0.2,
    mean_slowdown=3.5, median_slowdown=2.0, p95_slowdown=6.0, p99_slowdown=7.0,
)  # fmt: skip
SETTINGS = msgspec.structs.replace(run().spec, scale_sizes=False)
RUN = run(
    scheme="hedera-sa", traffic="poisson:web-search,0.5", spec=SETTINGS, bisection_mbps=80, flows=(),
    completion=(SMALL,),
)  # fmt: skip


def write_run(path, **changes):
    """A run.json, by the writer that all runs have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(msgspec.structs.replace(RUN, **changes)))
    return path


def test_the_settings_of_a_run_are_those_of_its_simulation(tmp_path):
    config = config_of(read(write_run(tmp_path / "run.json", seed=7)), 0.01, "maxmin")
    assert (config.scheme, config.traffic, config.seed) == ("hedera-sa", "poisson:web-search,0.5", 7)
    assert (config.k, config.link_mbps, config.seconds, config.interval_s) == (4, 10, 30, 2)
    assert (config.scale_sizes, config.increase_mbps) == (False, pytest.approx(1.2))
    assert (config.engine, config.tick_s) == ("maxmin", 0.01)


def test_the_trials_of_a_sweep_are_one_point_and_what_is_no_such_traffic_is_passed_over(tmp_path):
    for trial, mean in ((1, 3.0), (2, 5.0), (3, 4.0)):
        one = msgspec.structs.replace(SMALL, mean_slowdown=mean)
        write_run(tmp_path / f"a/trial-{trial}/run.json", trial=trial, seed=trial, completion=(one,))
    write_run(tmp_path / "a/trial-4/run.json", trial=4, verdict="invalid", reasons=("too slow",))
    write_run(tmp_path / "b/run.json", traffic="stride:4 + poisson:fixed:10000,0.05")
    write_run(tmp_path / "c/run.json", traffic="poisson:web-search,0.3", scheme="ecmp")
    cells = [cell for cell in beside([tmp_path], BASE) if cell["emulated"]]
    assert [(one["load"], one["scheme"], one["mean_slowdown"], one["flows"]) for one in cells] == [
        (0.5, "hedera-sa", 4.0, 27),
        (0.3, "ecmp", 3.5, 9),
    ]
    assert (cells[1]["interval_s"], cells[1]["detect_s"]) == (None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"traffic": "stride:1"},
        {"traffic": "stride:1 + poisson:web-search,0.5"},
        {"traffic": "poisson:web-search,0.5 to stride:1"},
        {"verdict": "invalid", "reasons": ("too slow",)},
    ],
)
def test_a_folder_that_says_nothing_about_loads_is_refused(tmp_path, changes):
    write_run(tmp_path / "run.json", **changes)
    with pytest.raises(ValueError, match=r"has no valid run of poisson:SIZES,LOAD alone"):
        beside([tmp_path], BASE)
