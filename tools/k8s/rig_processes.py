"""Processes that end with whoever started them."""

import os
import signal
import subprocess
import time


def last_lines(path, count=20):
    with open(path, errors="replace") as file:
        return "".join(file.readlines()[-count:])


class Part:
    """One program of the rig, with its log. The kernel kills it when the thread that started it ends."""

    def __init__(self, name, command, log, **options):
        self.name, self.log = name, log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                **options,
            )

    @property
    def pid(self):
        return self.process.pid

    def check(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{last_lines(self.log)}")

    def wait_for(self, what, condition, deadline=60):
        """Until condition() is true; the program's end or the deadline raises with the end of its log."""
        end = time.monotonic() + deadline
        while not condition():
            self.check()
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name}: no {what} in {deadline} s:\n{last_lines(self.log)}")
            time.sleep(0.02)

    def signal(self, number):
        if self.process.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def memory(self):
        """Resident MiB."""
        with open(f"/proc/{self.pid}/status") as file:
            return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmRSS"))

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
