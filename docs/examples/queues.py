"""Programs of a networking class, on Mininet: `python3 queues.py bufferbloat|incast|bbr` prints one number.

With `offload` behind it, packets of up to 64 kB stay as Linux makes them."""

import random
import re
import statistics
import sys
import time

from mininet.link import TCLink
from mininet.net import Mininet

PROGRAMS = {
    "bufferbloat": ("round trip beside a transfer, ms", 100, 1000, ["cubic -t 22"]),
    "incast": ("goodput of 16 senders at once, Mb/s", 1000, 64, ["cubic -n 4M"] * 16),
    "bbr": ("share of BBR beside CUBIC, %", 100, 100, ["bbr -t 20", "cubic -t 20"]),
}
"""What is measured; the bottleneck, Mb/s and packets of its queue; what each sender sends."""


def measured(program, offload=False):
    _, mbps, packets, senders = PROGRAMS[program]
    net = Mininet(link=TCLink, controller=None)
    router = net.addHost("r", ip="10.0.0.1/24")
    for n in range(len(senders) + 1):  # h0 receives, behind the bottleneck
        host = net.addHost(f"h{n}", ip=f"10.{n}.0.2/24", defaultRoute=f"via 10.{n}.0.1")
        net.addLink(router, host, bw=min(10 * mbps, 1000) if n else mbps, params1={"ip": f"10.{n}.0.1/24"})
    net.start()
    for end in [] if offload else [*router.intfList(), *(host.defaultIntf() for host in net.hosts[1:])]:
        end.node.cmd(f"ethtool -K {end} tso off gso off gro off")
    router.cmd(f"sysctl -qw net.ipv4.ip_forward=1; tc qdisc add dev r-eth0 parent 5:1 handle 10: pfifo limit {packets}")
    net["h0"].cmd("iperf -s >/dev/null 2>&1 & sleep 1")
    seconds = 0.0
    for _ in range(5 if program == "incast" else 1):
        start = time.time() + 2  # when all are connected; each begins within a millisecond of it
        begins = [f"--txstart-time {start + random.uniform(0, 0.001):.6f} -Z {sender}" for sender in senders]
        ends = [net[f"h{n}"].popen(f"iperf -c 10.0.0.2 -y C {begin}") for n, begin in enumerate(begins, 1)]
        if program == "bufferbloat":  # of the later half of the pings
            times = re.findall(r"time=([\d.]+)", net["h1"].cmd("ping -i 0.2 -w 20 10.0.0.2"))
            return statistics.median(map(float, times[len(times) // 2 :]))
        rates = [float(end.communicate()[0].decode().split(",")[-1]) for end in ends]
        seconds += time.time() - start
    return 5 * 16 * 4 * 2**20 * 8e-6 / seconds if program == "incast" else 100 * rates[0] / sum(rates)


def draw(table, picture):
    import pandas
    from matplotlib.figure import Figure

    figure = Figure((9, 3), layout="constrained")
    for axes, (program, runs) in zip(figure.subplots(1, 3), pandas.read_csv(table).groupby("program"), strict=True):
        axes.plot(runs.time, runs.value, "o", alpha=0.5)
        axes.set(title=program, ylabel=PROGRAMS[program][0], ylim=(0, 1.2 * runs.value.max()), xlim=(-0.5, 1.5))
    figure.savefig(picture, dpi=110)


draw(*sys.argv[2:]) if sys.argv[1] == "draw" else print(f"{measured(sys.argv[1], 'offload' in sys.argv):.1f}")
