"""What the child processes of a benchmark have cost."""

from __future__ import annotations

import resource


def processor_s() -> float:
    """Processor seconds of children that have ended; one sum, so that rounding never lets it run backwards."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
