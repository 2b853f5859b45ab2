import numpy as np

from traffic.streams import Stream, generator


def test_streams_of_a_seed_are_what_they_have_always_been():
    """Whoever changes a number changes the flows and paths of every seed, those of committed results among them."""
    names = "PATTERN SOURCE_PORTS SIMULATED_ARRIVALS PLACEMENT POISSON PORT_CYCLE OWN_PATTERN RANKS STARTS"
    assert [(stream.name, stream.value) for stream in Stream] == list(zip(names.split(), range(1, 10), strict=True))
    expected = np.random.default_rng((8, 5, 2)).integers(1 << 60, size=4)
    assert generator(8, Stream.POISSON, 2).integers(1 << 60, size=4).tolist() == expected.tolist()
