"""One packet's way through HULL, step by step, from a run's journal: for docs/notes/packet-engine.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from packets.experiment import Experiment, scenario
from packets.result import parse
from packets.run import run_scenario
from packets.workload import LARGE

EXPERIMENT = Experiment("hull", "dynamic", load=0.5, seconds=1.0, seed=3)
CONNECTION = 0
SKIPPED = 20
"""How many held and marked packets are skipped before the one shown."""

FIRST_MS = 20
"""How long the journal is kept, from the first request on."""

Entry = dict[str, Any]


@dataclass(frozen=True)
class Journey:
    """A data packet that the pacer held and the phantom queue marked, its ACK, and the next packet sent."""

    packet: tuple[Entry, ...]
    ack: tuple[Entry, ...]
    after: Entry

    def step(self, what: str, where: str = "") -> Entry:
        """The packet's own entry of that kind."""
        return next(e for e in self.packet if e["what"] == what and where in e["where"])


def journey() -> Journey:
    """Run the experiment and follow one packet."""
    traffic = EXPERIMENT.traffic()
    start = int(traffic.start_ns[traffic.kind == LARGE][0])
    trace = {"connection": CONNECTION, "from_ns": start, "until_ns": start + FIRST_MS * 1_000_000}
    journal = parse(run_scenario(scenario(EXPERIMENT, traffic, trace)))[0]["journal"]
    by_seq: dict[int, list[Entry]] = {}
    by_ack: dict[int, list[Entry]] = {}
    for entry in journal:
        if entry["forward"]:
            by_ack.setdefault(entry["ack"], []).append(entry)
        elif entry["bytes"] > EXPERIMENT.parameters.segment_bytes:
            by_seq.setdefault(entry["seq"], []).append(entry)
    chosen = [
        seq
        for seq, steps in by_seq.items()
        if any(step["what"] == "released" for step in steps) and any(step.get("above") for step in steps)
    ][SKIPPED]
    ack = by_ack[chosen + EXPERIMENT.parameters.segment_bytes]
    after = next(e for e in journal if e["what"] == "sent" and not e["forward"] and e["ns"] >= ack[-1]["ns"])
    return Journey(tuple(by_seq[chosen]), tuple(ack), after)


def table(found: Journey) -> list[str]:
    """The journey as rows of a Markdown table: microseconds since the packet was sent, where, what."""
    sent, paced, released = found.step("sent"), found.step("paced"), found.step("released")
    counted, received = found.step("counted"), found.step("received")
    echo, heard = found.ack[0], found.ack[-1]
    steps = [
        (
            sent,
            f"TCP sends segment {sent['seq']:,}: window {sent['cwnd_bytes']:,} bytes, alpha {sent['alpha']:.4f}",
        ),
        (
            paced,
            f"the pacer holds it: its flow is associated, {paced['queue_bits']:,.0f} bits wait before it, "
            f"{paced['tokens_bits']:,.0f} bits of tokens at {paced['rate_bps'] / 1e6:.1f} Mb/s",
        ),
        (released, f"the pacer lets it go, at {released['rate_bps'] / 1e6:.1f} Mb/s by now"),
        (
            counted,
            f"it leaves the port; the phantom queue stands at {counted['phantom_bytes']:,.1f} bytes, "
            "above 1,000: marked",
        ),
        (received, "the client receives it, and echoes the mark in its ACK"),
        (
            heard,
            f"the ACK arrives; the pacer draws a coin; the window falls to {found.after['cwnd_bytes']:,} bytes, "
            f"alpha is {found.after['alpha']:.4f}",
        ),
    ]
    assert echo["ece"]
    return [f"| {(step['ns'] - sent['ns']) / 1000:.2f} | {step['where']} | {words} |" for step, words in steps]
