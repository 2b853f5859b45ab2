"""The tour of docs/notes/packet-engine.md: its numbers are those of a run, and follow from each other."""

from pathlib import Path

import pytest

from packets.build import version
from packets.tour import EXPERIMENT, journey, table

PAGE = Path(__file__).parents[2] / "docs" / "notes" / "packet-engine.md"
pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture(scope="module")
def found():
    return journey()


def test_the_page_shows_what_the_run_gives(found):
    if version() != "3.37":
        pytest.skip("the page's numbers are those of ns-3 3.37")
    page = PAGE.read_text(encoding="utf-8")
    for row in table(found):
        assert row in page


def test_the_phantom_queue_marked_because_of_what_the_packet_added(found):
    counted = found.step("counted")
    before = counted["phantom_bytes"] - counted["bytes"]
    assert counted["above"]
    assert before <= 1000 < counted["phantom_bytes"]


def test_the_wires_took_what_wires_take(found):
    released, counted, received = found.step("released"), found.step("counted"), found.step("received")
    wire = 990 * 8 + 5000
    assert received["ns"] - counted["ns"] == wire
    assert counted["ns"] - released["ns"] >= wire  # and what waited at the host's port and the switch's
    assert found.ack[-1]["ns"] - found.ack[0]["ns"] == 2 * (40 * 8 + 5000)


def test_the_window_fell_by_half_of_alpha(found):
    before, after = found.step("sent")["cwnd_bytes"], found.after["cwnd_bytes"]
    alpha = found.after["alpha"]
    assert after == pytest.approx((1 - alpha / 2) * before, abs=2)
    g = EXPERIMENT.parameters.g
    assert (1 - g) * found.step("sent")["alpha"] <= alpha <= (1 - g) * found.step("sent")["alpha"] + g


def test_the_pacer_held_the_packet_for_the_tokens_it_lacked(found):
    paced, released = found.step("paced"), found.step("released")
    lacking = paced["queue_bits"] + 8 * 990 - paced["tokens_bits"]
    gained = paced["rate_bps"] * (released["ns"] - paced["ns"]) / 1e9
    assert abs(lacking - gained) <= paced["rate_bps"] * 16e-6  # tokens come once per tick
