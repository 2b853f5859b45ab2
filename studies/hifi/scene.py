"""A scene: some senders, one switch, one receiver; and what was seen of it.

`studies.hifi.lab` plays scenes in guests; what was seen is kept, so that no scene is played twice.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from harness.hosts.connections import BIN_S
from harness.network import EPORT, MARK_PACKETS, Shape
from record.files import write_whole
from topos.arrays import Float64
from topos.wire import DEFAULT_MTU, ETHERNET_HEADER, compute_payload_share
from traffic.user_files import read_regular

if TYPE_CHECKING:
    from harness.jobs import GuestImage

KEPT = Path("results/runs/hifi")
PROJECT = Path(__file__).resolve().parents[2]
OF_A_GUEST = 8
"""One guest plays so many scenes at most."""
LONGEST_S = 1800.0
"""The scenes of one guest may take so many of our seconds."""
MOST_BYTES = 1 << 28


def count_packets(frames: int) -> int:
    """The length of a queue, which counts packets of an MTU each, that holds so many whole frames."""
    return -(-frames * (DEFAULT_MTU + ETHERNET_HEADER) // DEFAULT_MTU)


class Flow(msgspec.Struct, frozen=True):
    """A flow from sender ``sender`` (they count from 1), ``start_s`` after the beginning. It has ``size_bytes``; None:
    it lasts until the end."""

    sender: int
    start_s: float
    size_bytes: int | None = None


class Scene(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is played. ``access``: how many times faster the senders' links are than the receiver's.

    ``every_s``: between two looks at queue and round trips. ``rto_min_ms``: None leaves Linux's own, 200. ``window``:
    what counts, seconds. ``seconds``: at most; sized flows may all have ended before. ``delay_ms``: of
    each sender's cable, each way. ``mark_packets``, ``ramp_packets``: of the marking
    queue. ``round_trips``: whether a look asks TCP for them. ``wake``: how much of 10 ms of the receiver's rate
    arrives before its program is woken. ``packets``: whether the time of every packet in the window is kept.
    """

    name: str
    mbps: float
    flows: tuple[Flow, ...]
    seconds: float
    window: tuple[float, float]
    seed: int = 1
    access: float = 1.0
    queue_packets: int = 50
    mtu: int = DEFAULT_MTU
    congestion_control: str = "cubic"
    rto_min_ms: int | None = None
    every_s: float = 0.005
    delay_ms: float = 0.0
    mark_packets: int = MARK_PACKETS
    ramp_packets: float = 1.0
    round_trips: bool = True
    wake: float = 0.01
    packets: bool = False

    @property
    def shape(self) -> Shape:
        """The shape of the receiver's port in the switch. A port that was idle lets no burst pass."""
        marks = self.congestion_control == "dctcp"
        return Shape(self.mbps, self.queue_packets, self.mtu, marks, EPORT, self.mark_packets, self.ramp_packets)

    @property
    def senders(self) -> int:
        return max(flow.sender for flow in self.flows)

    @property
    def frame_bytes(self) -> int:
        return self.mtu + ETHERNET_HEADER

    @property
    def frame_ms(self) -> float:
        return self.frame_bytes * 8e-3 / self.mbps

    @property
    def frames_that_fit(self) -> int:
        """Full ones in the queue, which counts bytes."""
        return self.queue_packets * self.mtu // self.frame_bytes

    @property
    def payload_mbps(self) -> float:
        return self.mbps * compute_payload_share(self.mtu)


class Look(msgspec.Struct, frozen=True):
    """At ``t`` seconds after the beginning: the queue to the receiver, TCP's smoothed round trips, by sender, and the
    bytes that have left the queue since it was made."""

    t: float
    queued_bytes: int
    rtt_ms: dict[int, float]
    sent_bytes: int = 0


class Done(msgspec.Struct, frozen=True):
    """What became of a flow; seconds after the beginning. ``bins``: bytes in each BIN_S from ``accepted``."""

    sender: int
    start_s: float
    accepted: float
    first: float
    last: float
    bytes: int
    bins: tuple[int, ...]
    retransmissions: int


class Packet(msgspec.Struct, frozen=True, array_like=True):
    """When the receiver had the last bit of a frame, seconds after the beginning, and its bytes."""

    t: float
    bytes: int


