"""Lasting flows that stay below the threshold."""

from studies.starved_flows import main
from tests.plots.sweeps import run_document, store


def store_run(folder, scheme, trial, rates, **changes):
    document = run_document("published:stride4", scheme, trial)
    flow = {"src_port": 20001, "mbps": 5.0, "paths": [{"t": 0.0, "core": 0}]}
    flows = [
        {"src": place, "dst": place + 4, "per_second_mbps": [rate] * 60} | flow for place, rate in enumerate(rates)
    ]
    store(folder, document | {"flows": flows} | changes)


def test_flows_below_a_tenth_of_their_link_are_named(tmp_path, capsys):
    store_run(tmp_path / "one", "nonblocking", 1, [0.1, 9.5])
    store_run(tmp_path / "one", "hedera-sa", 1, [0.9, 1.1])
    store_run(tmp_path / "one", "hedera-sa", 2, [9.5, 9.5])
    store_run(tmp_path / "one", "hedera-sa", 3, [0.1, 0.1], verdict="invalid", reasons=["slow"])
    main([str(tmp_path / "one")])
    head, row = capsys.readouterr().out.splitlines()
    assert head == "folder,scheme,runs,flows,starved,runs_with,which"
    assert row == "one,hedera-sa,2,4,1,1,published:stride4/1 0>4 9.0 % placed 0"
