"""The job files in jobs/, what happens to their pods, and what an operator makes of it, as plain values.

The comment at the top of a file says what it is about, and after `play:` what happens, step by step:

    run GLOB             pods of these tasks begin to run
    end TASK CODE WHY    its containers end; WHY (OOMKilled) may be left out
    evict TASK           its node gives it up
    restarts TASK N      its kubelet has started it again in place so often
    remove TASK          somebody removes its pod
    patch JSON           somebody changes the job
    wait SECONDS         time passes
    look                 what there is now is noted; also at the end
"""

import fnmatch
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import job_values

JOBS = Path(__file__).resolve().parent / "jobs"


@dataclass
class JobFile:
    path: Path
    name: str
    steps: list


def read(path):
    marks = [line[len("# play:") :] for line in path.read_text().splitlines() if line.startswith("# play:")]
    steps = [step.strip() for step in marks[0].split(";")]
    return JobFile(path, path.stem, steps if steps[-1] == "look" else [*steps, "look"])


def all_jobs():
    return [read(path) for path in sorted(JOBS.glob("*.yaml"))]


@dataclass
class Play:
    """One job on one cluster. values: path to value, of everything that was noted.
    wanted: what is to come, where that is known."""

    job: JobFile
    cluster: object
    wanted: dict = None
    values: dict = field(default_factory=dict)
    looks: int = 0
    lives: dict = field(default_factory=dict)  # of each pod's name the uids that it had

    def to_its_end(self):
        self.cluster.create(self.job.path)
        for step in self.job.steps:
            word, _, rest = step.partition(" ")
            getattr(self, word)(rest.strip())
        self.note(self.told, "events")
        return self.values

    def note(self, look, prefix):
        wanted = None
        if self.wanted is not None:
            wanted = {path: value for path, value in self.wanted.items() if path.startswith(prefix + ".")}
        self.values.update(self.cluster.settle(look, wanted))

    def own(self, resource):
        mark = self.job.name + "-"
        found = [item for item in self.cluster.list(resource) if item["metadata"]["name"].startswith(mark)]
        return [item for item in found if job_values.controller_of(item) == self.job.name]

    def object(self):
        found = [job for job in self.cluster.list("tfjobs") if job["metadata"]["name"] == self.job.name]
        return found[0] if found else None

    def look(self, _):
        self.looks += 1
        self.note(self.stage, f"look{self.looks}")

    def stage(self):
        pods, services = self.own("pods"), self.own("services")
        for pod in pods:
            lives = self.lives.setdefault(pod["metadata"]["name"], [])
            lives += [uid for uid in [pod["metadata"]["uid"]] if uid not in lives]
        stage = job_values.of_status(self.object())
        if self.looks == 1:
            stage |= job_values.of_pods(pods) | job_values.of_services(services)
        stage |= {f"pods.{name}": f"life {self.lives[name].index(uid) + 1}" for name, uid in map(name_and_uid, pods)}
        stage |= {f"services.{name}": "there" for name, _ in map(name_and_uid, services)}
        return {f"look{self.looks}.{path}": value for path, value in stage.items()}

    def told(self):
        mine = [one for one in self.cluster.list("events") if one["involvedObject"]["name"] == self.job.name]
        return {f"events.{key}": "told" for key in map(job_values.event_key, mine)}

    def wait(self, seconds):
        self.cluster.wait(float(seconds))

    def patch(self, body):
        self.cluster.patch("tfjobs", self.job.name, json.loads(body))

    def remove(self, task):
        self.cluster.delete("pods", f"{self.job.name}-{task}", {"gracePeriodSeconds": 0})

    def run(self, glob):
        if "*" not in glob:
            self.pod(glob)
        for pod in self.own("pods"):
            waits = pod["status"].get("phase", "Pending") == "Pending"
            if waits and fnmatch.fnmatch(pod["metadata"]["name"], f"{self.job.name}-{glob}"):
                self.set_status(pod, "Running", lambda: {"running": {"startedAt": self.cluster.now()}})

    def end(self, rest):
        task, code, *why = rest.split()
        now = self.cluster.now()
        reason = why[0] if why else "Error" if int(code) else "Completed"
        over = {"exitCode": int(code), "reason": reason, "startedAt": now, "finishedAt": now}
        self.set_status(self.pod(task), "Failed" if int(code) else "Succeeded", lambda: {"terminated": over})

    def restarts(self, rest):
        task, count = rest.split()
        self.set_status(self.pod(task), "Running", lambda: {"running": {"startedAt": self.cluster.now()}}, int(count))

    def evict(self, task):
        status = {"phase": "Failed", "reason": "Evicted", "containerStatuses": None}
        self.cluster.patch("pods", f"{self.job.name}-{task}", {"status": status}, "status")

    def pod(self, task):
        """Once it is there."""
        name = f"{self.job.name}-{task}"
        deadline = time.monotonic() + 10
        while not (found := [pod for pod in self.own("pods") if pod["metadata"]["name"] == name]):
            assert time.monotonic() < deadline, f"no pod {name}"
            time.sleep(0.05)
        return found[0]

    def set_status(self, pod, phase, state, restarts=0):
        status = job_values.pod_status(pod, phase, state(), restarts)
        self.cluster.patch("pods", pod["metadata"]["name"], {"status": status}, "status")


def name_and_uid(item):
    return item["metadata"]["name"], item["metadata"]["uid"]
