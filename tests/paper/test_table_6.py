"""Table 6: the model of messages, and what is measured here."""

import pytest

from paper import table_6
from tests.paper.commands import is_png


def test_it_measures_and_models(tmp_path):
    found = table_6.compute(1, cases={(16, 1): 100.0, (54, 2): 100.0})
    assert [(row.hosts, row.flows_per_host) for row in found] == [(16, 1), (54, 2)]
    for row in found:
        assert row.loop_ms == pytest.approx(row.messages_ms + row.computed_ms)
        assert row.model_with_100_ms == pytest.approx(row.messages_ms + 100)
        assert row.computed_ms > 0
    assert is_png(table_6.draw(found, tmp_path / "table6.png"))
