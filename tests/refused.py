"""What is refused, in one sentence."""

from contextlib import contextmanager

import pytest


@contextmanager
def refused(words, error=ValueError):
    with pytest.raises(error, match=words) as caught:
        yield caught
    assert "\n" not in str(caught.value)
