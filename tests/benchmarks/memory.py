"""The peak memory of this process."""

from __future__ import annotations

import sys
from pathlib import Path


def peak_megabytes() -> float:
    """The most memory that this process held at once, in megabytes (10^6 bytes).

    On Linux `getrusage` also counts what the parent held when it started this process, so the
    kernel's own high-water mark is read there.
    """
    status = Path("/proc/self/status")
    if status.exists():
        marks = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(next(marks).split()[1]) * 1024 / 1e6
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (peak if sys.platform == "darwin" else peak * 1024) / 1e6
