"""What a process holds, as the kernel counts it; in MB of 10^6 bytes."""

import re
import threading

HEADER = re.compile(r"[0-9a-f]+-[0-9a-f]+ (\S{4}) \S+ \S+ \S+\s*(.*)")


def resident(pid):
    """All that is in memory, pages of libraries too."""
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) * 1024 / 1e6


def owned(pid):
    """Private memory, and the shared regions that this process itself writes: those of its peers
    are mapped read-only and count for them."""
    total, permissions, path = 0, "", ""
    with open("/proc/%d/smaps" % pid) as file:
        for line in file:
            header = HEADER.match(line)
            if header:
                permissions, path = header.groups()
                continue
            name, _, rest = line.partition(":")
            if _counts(name, permissions, path):
                total += int(rest.split()[0]) * 1024
    return total / 1e6


def _counts(field, permissions, path):
    if permissions.endswith("s") and "memfd:" in path:
        return field == "Rss" and "w" in permissions
    return field in ("Private_Clean", "Private_Dirty")


class Peak:
    """The most that a process owned while the block ran."""

    def __init__(self, pid, seconds=0.02):
        self._pid, self._seconds = pid, seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.value = 0.0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._stop.set()
        self._thread.join()

    def _watch(self):
        while not self._stop.wait(self._seconds):
            self.value = max(self.value, owned(self._pid))
