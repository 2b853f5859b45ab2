"""A run's settings of the whole kernel, which only a guest has to itself."""

import json

import pytest

from tests.commands import hedera

SHORT = ("--scheme", "ecmp", "--traffic", "published:stride4", "--seconds", "3", "--bw", "100", "--queue", "8")


@pytest.mark.virtual
def test_cubic_without_hystart_is_asked_for(tmp_path):
    """It alone moves what a seed gives: the kernel has heard of it, and the next guest has it again."""
    payloads = []
    for number, more in enumerate(((), ("--no-hystart",), ())):
        done = hedera("run", *SHORT, *more, "--time", "virtual", "--json", "--out", tmp_path / f"{number}", check=True)
        payloads.append(json.loads(done.stdout)["payload_mbps"])
    assert payloads[0] == payloads[2] != payloads[1]
