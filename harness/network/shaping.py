"""The rate limit, the queue and the largest packet of every port: applied, then verified.

Limits are applied after Open vSwitch has taken the port: it can silently strip a qdisc when a port is added to a
bridge, and a link that is not limited makes wonderful results. So nothing is believed here: what the kernel reports
is compared port by port.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import RunFailed, UnfitMachine
from harness.network.namespaces import held
from harness.network.processes import run
from harness.network.queries import Queries
from topos.wire import DEFAULT_MTU, ETHERNET_HEADER

if TYPE_CHECKING:
    from harness.run.spec import RunSpec

BUCKET_S = 0.015
"""What a port may send at once after it was idle, as time at its rate: what a forwarding process makes its
ports wait while it works for others. Mininet's 15 kB are 12 ms at 10 Mb/s. Measured in
docs/notes/emulation.md. In virtual time nothing makes a port wait, and it has the least that there is: two
frames."""
MARK_PACKETS = 20
"""DCTCP's K (section 3.4 of its paper, for 1 Gb/s; slower links could do with less)."""
TC_ROUNDS = 1e-3
"""How far a class's rate may be from what was asked for, as tc tells it."""
_CLASS = re.compile(r"^class htb 1:1 .*\brate (\d+)([KMGT]?)bit\b", re.MULTILINE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Shape:
    """A rate in Mb/s and a queue in full-size packets of ``mtu`` bytes, for one direction of one link.

    A queue counts bytes, as Mininet's 50 packets of 1500 bytes do: acknowledgements take little room. One that
    ``marks`` tells TCP of congestion (ECN) from ``mark_packets`` on, or from half of itself on, and with every packet
    from ``ramp_packets`` more on. A port that ``bunches`` (`harness.network.bunching`) sends until it is nearly half
    its bucket in debt, then waits until it has paid; others wait for every packet. ``bucket_s``: what it may send at
    once after it was idle, as time at its rate.
    """

    mbps: float
    queue_packets: int = 50
    mtu: int = DEFAULT_MTU
    marks: bool = False
    bunches: bool = False
    bucket_s: float = BUCKET_S
    mark_packets: int = MARK_PACKETS
    ramp_packets: float = 1.0

    @property
    def rate_bytes(self) -> int:
        """The rate in bytes per second, as the kernel counts it."""
        return round(self.mbps * 1e6 / 8)

    @property
    def queue_bytes(self) -> int:
        """The queue in bytes."""
        return self.queue_packets * self.mtu

    @property
    def burst_bytes(self) -> int:
        """The token bucket, in bytes: at most a queue, at least two full frames (with bunches three)."""
        least = (3 if self.bunches else 2) * self.frame_bytes
        return max(least, min(round(self.rate_bytes * self.bucket_s), self.queue_bytes))

    @property
    def frame_bytes(self) -> int:
        """The largest frame."""
        return self.mtu + ETHERNET_HEADER

    @property
    def segments_at_once(self) -> int:
        """How many segments a host may hand to its port in one, which goes into debt with all of them: two, TCP's own
        least, where that leaves room for more."""
        return 2 if self.burst_bytes >= 4 * self.frame_bytes else 1

    @property
    def bunch_bytes(self) -> int:
        """Credit, and debt: together with what goes into debt last they are the bucket."""
        return (self.burst_bytes - self.segments_at_once * self.frame_bytes) // 2

    @property
    def queue(self) -> str:
        """The qdisc of the queue, in tc's words: a byte FIFO, or RED that marks all above a threshold. RED goes by an
        average: with its ``burst`` at the least that tc takes, of half the queue now and half the average before."""
        if not self.marks:
            return f"bfifo limit {self.queue_bytes}"
        packets = max(2, min(self.mark_packets, self.queue_packets // 2))
        return (
            f"red limit {self.queue_bytes} min {packets * self.mtu} "
            f"max {round((packets + self.ramp_packets) * self.mtu)} "
            f"avpkt {self.mtu} burst {packets} probability 1 bandwidth {self.rate_bytes * 8}bit ecn"
        )

    @property
    def limiter(self) -> str:
        """The kind of qdisc that limits the rate."""
        return "htb" if self.bunches else "tbf"

    def commands(self, interface: str) -> str:
        """The ``tc -batch`` lines that give an interface this shape: what limits the rate, a queue below it."""
        rate = f"rate {self.rate_bytes * 8}bit"
        if self.bunches:
            limit = (
                f"qdisc replace dev {interface} root handle 1: htb default 1\n"
                f"class replace dev {interface} parent 1: classid 1:1 htb {rate} "
                f"burst {self.bunch_bytes} cburst {self.bunch_bytes} quantum {self.frame_bytes}\n"
            )
        else:
            limit = (
                f"qdisc replace dev {interface} root handle 1: tbf {rate} "
                f"burst {self.burst_bytes} limit {self.queue_bytes}\n"
            )
        return f"{limit}qdisc replace dev {interface} parent 1:1 handle 10: {self.queue}\n"


def of_run(spec: RunSpec, *, bunches: bool) -> Shape:
    """The shape of every port in a run."""
    bucket_s = 0.0 if spec.time == "virtual" else BUCKET_S
    return Shape(spec.link_mbps, spec.queue, spec.mtu, spec.marks, bunches, bucket_s)


def apply(shape: Shape, interfaces: Iterable[str], namespace: int) -> None:
    """Give every interface in the namespace of a pid its shape."""
    run(["tc", "-batch", "-"], namespace=namespace, given="".join(map(shape.commands, interfaces)))


def class_rates(interfaces: Sequence[str], reported: str) -> dict[str, int]:
    """The rates of HTB's classes in bytes per second, by interface, from the output of ``tc class show`` for one
    after the other (as text: older versions of tc have no JSON for classes)."""
    found = [int(number) * _UNITS[unit] // 8 for number, unit in _CLASS.findall(reported)]
    return dict(zip(interfaces, found, strict=True)) if len(found) == len(interfaces) else {}


def unlimited(
    shape: Shape,
    interfaces: Sequence[str],
    qdiscs: Sequence[Mapping[str, Any]],
    classes: Mapping[str, int] | None = None,
) -> list[str]:
    """The interfaces that, by what ``tc -j qdisc show`` says, do not have the shape; with what they have.
    ``classes``: the rates of HTB's, as of `class_rates`."""
    buckets = {entry["dev"]: entry for entry in qdiscs if entry.get("root")}
    kind_of_queue = shape.queue.split()[0]
    queues = {
        entry["dev"]: entry for entry in qdiscs if entry["kind"] == kind_of_queue and entry.get("parent") == "1:1"
    }
    wrong = []
    for interface in interfaces:
        kind = buckets.get(interface, {}).get("kind", "nothing")
        if kind != shape.limiter:
            rate = 0
        elif shape.bunches:
            rate = (classes or {}).get(interface, 0)
        else:
            rate = buckets[interface]["options"]["rate"]
        if not rate:
            wrong.append(f"{interface} (has {kind}, no limit)")
        elif not math.isclose(rate, shape.rate_bytes, rel_tol=TC_ROUNDS if shape.bunches else 0):
            wrong.append(f"{interface} (limited to {rate * 8e-6:g} Mb/s)")
        elif queues.get(interface, {}).get("options", {}).get("limit") != shape.queue_bytes:
            wrong.append(f"{interface} (its queue is not {shape.queue_bytes} bytes)")
        elif queues[interface]["options"].get("ecn", False) != shape.marks:
            wrong.append(f"{interface} (its queue does not mark)")
    return wrong


def of_other_size(shape: Shape, interfaces: Sequence[str], links: Sequence[Mapping[str, Any]]) -> list[str]:
    """The interfaces that, by what ``ip -j link`` says, have another largest packet; with what they have."""
    sizes = {entry["ifname"]: entry["mtu"] for entry in links}
    return [f"{name} ({sizes.get(name, 'missing')})" for name in interfaces if sizes.get(name) != shape.mtu]


def verify(shape: Shape, interfaces: Sequence[str], namespace: int) -> None:
    """RunFailed names the ports of the namespace that do not have the shape."""
    qdiscs = _qdiscs(namespace)
    with_class = [one["dev"] for one in qdiscs if one.get("root") and one["kind"] == "htb"]
    asked = "".join(f"class show dev {name}\n" for name in with_class)
    said = run(["tc", "-batch", "-"], namespace=namespace, given=asked) if asked else ""
    wrong = unlimited(shape, interfaces, qdiscs, class_rates(with_class, said))
    if wrong:
        raise RunFailed(f"not limited to {shape.mbps:g} Mb/s: {', '.join(wrong[:5])}")
    wrong = of_other_size(shape, interfaces, _links(namespace))
    if wrong:
        raise RunFailed(f"packets of {shape.mtu} bytes are not what these ports take: {', '.join(wrong[:5])}")


def dropped_in_queue(interfaces: Sequence[str], namespace: int) -> dict[str, int]:
    """Packets each interface's queue has dropped since it was shaped."""
    drops = {entry["dev"]: int(entry["drops"]) for entry in _qdiscs(namespace) if entry.get("root")}
    return {interface: drops.get(interface, 0) for interface in interfaces}


def require_marking() -> None:
    """UnfitMachine when the kernel has no queue that marks."""
    words = f"tc qdisc add dev lo root {Shape(10, marks=True).queue}".split()
    try:
        run(["unshare", "--net", *words])
    except RunFailed as error:
        raise UnfitMachine(f"DCTCP needs queues that mark (RED, the kernel's sch_red): {error}") from None


def dropped_elsewhere(interfaces: Sequence[str], namespace: int) -> dict[str, int]:
    """Packets that the kernel has dropped at each interface outside its queue; interfaces without any left out."""
    report = {entry["ifname"]: entry["stats64"] for entry in _links(namespace)}
    drops = {name: report[name]["rx"]["dropped"] + report[name]["tx"]["dropped"] for name in interfaces}
    return {name: count for name, count in drops.items() if count}


def _qdiscs(namespace: int) -> list[dict[str, Any]]:
    """What tc says; where starting it is dear, what it would, asked of the kernel itself."""
    if held(namespace):
        with contextlib.closing(Queries(namespace)) as kernel:
            return kernel.qdiscs()
    return parsed(run(["tc", "-s", "-j", "qdisc", "show"], namespace=namespace))


def _links(namespace: int) -> list[dict[str, Any]]:
    """What ip says, or would."""
    if held(namespace):
        with contextlib.closing(Queries(namespace)) as kernel:
            return kernel.links()
    return parsed(run(["ip", "-s", "-j", "link"], namespace=namespace))


def parsed(reported: str) -> list[dict[str, Any]]:
    """The output of ip or tc. UnfitMachine when it is not JSON."""
    try:
        return json.loads(reported)  # type: ignore[no-any-return]
    except ValueError:
        raise UnfitMachine("ip and tc report in broken JSON: iproute2 is too old (5.5 is needed)") from None
