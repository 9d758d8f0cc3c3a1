"""What is seen of processes from outside, and programs for them."""

import os
import time

TALKS = """
import json, os, socket
line = socket.socket(fileno=int(os.environ["CAPSTAN_TASK_FD"]))
def tell(**event):
    line.send((json.dumps(event) + "\\n").encode())
"""


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
