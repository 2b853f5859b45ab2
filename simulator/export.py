"""Our network, flows and paths as other programs' files, so that the same work runs there.

=============  =======================  ==============================================================================
``hpcc``       topology.txt, flow.txt   ns-3 of HPCC and its descendants, which hashes flows itself
``htsim``      network.topo, flows.cm   htsim of the Ultra Ethernet Consortium, which chooses paths itself
``simgrid``    platform.xml, flows.csv  SimGrid, with the paths of a static scheme; run.py runs them there
=============  =======================  ==============================================================================

Flows that last send as much as their hosts' links carry until the run ends: none of them ends sooner. Flows that wait
for others cannot be told in these files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from record.files import write_whole
from simulator.config import Config
from simulator.driver import Paths
from topos.fattree import FatTree
from topos.links import NO_LINK, link_ends, link_rates
from traffic.flows import NOBODY, Flows

DELAY_NS = 1000
"""What HPCC's and htsim's files say of every link: a delay, which our simulator does not have."""
GROUP, PORT = 3, 100
"""Priority group and port of HPCC's own flow.txt."""
MAX_FLOWS = 1_000_000
"""More are refused: a line for each."""

RUN = '''"""Runs flows.csv on platform.xml in SimGrid (Debian's python3-simgrid), and prints when each flow ended, s.

    python3 run.py [SimGrid's own options]

Flows share links by max-min: with its other models SimGrid weighs them by latency, and takes some percent off.
"""

import csv
import sys
from pathlib import Path

from simgrid import Actor, Comm, Engine, Host, this_actor

FOLDER = Path(__file__).parent
MAX_MIN = ["--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0"]


def start(flows):
    sent = []
    for flow in flows:  # in the order of their starts
        this_actor.sleep_until(float(flow["start_s"]))
        ends = Host.by_name(flow["src"]), Host.by_name(flow["dst"])
        sent.append(Comm.sendto_async(*ends, int(flow["size_bytes"])))
    for one in sent:
        one.wait()
    print("flow,end_s")
    for flow, one in zip(flows, sent):
        print(f"{flow['flow']},{one.finish_time!r}")


engine = Engine([sys.argv[0], "--log=root.thres:warning", *MAX_MIN, *sys.argv[1:]])
engine.load_platform(str(FOLDER / "platform.xml"))
with open(FOLDER / "flows.csv", newline="") as file:
    rows = list(csv.DictReader(file))
Actor.create("flows", Host.by_name(rows[0]["src"]), start, rows)
engine.run()
'''
"""What is written beside the files for SimGrid."""


def export(config: Config, to: str, folder: Path) -> list[Path]:
    """Write the files of ``to``, one of FORMATS, into a folder, which is made; returns them.

    Raises ValueError, one sentence, for what they cannot say: flows that wait for others, a network of another kind,
    a scheme that moves flows.
    """
    chosen = config.chosen
    flows, graph = config.flows()
    if graph is not None or (flows.after != NOBODY).any():
        raise ValueError(f"traffic {config.traffic!r} has flows that wait for others, which no such file can say")
    if not 0 < len(flows) <= MAX_FLOWS:
        raise ValueError(
            f"traffic {config.traffic!r} would be {len(flows):,} flows; from 1 to {MAX_FLOWS:,} are written"
        )
    if config.fail:
        raise ValueError("--fail: these files know no failures")
    if to == "simgrid" and (chosen.scheduler is not None or chosen.sprays):
        raise ValueError(f"scheme {config.scheme!r} moves flows, and SimGrid's routes stay: give a static one, as ecmp")
    texts = FORMATS[to](config, flows.take(np.argsort(flows.start_s, kind="stable")))
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]


def _count_bytes(config: Config, flows: Flows) -> list[int]:
    """What each flow sends; of those that last, all that can leave their hosts until the end."""
    most = np.ceil(config.link_mbps * 1e6 / 8 * (config.seconds - flows.start_s))
    return np.where(np.isinf(flows.size_bytes), most, flows.size_bytes).astype(np.int64).tolist()


def _export_hpcc(config: Config, flows: Flows) -> dict[str, str]:
    network = config.network()
    number = {name: n for n, name in enumerate([*network.hosts, *network.switches])}
    rates = config.link_mbps * link_rates(network)
    switches = len(number) - network.num_hosts
    cables = [
        f"{number[cable.lower]} {number[cable.upper]} {_rate(rate)} {DELAY_NS}ns 0"
        for cable, rate in zip(network.links(), rates.tolist(), strict=False)  # rates of the other directions follow
    ]
    numbers = " ".join(str(number[name]) for name in network.switches)
    rows = zip(flows.src, flows.dst, _count_bytes(config, flows), flows.start_s.tolist(), strict=True)
    lines = [f"{src} {dst} {GROUP} {PORT} {size} {start!r}" for src, dst, size, start in rows]
    return {
        "topology.txt": _join_lines([f"{len(number)} {switches} {len(cables)}", numbers, *cables]),
        "flow.txt": _join_lines([f"{len(lines)}", *lines]),
    }


