"""Small scenarios to hold the engine against."""

import copy

from studies.hull.packets import parse, run_scenario

TCP = {
    "variant": "dctcp", "segment_bytes": 950, "window_segments": 1256, "initial_segments": 2, "least_segments": 2,
    "min_rto_ns": 10_000_000, "idle_ns": 10_000_000, "g": 1 / 16, "start_alpha": 1.0, "sack": True,
}  # fmt: skip
START_NS = 50_000_000
WIRE = {"rate_bps": 1e9, "delay_ns": 5000}


def scene(servers=1, exchanges=(), seconds=1.0, connections=None, **port):
    """A client and its servers at one switch; ``exchanges``: (connection, start ns after 50 ms, request, reply)."""
    hosts = ["client", *(f"server{n}" for n in range(1, servers + 1))]
    links = []
    for host in hosts:
        links.append({"from": "switch", "to": host, **WIRE, "queue_packets": 500, **port})
        links.append({"from": host, "to": "switch", **WIRE, "queue_packets": 1000})
    columns = list(zip(*exchanges, strict=True)) if exchanges else [(), (), (), ()]
    end = START_NS + round(seconds * 1e9)
    return {
        "seed": 1,
        "measure_from_ns": START_NS,
        "measure_until_ns": end,
        "end_ns": end + 10**10,
        "hosts": hosts,
        "switches": ["switch"],
        "links": links,
        "tcp": copy.deepcopy(TCP),
        "connections": connections or [{"client": "client", "server": f"server{n}"} for n in range(1, servers + 1)],
        "exchanges": {
            "connection": list(columns[0]),
            "start_ns": [START_NS + start for start in columns[1]],
            "request_bytes": list(columns[2]),
            "reply_bytes": list(columns[3]),
            "service_ns": [0] * len(exchanges),
        },
        "samples": [{"from": "switch", "to": "client", "every_ns": 1_000_000}],
    }


def answered(scenario):
    """Head and arrays of the engine's answer."""
    return parse(run_scenario(scenario))
