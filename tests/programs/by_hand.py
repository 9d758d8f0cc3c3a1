"""Tasks of one cluster as processes, each started by hand as the authors of such programs do."""

import os
import re
import socket
import subprocess
import sys
import threading
import time


def free_addresses(count, hosts=("127.0.0.1",)):
    """Ports that were free a moment ago: programs started by hand choose theirs beforehand too."""
    sockets = [socket.create_server((hosts[i % len(hosts)], 0)) for i in range(count)]
    addresses = ["%s:%d" % s.getsockname() for s in sockets]
    for s in sockets:
        s.close()
    return addresses


def last_number(text, pattern):
    found = re.findall(pattern, text)
    assert found, f"nothing matches {pattern} in:\n{text[-3000:]}"
    return float(found[-1])


class Task:
    """A process whose lines are collected as they come."""

    def __init__(self, command, stdin=b"", **options):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
        )
        self._lines, self._ended = [], False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.process.stdin.write(stdin)
        self.process.stdin.close()

    def _read(self):
        for line in self.process.stdout:
            with self._news:
                self._lines.append(line.decode(errors="replace"))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    @property
    def text(self):
        return "".join(self._lines)

    def wait_for(self, accept, seconds=60):
        """What `accept` makes of the first line that it takes."""
        deadline, seen = time.monotonic() + seconds, 0
        with self._news:
            while True:
                for line in self._lines[seen:]:
                    if taken := accept(line):
                        return taken
                seen = len(self._lines)
                left = deadline - time.monotonic()
                assert left > 0 and not self._ended, f"it never came:\n{self.text[-3000:]}"
                self._news.wait(left)

    def wait_for_text(self, pattern, seconds=60):
        return self.wait_for(lambda line: re.search(pattern, line), seconds)

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, seconds=60):
        """The exit code; minus the signal's number where one ended it."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not done after {seconds} s:\n{self.text[-3000:]}") from None
        finally:
            self._reader.join(5)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join(5)
        self.process.stdout.close()


class ByHand:
    """Starts tasks in one folder, which is their home too: they share its secret."""

    def __init__(self, capstan, folder):
        self._capstan, self._folder, self._tasks = capstan, folder, []

    def _start(self, *command, env=None, **options):
        home = {"HOME": str(self._folder), "XDG_STATE_HOME": str(self._folder / "state"), "PYTHONUNBUFFERED": "1"}
        env = {**os.environ, **home, **(env or {})}
        task = Task([self._capstan, *map(str, command)], cwd=self._folder, env=env, **options)
        self._tasks.append(task)
        return task

    def python(self, *args, **options):
        """`capstan python …`: one task."""
        return self._start("python", "--python", sys.executable, *args, **options)

    def run(self, *args, **options):
        """`capstan run …`: a whole job, in the background."""
        return self._start("run", "--python", sys.executable, *args, **options)

    def server(self, *args, **options):
        return self._start("server", *args, **options)

    def kill_all(self):
        for task in self._tasks:
            task.kill()
