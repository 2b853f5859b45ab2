import os

import plots
from tests.plots.pictures import texts
from tests.plots.sweeps import write_sweep


def test_write_all(tmp_path):
    write_sweep(tmp_path, ["published:stride4", "staggered:0.2,0.3"], trials=2)
    files = plots.write_all(tmp_path)
    assert [str(file.relative_to(tmp_path / "figures")) for file in files] == [
        "figure9.png",
        "figure9.svg",
        "summary.csv",
        "differences.csv",
        "rates/published_stride4-trial-1.svg",
        "rates/published_stride4-trial-2.svg",
        "rates/staggered_0.2,0.3-trial-1.svg",
        "rates/staggered_0.2,0.3-trial-2.svg",
    ]
    for file in files:
        assert file.stat().st_size > 300
        if file.suffix == ".png":
            assert file.read_bytes().startswith(b"\x89PNG")
    shown = texts(files[1])
    assert {"stride4", "staggered:0.2,0.3", "hedera-sa", "nonblocking (control)"} <= shown
    assert not any("invalid" in text for text in shown)


def test_the_same_runs_give_the_same_files(tmp_path):
    write_sweep(tmp_path, ["published:stride4"], ["nonblocking", "ecmp"], trials=2)
    before = {file: file.read_bytes() for file in plots.write_all(tmp_path)}
    for file in before:
        file.unlink()
    assert {file: file.read_bytes() for file in plots.write_all(tmp_path)} == before


def test_rates_are_drawn_again_only_when_a_run_is_newer(tmp_path):
    write_sweep(tmp_path, ["stride:4"], ["nonblocking", "ecmp"])
    sheet = plots.write_all(tmp_path)[-1]
    os.utime(sheet, (2e9, 2e9))
    assert plots.write_all(tmp_path)[-1].stat().st_mtime == 2e9
    os.utime(sheet, (1, 1))
    assert plots.write_all(tmp_path)[-1].stat().st_mtime > 1


def test_no_runs_no_files(tmp_path):
    (tmp_path / "run.json").write_text("{")
    assert plots.write_all(tmp_path) == []
