"""What is seen of processes from outside, and programs for them."""

import os
import stat
import tempfile
import time
from pathlib import Path

# Mounts made below it are nobody else's; who is not root becomes it there.
OWN_MOUNTS = "unshare -m" if os.geteuid() == 0 else "unshare -rm"

TALKS = """
import json, os, socket
line = socket.socket(fileno=int(os.environ["CAPSTAN_TASK_FD"]))
def tell(**event):
    line.send((json.dumps(event) + "\\n").encode())
"""


# `secret` is what the task was handed, whichever way.
GETS_THE_SECRET = """
import os
if "CAPSTAN_SECRET_FD" in os.environ:
    secret = os.pread(int(os.environ["CAPSTAN_SECRET_FD"]), 4096, 0)
else:
    secret = open(os.environ["CAPSTAN_SECRET_FILE"], "rb").read()
"""


def secret_files(job):
    """Modes of the files that hold the secret of a job."""
    found = Path(tempfile.gettempdir()).glob(f"capstan-secret-{job}")
    return [stat.S_IMODE(path.stat().st_mode) for path in found]


def shared_memory():
    """Names in shared memory, of which a job has none. Semaphores are those of other programs."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")}


def processes_with(text):
    """Ids of living processes whose command line holds the text."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if text.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def wait_until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)
