"""Virtual time against theory, ns-3 and real time, from the CSV files in results/virtual."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plots.style import DASHES, INK, MUTED, house_style, logarithmic, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAWTOOTH = {"cubic": 2 / 3 * (1 - 0.7**3) / (1 - 0.7**2), "reno": 2 / 3 * (1 - 0.5**3) / (1 - 0.5**2)}
"""The mean over the peak of a window that grows linearly, by the share of it that remains after a loss."""
_KINDS = {
    "one": ("one flow", "#0072b2", "o"),
    "two": ("two flows", "#d55e00", "^"),
}
Line = dict[str, str]


def rows(path: Path) -> list[Line]:
    """The lines of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def draw(folder: Path) -> list[Path]:
    """Draw the pictures whose data exist."""
    drawn: tuple[tuple[str, Callable[[Path, Path], list[Path]]], ...] = (
        ("lasting.csv", _theory),
        ("ns3_flows.csv", _ns3),
    )
    return [
        file
        for data, picture in drawn
        if (folder / data).exists()
        for file in picture(folder, folder / f"{data.partition('_')[0].removesuffix('.csv')}.png")
    ]


def _theory(folder: Path, path: Path) -> list[Path]:
    from matplotlib.figure import Figure

    lasting, incasts = rows(folder / "lasting.csv"), rows(folder / "incast.csv")
    with house_style():
        figure = Figure(figsize=(9.6, 3.3), layout="constrained")
        goodput, queue, incast = figure.subplots(1, 3)
        _goodput(goodput, lasting)
        _queues(queue, lasting)
        _incast(incast, incasts)
        return save(figure, path.with_name("theory.png"))


def _goodput(axes: Axes, lasting: Sequence[Line]) -> None:
    for kind, (name, tint, marker) in _KINDS.items():
        ours = [row for row in lasting if row["kind"] == kind and row["queue_packets"] == "50"]
        share = [100 * float(row["goodput_mbps"]) / float(row["payload_mbps"]) for row in ours]
        axes.plot([float(row["mbps"]) for row in ours], share, marker, color=tint, label=name, markersize=4)
    axes.axhline(100, color=INK, linewidth=0.9, linestyle=DASHES)
    logarithmic(axes, "x")
    axes.set_ylim(96, 102)
    axes.set_title("Goodput, % of what the headers leave")
    axes.set_xlabel("link, Mb/s")
    axes.legend(loc="lower left", fontsize=7.5)


def _queues(axes: Axes, lasting: Sequence[Line]) -> None:
    for control, marker in (("cubic", "o"), ("reno", "D")):
        ours = [row for row in lasting if (row["kind"], row["congestion_control"]) == ("one", control)]
        share = [float(row["queue_mean_ms"]) / float(row["full_ms"]) for row in ours]
        axes.plot([float(r["mbps"]) for r in ours], share, marker=marker, label=control, markersize=4, linewidth=0.8)
    for control, share_of_peak in SAWTOOTH.items():
        axes.axhline(share_of_peak, color=MUTED, linewidth=0.9, linestyle=DASHES)
        axes.annotate(
            control,
            (1, share_of_peak),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            ha="right",
            va="bottom",
        )
    logarithmic(axes, "x")
    axes.set_ylim(0.5, 1)
    axes.set_title("Mean queue of one flow, of a full one")
    axes.set_xlabel("link, Mb/s; dashed: sawtooth")
    axes.legend(loc="lower left", fontsize=7.5)


def _incast(axes: Axes, incasts: Sequence[Line]) -> None:
    shown = [row for row in incasts if (float(row["mbps"]), row["queue_packets"]) == (1000, "8")]
    for least, tint in (("200", "#d55e00"), ("5", "#0072b2")):
        ours = [row for row in shown if row["rto_min_ms"] == least]
        x = [float(row["senders"]) for row in ours]
        y = [100 * float(row["goodput_share"]) for row in ours]
        axes.plot(x, y, "o", color=tint, markersize=3.5, label=f"least RTO {least} ms")
    ideal = sorted({(float(row["senders"]), float(row["ideal_ms"])) for row in shown})
    axes.plot(
        [n for n, _ in ideal],
        [100 * ms / (ms + 200) for _, ms in ideal],
        color=MUTED,
        linewidth=0.9,
        linestyle=DASHES,
        label="one wait of 200 ms",
    )
    logarithmic(axes, "x")
    axes.set_ylim(0, 105)
    axes.set_title("Incast, 1 Gb/s, 8 packets, goodput in %")
    axes.set_xlabel("senders of 256 kB each")
    axes.legend(loc="center right", fontsize=7.5)


def _ns3(folder: Path, path: Path) -> list[Path]:
    from matplotlib.figure import Figure

    flows = rows(folder / "ns3_flows.csv")
    groups = [(key, list(ours)) for key, ours in groupby(flows, lambda r: (r["mbps"], r["congestion_control"]))]
    with house_style():
        figure = Figure(figsize=(3.2 * len(groups), 3.2), layout="constrained")
        for axes, ((mbps, control), ours) in zip(
            figure.subplots(1, len(groups), squeeze=False)[0], groups, strict=True
        ):
            for first, tint in (("guest_s", "#d55e00"), ("ns3_shaken_s", "#0072b2")):
                _ratios(axes, ours, first, tint)
            axes.axvline(1, color=INK, linewidth=0.9, linestyle=DASHES)
            logarithmic(axes, "x")
            axes.set_xlim(0.1, 10)
            axes.set_ylim(0, 1)
            axes.set_title(f"{float(mbps):g} Mb/s, {control} in the guest")
            axes.set_xlabel("completion time over ns-3's")
            axes.legend(loc="upper left", fontsize=7.5)
        return save(figure, path)


def _ratios(axes: Axes, flows: Sequence[Line], first: str, tint: str) -> None:
    """Flows of 100 kB and more, which are too large to pass in one full token bucket."""
    both = [r for r in flows if r[first] and r["ns3_s"] and float(r["size_bytes"]) > 100_000]
    ratio = np.sort([float(r[first]) / float(r["ns3_s"]) for r in both])
    name = "guest" if first == "guest_s" else "ns-3, shaken"
    axes.plot(ratio, np.arange(1, ratio.size + 1) / max(1, ratio.size), color=tint, label=f"{name} ({ratio.size})")
