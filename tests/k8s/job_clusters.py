"""Where a job file is played: an operator over the API in memory, or one at work on a rig.

Both are asked the same way. Nobody runs the pods: a play says what becomes of them.
"""

import json
import subprocess
import time

CORE = "/api/v1/namespaces/default"
PATHS = {"tfjobs": "/apis/kubeflow.org/v1/namespaces/default/tfjobs"}
SETTLED = 3.0  # seconds in which an operator in memory is done with what happened; longer than its back-off
PATIENCE = 15.0


class MemoryCluster:
    """The program tests/memory_cluster of a build."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what, **values):
        print(json.dumps({"do": what, **values}), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(10) == 0

    def create(self, file):
        self.ask("create", file=str(file))

    def patch(self, resource, name, body, subresource=""):
        self.ask("patch", resource=resource, name=name, body=body, subresource=subresource)

    def delete(self, resource, name, body):
        self.ask("delete", resource=resource, name=name, body=body)

    def list(self, resource):
        return self.ask("list", resource=resource)

    def now(self):
        return self.ask("now")

    def wait(self, seconds):
        self.ask("wait", seconds=seconds)

    def settle(self, look, wanted=None):
        """What look() tells when all is done."""
        self.wait(SETTLED)
        return look()


class RigCluster:
    """A rig without a scheduler. `quiet`: seconds without a change after which all is taken to be done,
    where it is not known what is to come."""

    def __init__(self, rig, quiet=1.5):
        self.rig, self.quiet = rig, quiet

    def path(self, resource, name="", subresource=""):
        parts = [PATHS.get(resource, f"{CORE}/{resource}"), name, subresource]
        return "/".join(part for part in parts if part)

    def create(self, file):
        self.rig.kubectl("create", "-f", str(file))

    def patch(self, resource, name, body, subresource=""):
        self.rig.api.patch(self.path(resource, name, subresource), body)

    def delete(self, resource, name, body):
        self.rig.api.delete(self.path(resource, name), **body)

    def list(self, resource):
        return self.rig.api.get(self.path(resource))["items"]

    def now(self):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def wait(self, seconds):
        """Only where it is not known what is to come; else that is waited for."""
        self.pause = seconds

    pause = 0.0

    def settle(self, look, wanted=None):
        pause, self.pause = self.pause, 0.0
        if wanted is None:
            time.sleep(pause)
            return self.when_quiet(look)
        deadline = time.monotonic() + pause + PATIENCE
        while (seen := look()) != wanted and time.monotonic() < deadline:
            time.sleep(0.05)
        return seen

    def when_quiet(self, look):
        seen, since = look(), time.monotonic()
        while time.monotonic() - since < self.quiet:
            time.sleep(0.1)
            if (now := look()) != seen:
                seen, since = now, time.monotonic()
        return seen
