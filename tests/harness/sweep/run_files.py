"""A run.json as small as can be."""

from results.record import SCHEMA


def run_json(verdict="ok", rate=1.0, **more):
    """Plain data; ``rate`` is both rates that a valid run has."""
    spec = {
        "k": 4,
        "link_mbps": 10.0,
        "seconds": 6.0,
        "interval_s": 2.0,
        "queue": 50,
        "platform": "os-ken",
        "datapath": "user",
        "congestion_control": "cubic",
        "flows_per_host": 1,
        "keep": 1.0,
    }
    reasons = [] if verdict == "ok" else ["it was too slow"]
    return {
        "schema": SCHEMA,
        "scheme": "ecmp",
        "traffic": "stride:4",
        "trial": 1,
        "seed": 1,
        "spec": spec,
        "capacity_mbps": 160.0,
        "window_s": [1.0, 5.0],
        "bisection_mbps": rate,
        "payload_mbps": rate,
        "verdict": verdict,
        "reasons": reasons,
        "flows": [],
        **more,
    }