def _rate(mbps: float) -> str:
    """As ns-3 reads it, in whole bit/s where it is no whole number of larger units."""
    for unit, factor in (("Gbps", 1e-3), ("Mbps", 1.0), ("Kbps", 1e3)):
        if (value := mbps * factor) == int(value):
            return f"{int(value)}{unit}"
    return f"{round(mbps * 1e6)}bps"


def _export_htsim(config: Config, flows: Flows) -> dict[str, str]:
    network, half = config.network(), 0
    gbps = config.link_mbps / 1000
    if gbps != int(gbps):
        raise ValueError(f"htsim's links have whole numbers of Gb/s, and --bw {config.link_mbps:g} is none")
    leaf_spine = config.topology is not None and config.topology.startswith("leaf-spine:")
    head = [f"Nodes {network.num_hosts}"]
    if isinstance(network, FatTree) and config.plain:
        half = network.half
        head += ["Tiers 3", f"Podsize {half * half}"]
        tiers = [(half, half, 1), (half, half, 1), (network.k, 0, 1)]
    elif leaf_spine and config.oversubscribe is None and not config.chosen.nonblocking:
        leaves, spines, below = map(int, str(config.topology).partition(":")[2].split(","))
        if below % spines:
            raise ValueError(f"htsim's leaves have a whole number of hosts for each spine, not {below} for {spines}")
        head += ["Tiers 2", f"Podsize {network.num_hosts}"]
        tiers = [(below, spines, below // spines), (leaves, 0, 1)]
    else:
        raise ValueError(
            "htsim's networks are fat-trees, and --topology leaf-spine:LEAVES,SPINES,HOSTS without --oversubscribe; a "
            "network from a file is neither"
        )
    for number, (down, up, over) in enumerate(tiers):
        head += ["", f"Tier {number}", f"Downlink_speed_Gbps {int(gbps)}", f"Radix_Down {down}"]
        head += [f"Radix_Up {up}"] * bool(up) + [f"Oversubscribed {over}"] * (over > 1)
        head += [f"Downlink_Latency_ns {DELAY_NS}", "Switch_Latency_ns 0"]
    rows = zip(flows.src, flows.dst, np.rint(flows.start_s * 1e12), _count_bytes(config, flows), strict=True)
    lines = [f"{s}->{d} id {n} start {int(t)} size {size}" for n, (s, d, t, size) in enumerate(rows, start=1)]
    return {
        "network.topo": _join_lines(head),
        "flows.cm": _join_lines([f"Nodes {network.num_hosts}", f"Connections {len(lines)}", *lines]),
    }


def _export_simgrid(config: Config, flows: Flows) -> dict[str, str]:
    """A route joins two hosts, whatever flow it is: flows of the same hosts by other paths get hosts of their own,
    which share the links."""
    network = config.network()
    paths = Paths(config, flows, None).links.tolist()
    rates = config.link_mbps * link_rates(network)
    number: dict[tuple[int, int], dict[tuple[int, ...], int]] = {}
    names = {network.host_name(host): None for host in range(network.num_hosts)}
    routes, rows = [], ["flow,src,dst,start_s,size_bytes"]
    pairs = zip(
        flows.src.tolist(), flows.dst.tolist(), flows.start_s.tolist(), _count_bytes(config, flows), strict=True
    )
    for flow, (src, dst, start, size) in enumerate(pairs):
        path = tuple(link for link in paths[flow] if link != NO_LINK)
        of_pair = number.setdefault((src, dst), {})
        again = f".{len(of_pair)}" if of_pair else ""
        sender = network.host_name(src) + (again if path not in of_pair else f".{of_pair[path]}" * bool(of_pair[path]))
        receiver = network.host_name(dst)
        if path not in of_pair:
            of_pair[path] = len(of_pair)
            names[sender] = None
            through = "".join(f'<link_ctn id="{link}"/>' for link in path)
            ends = f"src={quoteattr(sender)} dst={quoteattr(receiver)}"
            routes.append(f'    <route {ends} symmetrical="NO">{through}</route>')
        rows.append(f"{flow},{sender},{receiver},{start!r},{size}")
    hosts = [f'    <host id={quoteattr(name)} speed="1Gf"/>' for name in names]
    links = [
        f'    <link id="{n}" bandwidth="{rate * 1e6!r}bps" latency="0s"/> <!-- {"-".join(link_ends(network, n))} -->'
        for n, rate in enumerate(rates.tolist())
    ]
    platform = [
        "<?xml version='1.0'?>",
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        '  <zone id="network" routing="Full">',
        *hosts,
        *links,
        *routes,
        "  </zone>",
        "</platform>",
    ]
    return {"platform.xml": _join_lines(platform), "flows.csv": _join_lines(rows), "run.py": RUN}


def _join_lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


FORMATS: dict[str, Callable[[Config, Flows], dict[str, str]]] = {
    "hpcc": _export_hpcc,
    "htsim": _export_htsim,
    "simgrid": _export_simgrid,
}
