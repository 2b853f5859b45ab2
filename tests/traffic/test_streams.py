import numpy as np

from traffic.streams import Stream, generator


def test_streams_of_a_seed_are_what_they_have_always_been():
    """Whoever changes a number changes the flows and paths of every seed, those of committed results among them."""
    assert {stream.name: stream.value for stream in Stream} == {
        "PATTERN": 1,
        "SOURCE_PORTS": 2,
        "SIMULATED_ARRIVALS": 3,
        "PLACEMENT": 4,
        "POISSON": 5,
        "PORT_CYCLE": 6,
        "OWN_PATTERN": 7,
        "RANKS": 8,
    }
    expected = np.random.default_rng((8, 5, 2)).integers(1 << 60, size=4)
    assert generator(8, Stream.POISSON, 2).integers(1 << 60, size=4).tolist() == expected.tolist()
