"""The children of a kubelet. As the first process of its node it inherits orphans, and buries them."""

import os
import signal
import subprocess
import threading
import time


class Children:
    """Starts processes and calls back when they end, from one thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.some = threading.Condition(self.lock)
        self.on_exit = {}
        threading.Thread(target=self.reap, daemon=True).start()

    def start(self, command, on_exit, **options):
        """on_exit(code), with 128 + signal for one that was killed, from another thread. Returns the pid."""
        with self.lock:
            process = subprocess.Popen(command, start_new_session=True, **options)
            self.on_exit[process.pid] = (process, on_exit)
            self.some.notify()
        return process.pid

    def run(self, command, **options):
        """To the end; raises unless it succeeds."""
        ended, codes = threading.Event(), []
        self.start(command, lambda code: (codes.append(code), ended.set()), **options)
        ended.wait()
        if codes[0]:
            raise RuntimeError(f"{' '.join(command)} ended with {codes[0]}")

    def reap(self):
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            except ChildProcessError:
                with self.lock:
                    self.some.wait(0.2)
                continue
            # Until the lock is free a child that just started may not be in the table.
            with self.lock:
                process, on_exit = self.on_exit.pop(found.si_pid, (None, None))
                os.waitpid(found.si_pid, 0)
            if process:
                process.returncode = found.si_status
                killed = found.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
                on_exit(found.si_status + (128 if killed else 0))


def namespace_of(pid, kind):
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def processes_in(identity, kind="mnt"):
    """All of one namespace: with the mounts of a container, whatever became of their parents."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if namespace_of(name, kind) == identity:
                    found.append(int(name))
            except OSError:
                pass
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def kill_all_in(mounts):
    """Once more until none is left: one may have forked meanwhile."""
    while found := [pid for pid in processes_in(mounts) if not is_dead(pid)]:
        for pid in found:
            send(pid, signal.SIGKILL)
        time.sleep(0.001)


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
