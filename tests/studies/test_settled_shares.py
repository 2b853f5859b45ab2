"""Two sweeps beside each other in a window of one's own."""

import pytest

from studies.settled_shares import compare_shares, main
from tests.plots.sweeps import run_document, store


def sweep(folder, late, trials=3, pattern="published:stride4", receivers=(4,)):
    """Hedera has half of the control at first, and ``late`` of it from second 10 on."""
    for trial in range(1, trials + 1):
        for scheme, rates in (("nonblocking", [100.0] * 30), ("hedera-sa", [50.0] * 10 + [late + trial] * 20)):
            document = run_document(pattern, scheme, trial)
            document["rates"] = {"t": [*range(1, 31)], "total_mbps": rates, "hosts": {}}
            (flow,) = document["flows"]
            document["flows"] = [flow | {"src": src, "dst": dst} for src, dst in enumerate(receivers)]
            store(folder, document)
    return folder


def test_the_window_decides(tmp_path):
    one, other = sweep(tmp_path / "one", 80.0), sweep(tmp_path / "other", 90.0)
    early, _ = compare_shares(one, other, (2, 8))
    assert float(early["difference_points"]) == 0
    late, _ = compare_shares(one, other, (12, 18))
    assert [float(late[name]) for name in ("share", "other_share", "difference_points")] == pytest.approx([82, 92, 10])
    assert (late["scheme"], late["patterns"], late["seeds"]) == ("hedera-sa", 1, 3)


def test_each_pattern_has_a_row_of_its_own(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for pattern, gain in (("published:stride4", 10.0), ("published:rand0", -4.0)):
        sweep(one, 80.0, pattern=pattern)
        sweep(other, 80.0 + gain, pattern=pattern)
    rows = {row["pattern"]: row for row in compare_shares(one, other, (12, 18))}
    differences = {pattern: float(row["difference_points"]) for pattern, row in rows.items()}
    assert differences == pytest.approx({"all": 3, "published:stride4": 10, "published:rand0": -4})
    assert [rows[pattern]["patterns"] for pattern in differences] == [2, 1, 1]


def test_patterns_in_which_hosts_receive_once_have_a_row_of_their_own(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for pattern, receivers, gain in (
        ("published:stride4", (4, 5), 10.0),
        ("published:stride8", (9, 8), 4.0),
        ("published:rand0", (4, 4), -8.0),
    ):
        sweep(one, 80.0, pattern=pattern, receivers=receivers)
        sweep(other, 80.0 + gain, pattern=pattern, receivers=receivers)
    rows = {row["pattern"]: row for row in compare_shares(one, other, (12, 18))}
    assert list(rows)[:2] == ["all", "bijective"]
    assert (rows["bijective"]["patterns"], float(rows["bijective"]["difference_points"])) == (2, pytest.approx(7))
    assert (rows["all"]["patterns"], float(rows["all"]["difference_points"])) == (3, pytest.approx(2))


def test_rows_are_csv(tmp_path, capsys):
    main(["12", "18", str(sweep(tmp_path / "one", 80.0)), str(sweep(tmp_path / "other", 90.0))])
    head, row, _ = capsys.readouterr().out.splitlines()
    assert head.startswith("folder,other,from_s,to_s,pattern,scheme")
    assert row.startswith("one,other,12,18,all,hedera-sa,1,3,82.000,92.000,10.000")
