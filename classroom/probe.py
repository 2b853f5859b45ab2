"""Whether a process can be isolated on this machine: a small test submission reports what it can do."""

from __future__ import annotations

import os
from tempfile import TemporaryFile

from classroom.code import Code
from classroom.process import Misbehaved
from classroom.sandbox import LIMITS, Start, Unfit
from classroom.submission import Submission
from hedera.text import one_line

_ATTEMPTS = {
    "has root's rights": "os.getuid() == 0 or os.access('/etc/shadow', os.F_OK)",
    "has capabilities": "any(int(status[name], 16) for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'))",
    "can be given rights by a program": "int(status['NoNewPrivs']) != 1",
    "is under no filter of system calls": "int(status['Seccomp']) != 2",
    "sees a network": "len(open('/proc/net/dev').readlines()) != 3",
    "sees other processes": "len([name for name in os.listdir('/proc') if name.isdigit()]) > 4",
    "can write to the code that answers": "writable('/code/classroom') or writable('/')",
    "has no limit on files": f"resource.getrlimit(resource.RLIMIT_FSIZE)[1] > {LIMITS['fsize']}",
}
_PROBE = f"""
import os, resource
def writable(folder):
    try:
        open(os.path.join(folder, "probe"), "w").close()
    except OSError:
        return False
    return True
def attempt(src, dst, num_hosts):
    status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
    return [{", ".join(f"bool({attempt})" for attempt in _ATTEMPTS.values())}]
"""


def require_closed(start: Start) -> None:
    """Get an answer from a process started like this. Raises Unfit if there is none, or if the process can do
    something that it should not."""
    with TemporaryFile() as said:
        try:
            with Submission(start, Code("probe.py", _PROBE, "attempt"), call_s=20, said=said) as submission:
                found = submission.estimate([0], [1], 2).core
        except (Misbehaved, Unfit) as error:
            said.seek(0)
            lines = said.read(4096).decode(errors="replace").strip().splitlines()
            why = one_line(lines[-1] if lines else error)
            help_ = "" if os.geteuid() == 0 else "; as root (sudo) it needs no user namespaces"
            raise Unfit(f"this machine does not let bubblewrap isolate a process ({why}){help_}") from None
    if found is None or found.shape != (len(_ATTEMPTS),):
        raise Unfit("an isolated process does not answer here as it should")
    if could := [words for words, yes in zip(_ATTEMPTS, found, strict=True) if yes]:
        raise Unfit(f"a process that should be isolated {' and '.join(could)} here")
