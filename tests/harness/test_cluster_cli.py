"""`hedera cluster` and `--cluster` on the command line: what is refused, in one sentence and with which status."""

import os
import stat
import sys

import pytest

from harness.cli import group
from harness.network.machine import TOOLS, version_of

pytest.importorskip("distributed")
ROOT = [
    pytest.mark.root,
    pytest.mark.skipif(any(version_of(tool) is None for tool in TOOLS), reason="needs the tools of a run"),
]
SWEEP = ["sweep", "1", "5", "--patterns", "stride:4", "--schemes", "ecmp", "--results", "out"]


@pytest.fixture
def hedera(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("workers.cluster.CONNECT_S", 1.0)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["hedera", *words])
        status = group.run_cli()
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_keys_are_made_once(hedera, tmp_path):
    status, out, _ = hedera("cluster", "keys", "keys", "--days", "7")
    assert status == 0
    assert "valid for 7 days" in out
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in (tmp_path / "keys").iterdir()} == {0o600}
    status, _, err = hedera("cluster", "keys", "keys")
    assert status == 2
    assert "never overwritten" in err


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        ([*SWEEP, "--cluster", "tcp://10.0.0.1:8786"], 2, "would be root"),
        ([*SWEEP, "--cluster", "tcp://127.0.0.1:8786"], 2, "would be root"),
        ([*SWEEP, "--cluster", "10.0.0.1"], 2, "tls://HOST:PORT"),
        ([*SWEEP, "--cluster", "tls://127.0.0.1:9"], 2, "the cluster's keys are not in cluster-keys"),
        (["cluster", "scheduler", "--listen", "tcp://127.0.0.1:9"], 2, "would be root"),
        pytest.param(["cluster", "worker", "tcp://127.0.0.1:9"], 2, "would be root", marks=ROOT),
        pytest.param(["figure", "10", "--cluster", "tcp://127.0.0.1:9"], 2, "would be root", marks=ROOT),
        (["cluster", "scheduler"], 2, "the cluster's keys are not in cluster-keys"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(hedera, tmp_path, words, status, sentence):
    ended, out, err = hedera(*words)
    assert (ended, out) == (status, "")
    assert sentence in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_the_help_teaches(hedera):
    status, out, _ = hedera("cluster", "--help")
    assert status == 0
    assert "hedera cluster worker tls://" in out
    assert "job" not in out, "what workers use among themselves is no command for people"
