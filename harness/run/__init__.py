"""One run: the job that asks for it, the controller, the senders, what watches and what disturbs them.

What other rooms need of it is here. `harness.run.experiment`, which carries a run out, is imported only where one is.
"""

from harness.run.controller import Event
from harness.run.job import (
    CODE,
    COMPILED,
    NOT_VIRTUAL,
    PROJECT,
    Circumstances,
    Job,
    OnStage,
    decode_job,
    describe_first_source,
    files_lock,
    make_job,
    without_auto,
)
from harness.run.observation import OBSERVATION_FILE, Observation, Outage, Sampler, read_observation, read_tcp_counters
from harness.run.traffic import Arrived, EmulatedFlow, Transfers

__all__ = [
    "CODE",
    "COMPILED",
    "NOT_VIRTUAL",
    "OBSERVATION_FILE",
    "PROJECT",
    "Arrived",
    "Circumstances",
    "EmulatedFlow",
    "Event",
    "Job",
    "Observation",
    "OnStage",
    "Outage",
    "Sampler",
    "Transfers",
    "decode_job",
    "describe_first_source",
    "files_lock",
    "make_job",
    "read_observation",
    "read_tcp_counters",
    "without_auto",
]  # fmt: skip
