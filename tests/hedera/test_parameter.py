"""What a field says of its parameter, and what follows from it."""

import re
from dataclasses import dataclass
from math import inf, nan

import pytest

from hedera.parameter import check, narrowed, option_of, parameter, parameters_of


@dataclass(frozen=True)
class Wide:
    rate_mbps: float = parameter(10.0, "Rate of a link", unit="Mb/s", above=0, option="--bw")
    seconds: float = parameter(5.0, least=3, most=60)
    share: float = parameter(0.1, least=0, below=1)
    keep: float = parameter(1.0, above=0, most=1)
    word: str = parameter("one", choices=("one", "two"))
    missing: int | None = parameter(None, least=1)
    switch: bool = parameter(False)
    plain: int = 7

    def __post_init__(self):
        check(self)


@dataclass(frozen=True)
class Narrow(Wide):
    rate_mbps: float = narrowed(Wide, "rate_mbps", 20.0, above=None, least=1)


EPSILON = 1e-9


@pytest.mark.parametrize(
    ("name", "within", "beyond", "words"),
    [
        ("rate_mbps", [EPSILON], [0.0, inf, nan], "--bw must be above 0 Mb/s, not "),
        ("seconds", [3, 60], [3 - EPSILON, 60 + EPSILON], "--seconds must be at least 3 and at most 60, not "),
        ("share", [0, 1 - EPSILON], [-EPSILON, 1.0], "--share must be at least 0 and below 1, not "),
        ("keep", [EPSILON, 1], [0, 1 + EPSILON], "--keep must be above 0 and at most 1, not "),
        ("word", ["two"], ["three"], "--word must be one of one, two, not 'three'"),
        ("missing", [None, 1], [0], "--missing must be at least 1, not 0"),
        ("plain", [-9], [], ""),
    ],
)
def test_what_is_within_its_range_is_taken_and_what_is_outside_refused(name, within, beyond, words):
    for value in within:
        Wide(**{name: value})
    for value in beyond:
        with pytest.raises(ValueError, match=re.escape(words)):
            Wide(**{name: value})


def test_a_backend_narrows_a_range_and_keeps_the_rest():
    known = parameters_of(Narrow)["rate_mbps"]
    told = (known.help, known.unit, known.option, known.allowed)
    assert told == ("Rate of a link", "Mb/s", "--bw", "at least 1 Mb/s")
    assert Narrow().rate_mbps == 20.0
    Wide(rate_mbps=0.5)
    with pytest.raises(ValueError, match=r"--bw must be at least 1 Mb/s, not 0\.5"):
        Narrow(rate_mbps=0.5)


def test_options_leave_units_out():
    names = ("link_delay_us", "mark_kb", "tick_s", "segment_bytes", "g")
    assert [option_of(name) for name in names] == ["--link-delay", "--mark", "--tick", "--segment-bytes", "--g"]
