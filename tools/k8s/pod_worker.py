"""The life of one pod on its node: one thread that starts its containers, reports, restarts, ends them."""

import http.client
import queue
import signal
import ssl
import sys
import threading
import time
import traceback

from child_processes import kill_all_in, send
from container_spec import NotYet
from kube_client import STRATEGIC_MERGE, ApiError
from pod_sandbox import Sandbox
from pod_status import condition_list, container_status, now_text, phase_of

RETRY = 0.1
SERVER_TROUBLE = (ApiError, ConnectionError, TimeoutError, ssl.SSLError, http.client.HTTPException)


class Container:
    def __init__(self, spec, before=None):
        """before: its status, if an earlier kubelet ran it."""
        self.spec, self.name = spec, spec["name"]
        self.pid = self.mounts = self.last = self.start_at = None
        self.state = {"waiting": {"reason": "ContainerCreating"}}
        self.restarts = (before or {}).get("restartCount", 0)
        self.runs = self.restarts + 1 if before else 0
        self.failures = 0
        self.done = self.out_of_memory = False

    @property
    def exit_code(self):
        return self.state.get("terminated", {}).get("exitCode")


class PodWorker(threading.Thread):
    def __init__(self, node, pod):
        super().__init__(daemon=True)
        self.node, self.pod = node, pod
        meta = pod["metadata"]
        self.path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        self.events = queue.SimpleQueue()
        self.sandbox = self.kill_at = self.alarm = self.reported = None
        self.prepared = self.over = self.gone = False
        self.started = now_text()
        self.since = {}
        self.deadline = self.pod["spec"].get("activeDeadlineSeconds")
        self.begin = time.monotonic()
        self.verdict = None  # (phase, reason, message) that no container can change
        self.inits = [Container(spec) for spec in pod["spec"].get("initContainers") or []]
        self.mains = [Container(spec) for spec in pod["spec"]["containers"]]
        self.adopt(pod.get("status", {}))

    def adopt(self, status):
        """What an earlier kubelet left: containers of a running pod are lost, a finished pod stays so."""
        if status.get("phase") in ("Succeeded", "Failed"):
            self.verdict = (status["phase"], status.get("reason"), status.get("message"))
            self.reported = "kept"
        elif status.get("phase") == "Running":
            before = {item["name"]: item for item in status.get("containerStatuses") or []}
            self.inits = []
            self.mains = [Container(spec, before.get(spec["name"])) for spec in self.pod["spec"]["containers"]]
            for container in self.mains:
                self.settle(container, 137, "ContainerStatusUnknown")

    # Events come from the watch, the children and the faults of tests.
    def tell(self, kind, *values):
        self.events.put((kind, *values))

    def run(self):
        try:
            while not self.over:
                self.alarm = None
                self.advance()
                self.report()
                self.take_events()
        except Exception:
            traceback.print_exc(file=sys.stderr)
        finally:
            self.kill()
            if self.sandbox:
                self.sandbox.remove()
            self.node.forget(self)

    def take_events(self):
        if self.over:
            return
        wait = None if self.alarm is None else max(0, self.alarm - time.monotonic())
        try:
            self.handle(*self.events.get(timeout=wait))
            while True:
                self.handle(*self.events.get_nowait())
        except queue.Empty:
            pass

    def handle(self, kind, *values):
        if kind == "pod":
            self.pod = values[0]
            self.compare(self.pod)
        elif kind == "gone":
            self.gone = True
        elif kind == "exit":
            self.ended(*values)
        elif kind == "fail":
            self.fail(*values)
        elif kind == "oom":
            self.run_out_of_memory(*values)

    def compare(self, pod):
        """Others may have changed what only the node knows: while it is lost its pods are not ready."""
        if isinstance(self.reported, dict):
            conditions = [(c["type"], c["status"]) for c in pod["status"].get("conditions") or []]
            if not all((c["type"], c["status"]) in conditions for c in self.reported["conditions"]):
                self.reported = None

    def wake(self, when):
        self.alarm = when if self.alarm is None else min(when, self.alarm)

    def advance(self):
        now = time.monotonic()
        if self.gone:
            self.kill()
            self.over = True
        elif self.pod["metadata"].get("deletionTimestamp"):
            self.wind_down(now)
        elif self.verdict is None and self.in_time(now) and self.prepare(now):
            self.start_containers(now)
        if self.phase() in ("Succeeded", "Failed") and self.sandbox and not self.running():
            self.sandbox.leave_network()

    def in_time(self, now):
        if self.deadline is None:
            return True
        end = self.begin + self.deadline
        if now >= end:
            self.fail("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
            return False
        self.wake(end)
        return True

    def prepare(self, now):
        if self.prepared:
            return True
        try:
            self.sandbox = self.sandbox or Sandbox(self.node, self.pod)
            self.sandbox.make()
            self.prepared = True
        except (NotYet, OSError, RuntimeError, *SERVER_TROUBLE) as error:
            if not isinstance(error, NotYet):
                print(f"{self.path}: {error}", file=sys.stderr, flush=True)
            for container in self.inits + self.mains:
                container.state = {"waiting": {"reason": "ContainerCreating", "message": str(error)}}
            self.wake(now + RETRY)
        return self.prepared

    def start_containers(self, now):
        for container in self.inits:
            if not container.done:
                self.start_container(container, now)
                return
            if container.exit_code:
                return
        for container in self.mains:
            self.start_container(container, now)

    def start_container(self, container, now):
        if container.done or container.pid:
            return
        if container.start_at and container.start_at > now:
            self.wake(container.start_at)
            return
        try:
            self.launch(container)
        except NotYet as error:
            again = "waiting" in container.state and container.state["waiting"]["reason"].endswith(("Pull", "BackOff"))
            pulling = error.reason == "ErrImagePull" and again
            reason = "ImagePullBackOff" if pulling else error.reason
            container.state = {"waiting": {"reason": reason, "message": str(error)}}
            container.start_at = now + RETRY
            self.wake(container.start_at)
        except SERVER_TROUBLE:
            self.wake(now + RETRY)
        except OSError as error:
            self.settle(container, 128, "StartError", str(error))

    def launch(self, container):
        run = container.runs
        on_exit = lambda code: self.tell("exit", container, run, code)  # noqa: E731
        container.pid, container.mounts = self.sandbox.start(container.spec, run, on_exit)
        container.runs += 1
        container.restarts = run
        container.state = {"running": {"startedAt": now_text()}}

    def ended(self, container, run, code):
        kill_all_in(container.mounts)
        container.pid = None
        reason = "OOMKilled" if container.out_of_memory else "Error" if code else "Completed"
        container.out_of_memory = False
        self.settle(container, code, reason)

    def settle(self, container, code, reason, message=None):
        """A run is over: what of it is told, and whether there is another."""
        started = container.state.get("running", {}).get("startedAt", now_text())
        ended = {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": now_text()}
        container.state = {"terminated": {**ended, **({"message": message} if message else {})}}
        container.done = not self.runs_again(container, code)
        if not container.done:
            self.back_off(container)

    def runs_again(self, container, code):
        if self.verdict or self.pod["metadata"].get("deletionTimestamp"):
            return False
        policy = self.pod["spec"].get("restartPolicy", "Always")
        if policy == "Always" and container not in self.inits:
            return True
        return policy != "Never" and code != 0

    def back_off(self, container):
        """The first restart comes at once, later ones after pauses that double."""
        container.last = container.state
        if container.failures:
            pause = min(self.node.back_off * 2 ** (container.failures - 1), self.node.back_off_limit)
            message = f"back-off {pause:g}s restarting failed container={container.name}"
            container.state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
            container.start_at = time.monotonic() + pause
        container.failures += 1

    def running(self):
        return [container for container in self.inits + self.mains if container.pid]

    def kill(self):
        for container in self.running():
            kill_all_in(container.mounts)

    def fail(self, reason, message):
        """The node ends the pod, whatever its containers do."""
        if self.phase() not in ("Succeeded", "Failed"):
            self.verdict = ("Failed", reason, message)
            self.kill()

    def run_out_of_memory(self, name):
        for container in self.running():
            if container.name == name:
                container.out_of_memory = True
                kill_all_in(container.mounts)

    def wind_down(self, now):
        if self.kill_at is None:
            grace = self.pod["metadata"].get("deletionGracePeriodSeconds")
            self.kill_at = now + (30 if grace is None else grace)
            for container in self.running():
                send(container.pid, signal.SIGTERM)
        if now >= self.kill_at:
            self.kill()
        if self.running():
            if now < self.kill_at:
                self.wake(self.kill_at)
            return
        for container in self.inits + self.mains:
            container.done = True
        self.report()
        self.delete(now)

    def delete(self, now):
        uid = {"uid": self.pod["metadata"]["uid"]}
        try:
            self.node.api.delete(self.path, gracePeriodSeconds=0, preconditions=uid)
            self.over = True
        except ApiError as error:
            self.over = error.code in (404, 409)
        except SERVER_TROUBLE:
            pass
        if not self.over:
            self.wake(now + RETRY)

    def phase(self):
        return self.verdict[0] if self.verdict else phase_of(self.inits, self.mains)

    def status(self):
        phase = self.phase()
        status = {"phase": phase, "hostIP": "127.0.0.1", "hostIPs": [{"ip": "127.0.0.1"}], "startTime": self.started}
        if self.prepared:
            status.update(podIP=self.sandbox.address, podIPs=[{"ip": self.sandbox.address}])
        if self.inits:
            status["initContainerStatuses"] = [container_status(container) for container in self.inits]
        status["containerStatuses"] = [container_status(container) for container in self.mains]
        status["conditions"] = condition_list(phase, self.inits, self.mains, self.verdict, self.since)
        if self.verdict:
            status.update(reason=self.verdict[1], message=self.verdict[2])
        return status

    def report(self):
        if self.gone or self.over or self.reported == "kept":
            return
        status = self.status()
        if status == self.reported:
            return
        body = {"metadata": {"uid": self.pod["metadata"]["uid"]}, "status": status}
        try:
            self.node.api.patch(f"{self.path}/status", body, STRATEGIC_MERGE)
            self.reported = status
        except SERVER_TROUBLE as error:
            if not isinstance(error, ApiError) or error.code not in (404, 409):
                self.wake(time.monotonic() + RETRY)
