"""Runs on Linux's own TCP: scenarios that a guest plays (`studies.hull.lab`) in place of the packet engine."""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from record.errors import WorkerFailed
from record.progress import tell_user
from record.spec import list_options
from studies.hull.scenario import Parameters
from traffic.user_files import read_regular

if TYPE_CHECKING:
    from harness.jobs.guests import GuestImage

NAME = "linux"
PROJECT = Path(__file__).resolve().parents[2]
MAX_REAL_S_PER_S = 60.0
"""Seconds that one of a scenario may take; of a full link some take 0.5."""
MAX_RESULT_BYTES = 1 << 30


def refuse(parameters: Parameters) -> None:
    """ValueError, one sentence, for what only our guests' TCP has."""
    for name in ("rack", "tail_loss_probes", "large_segments"):
        if getattr(parameters, name) != getattr(Parameters(), name):
            raise ValueError(f"{list_options(Parameters)[name].name} is for --engine linux")


def require(parameters: Parameters) -> None:
    """ValueError, one sentence, for what our guests' TCP and switches have no setting for."""
    defaults = Parameters()
    for name, reason in (
        ("window_packets", "Linux's windows grow with its buffers"),
        ("least_packets", "Linux's DCTCP never has less than two"),
        ("idle_ms", "Linux takes its retransmission timeout"),
        ("whole_cuts", "Linux cuts by whole segments anyway"),
        ("prr", "Linux's windows fall over a round trip anyway"),
        ("growth_anew", "Linux's windows grow so anyway"),
        ("jitter_us", "our guests' switches delay no packet by chance"),
    ):
        if getattr(parameters, name) != getattr(defaults, name):
            raise ValueError(f"{list_options(Parameters)[name].name} is for --engine ns-3: {reason}")
    if parameters.min_rto_ms < 1:
        raise ValueError("--min-rto is at least 1ms with --engine linux")


@cache
def prepare_image() -> GuestImage:
    """What guests need. UnfitMachine says what is missing."""
    from harness.jobs import guests

    return guests.prepare(tell_user)


@cache
def compute_fingerprint() -> str:
    """What results depend on: the kernel, and the program that plays."""
    from virtual.kernel import identify

    code = (Path(__file__).with_name("lab.py")).read_bytes()
    return f"{NAME}-{hashlib.sha256(identify().encode() + code).hexdigest()[:16]}"


def run_scenario(scenario: dict[str, Any]) -> bytes:
    """What came of a scenario, as the packet engine tells it. WorkerFailed when the guest fails."""
    from virtual.guest import FILES, RESULTS, Guest

    image, files = prepare_image(), {"scenario.json": json.dumps(scenario).encode()}
    command = [sys.executable, "-m", "studies.hull.lab", f"{FILES}/scenario.json", f"{RESULTS}/answer"]
    with Guest(
        image.kernel.linux,
        command,
        folder=PROJECT,
        layers=image.layers,
        files=files,
        seed=scenario["seed"],
        real_s=120 + MAX_REAL_S_PER_S * scenario["end_ns"] * 1e-9,
    ) as guest:
        end = guest.wait()
        if end.status:
            raise WorkerFailed(f"the guest's run is lost: {end.stderr.strip()[-2000:]}")
        if not end.time_travel:
            raise WorkerFailed("the guest's time was not virtual")
        return read_regular(guest.results / "answer", MAX_RESULT_BYTES)
