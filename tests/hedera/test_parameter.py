"""What a field says of its parameter, and what follows from it."""

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
    "change",
    [
        {"rate_mbps": EPSILON},
        {"seconds": 3},
        {"seconds": 60},
        {"share": 0},
        {"share": 1 - EPSILON},
        {"keep": EPSILON},
        {"keep": 1},
        {"word": "two"},
        {"missing": None},
        {"missing": 1},
        {"plain": -9},
    ],
)
def test_what_is_within_its_range_is_taken(change):
    Wide(**change)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rate_mbps": 0.0}, "--bw must be above 0 Mb/s, not 0"),
        ({"rate_mbps": inf}, "--bw must be above 0 Mb/s, not inf"),
        ({"rate_mbps": nan}, "--bw must be above 0 Mb/s, not nan"),
        ({"seconds": 3 - EPSILON}, "--seconds must be from 3 to 60, not 2.999999999"),
        ({"seconds": 60 + EPSILON}, "--seconds must be from 3 to 60, not 60.000000001"),
        ({"share": -EPSILON}, "--share must be from 0 to below 1, not -1e-09"),
        ({"share": 1.0}, "--share must be from 0 to below 1, not 1"),
        ({"keep": 0}, "--keep must be above 0 and at most 1, not 0"),
        ({"keep": 1 + EPSILON}, "--keep must be above 0 and at most 1, not 1.000000001"),
        ({"word": "three"}, "--word must be one of one, two, not 'three'"),
        ({"missing": 0}, "--missing must be 1 or more, not 0"),
    ],
)
def test_what_is_outside_is_refused_in_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=r".") as caught:
        Wide(**change)
    assert str(caught.value) == sentence


def test_a_backend_narrows_a_range_and_keeps_the_rest():
    known = parameters_of(Narrow)["rate_mbps"]
    assert (known.help, known.unit, known.option, known.allowed) == ("Rate of a link", "Mb/s", "--bw", "1 Mb/s or more")
    assert Narrow().rate_mbps == 20.0
    Wide(rate_mbps=0.5)
    with pytest.raises(ValueError, match=r"--bw must be 1 Mb/s or more, not 0\.5"):
        Narrow(rate_mbps=0.5)


def test_options_leave_units_out():
    names = ("link_delay_us", "mark_kb", "tick_s", "segment_bytes", "g")
    assert [option_of(name) for name in names] == ["--link-delay", "--mark", "--tick", "--segment-bytes", "--g"]