class Observed(msgspec.Struct, frozen=True):
    """All that was seen. ``tcp``: the kernel's counters. ``drops``, at the receiver's port. ``packets``: to it."""

    scene: Scene
    flows: tuple[Done, ...]
    looks: tuple[Look, ...]
    tcp: dict[str, int]
    drops: int
    packets: tuple[Packet, ...] = ()

    @property
    def off_ideal(self) -> Float64:
        """For each packet in the window but the first, how far the time since the one before is from what its bits take
        at the link's rate, as a share of that."""
        gaps = np.diff([packet.t for packet in self.packets])
        bits = 8.0 * np.array([packet.bytes for packet in self.packets[1:]])
        return gaps * (self.scene.mbps * 1e6) / bits - 1

    @property
    def counted(self) -> list[Look]:
        """The looks in the scene's window."""
        low, high = self.scene.window
        return [look for look in self.looks if low <= look.t <= high]

    @property
    def goodput(self) -> Float64:
        """Of each flow, Mb/s of payload, whole tenths of a second within the window; of a flow that is alone from its
        first byte to its last, as what follows a lost segment arrives with it, and that may be after the window."""
        if len(self.flows) == 1:
            alone = self.flows[0]
            return np.array([alone.bytes * 8e-6 / (alone.last - alone.first)])
        low, high = self.scene.window
        rates = []
        for flow in self.flows:
            begins = flow.accepted + BIN_S * np.arange(len(flow.bins))
            inside = (begins >= low - 1e-9) & (begins + BIN_S <= high + 1e-9)
            rates.append(np.array(flow.bins)[inside].sum() * 8e-6 / (BIN_S * max(1, inside.sum())))
        return np.array(rates)

    @property
    def queue_packets(self) -> Float64:
        """What waits at the receiver's port, in full frames, of every look in the window."""
        return np.array([look.queued_bytes for look in self.counted]) / self.scene.frame_bytes

    @property
    def utilisation(self) -> float:
        """What left the receiver's port between the window's first look and its last, as a share of its rate."""
        first, *_, last = self.counted
        return (last.sent_bytes - first.sent_bytes) * 8e-6 / self.scene.mbps / (last.t - first.t)


def play_scenes(scenes: Sequence[Scene], kept: Path = KEPT) -> list[Observed]:
    """What is seen of scenes: from ``kept``, or now, all that are missing.

    WorkerFailed, with what it said, when a guest fails.
    """
    from record.progress import tell_user

    missing = [scene for scene in scenes if not _name_file(scene, kept).exists()]
    if missing:
        tell_user(f"{missing[0].name} and {len(missing) - 1} more ...")
    for n in range(0, len(missing), OF_A_GUEST):
        _play(missing[n : n + OF_A_GUEST], kept)
    return [msgspec.json.decode(_name_file(scene, kept).read_bytes(), type=Observed) for scene in scenes]


def _name_file(scene: Scene, kept: Path) -> Path:
    from virtual.kernel import identify

    # The same scene on another kernel is another measurement, and gets a file of its own.
    digest = hashlib.sha256(msgspec.json.encode(scene) + identify().encode()).hexdigest()
    return kept / f"{scene.name}-{digest[:12]}.json"


@cache
def _prepare_image() -> GuestImage:
    from harness.jobs import guests
    from record.progress import tell_user

    return guests.prepare(tell_user)


def _play(scenes: Sequence[Scene], kept: Path) -> None:
    from record.errors import WorkerFailed
    from virtual.guest import FILES, RESULTS, Guest

    image, files = _prepare_image(), {"scenes.json": msgspec.json.encode(scenes)}
    command = [sys.executable, "-m", "studies.hifi.lab", f"{FILES}/scenes.json", RESULTS]
    with Guest(
        image.kernel.linux, command, folder=PROJECT, layers=image.layers, files=files, real_s=LONGEST_S
    ) as guest:
        ended = guest.wait()
        if not ended.time_travel:
            raise WorkerFailed(f"{scenes[0].name}: its time was not virtual")
        for scene in scenes:
            path = guest.results / f"{scene.name}.json"
            # A guest that failed may have played the first of its scenes: these are kept.
            if ended.status and not path.exists():
                raise WorkerFailed(f"{scene.name}: {ended.stderr.strip()[-2000:]}")
            content = read_regular(path, MOST_BYTES)
            # It is decoded before it is kept: a file that cannot be read would end every later command, too.
            msgspec.json.decode(content, type=Observed)
            write_whole(_name_file(scene, kept), content)
