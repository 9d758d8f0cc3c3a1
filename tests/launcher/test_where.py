"""One set of words for jobs of this machine and of a cluster: which one a name means, and what is said of it."""

import http.server
import json
import threading
import urllib.parse

import pytest

WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"
JOBS = "/apis/kubeflow.org/v1/namespaces/train/tfjobs"


def tf_job(name, state="Running"):
    container = {"name": "tensorflow", "image": "any"}
    worker = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    condition = {"type": state, "status": "True", "reason": "r", "message": f"it is {state}"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name, "namespace": "train", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
        "status": {"conditions": [condition]},
    }


class Handler(http.server.BaseHTTPRequestHandler):
    """Knows the TFJobs of one namespace, and lists of nothing else."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        jobs = self.server.jobs
        name = path.removeprefix(JOBS).strip("/")
        if path.startswith(JOBS) and name in jobs:
            self.answer(200, jobs[name])
        elif path == JOBS:
            self.answer(200, {"kind": "TFJobList", "items": list(jobs.values()), "metadata": {"resourceVersion": "1"}})
        elif path.startswith(JOBS):
            details = {"name": name, "kind": "tfjobs"}
            words = f'tfjobs.kubeflow.org "{name}" not found'
            self.answer(404, {"kind": "Status", "reason": "NotFound", "message": words, "details": details})
        else:
            self.answer(200, {"kind": "List", "items": [], "metadata": {"resourceVersion": "1"}})

    def answer(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def kubeconfig_for(path, server):
    context = {"cluster": "c", "user": "u", "namespace": "train"}
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(json.dumps(config))
    return str(path)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A cluster of which the kubeconfig tells; `cluster.jobs` are its TFJobs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.jobs = {"mnist": tf_job("mnist")}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    server.kubeconfig = kubeconfig_for(tmp_path / "kubeconfig", address)
    monkeypatch.setenv("KUBECONFIG", server.kubeconfig)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def no_answer(tmp_path, monkeypatch):
    """A kubeconfig of a cluster that nobody reaches."""
    monkeypatch.setenv("KUBECONFIG", kubeconfig_for(tmp_path / "kubeconfig", "http://127.0.0.1:1"))


def test_a_name_is_found_in_the_cluster_that_the_kubeconfig_names(cluster, run_capstan):
    done = run_capstan("status", "mnist")
    assert done.returncode == 0 and "train/mnist" in done.stdout and "Running" in done.stdout, done.stderr
    assert run_capstan("describe", "mnist").stdout == done.stdout


def test_a_job_that_is_nowhere_is_looked_for_in_both_places(cluster, run_capstan):
    done = run_capstan("logs", "mnits")
    assert done.returncode == 2
    assert "no job mnits" in done.stderr and "nor in namespace train of http://127.0.0.1" in done.stderr


def test_a_job_that_has_ended_here_gives_way_to_the_cluster(cluster, run_capstan, program):
    run_capstan("run", "--workers", 1, "--name", "mnist", program(""))
    assert "train/mnist" in run_capstan("status", "mnist").stdout
    assert "succeeded after" in run_capstan("status", "--local", "mnist").stdout


def test_a_job_that_runs_here_and_in_the_cluster_has_to_be_told_apart(cluster, run_capstan, detach, program):
    job = detach("--workers", 1, "--name", "mnist", program(WAITS))
    done = run_capstan("status", "mnist")
    assert done.returncode == 2
    assert "mnist runs on this machine, and is a job in namespace train" in done.stderr
    assert "say --local, or --namespace train" in done.stderr
    assert "running for" in run_capstan("status", "--local", "mnist").stdout
    assert "running for" in run_capstan("status", job).stdout
    assert "train/mnist" in run_capstan("status", "-n", "train", "mnist").stdout


def test_a_job_of_another_name_is_found_here_though_there_is_a_cluster(cluster, run_capstan, program):
    run_capstan("run", "--workers", 1, "--name", "other", program(""))
    assert "succeeded after" in run_capstan("status", "oth").stdout


def test_a_cluster_that_does_not_answer_does_not_hold_up_what_is_here(no_answer, run_capstan, program):
    run_capstan("run", "--workers", 1, "--name", "mnist", program(""))
    done = run_capstan("status", "mnist")
    assert done.returncode == 0 and "succeeded after" in done.stdout
    assert "note: only this machine was asked: cannot get tfjobs.kubeflow.org train/mnist" in done.stderr
    assert "the cluster cannot be asked" in run_capstan("status", "absent").stderr
    assert run_capstan("jobs").returncode == 0
    assert run_capstan("get", "-n", "train").returncode == 1  # it was asked for


def test_jobs_of_both_places_are_listed(cluster, run_capstan, program):
    run_capstan("run", "--workers", 1, "--name", "here", program(""))
    shown = run_capstan("jobs").stdout
    assert "here" in shown and "namespace train of http" in shown and "mnist" in shown
    assert run_capstan("get").stdout == shown
    lines = [json.loads(line) for line in run_capstan("jobs", "--json").stdout.splitlines()]
    assert [(one["name"], one["state"]) for one in lines] == [("here", "succeeded"), ("mnist", "Running")]
    assert "here" not in run_capstan("get", "-n", "train").stdout


def test_the_place_has_to_be_one(cluster, run_capstan):
    done = run_capstan("status", "--local", "-n", "train", "mnist")
    assert done.returncode == 2 and "which one is it to be?" in done.stderr


@pytest.mark.parametrize("words", [["scale", "mnist", "2"], ["suspend", "mnist"], ["resume", "mnist"]])
def test_what_only_a_cluster_can_do_is_refused_here_with_what_can_be_done(run_capstan, program, words):
    run_capstan("run", "--workers", 1, "--name", "mnist", program(""))
    done = run_capstan(*words)
    assert done.returncode == 1 and "is of this machine, where a job cannot be" in done.stderr


def test_waiting_tells_how_a_job_of_this_machine_ended(run_capstan, detach, program):
    good = detach("--workers", 1, "--name", "good", program("import time; time.sleep(0.3)", "good"))
    bad = detach("--workers", 1, "--name", "bad", program("import time; time.sleep(0.3); exit(3)", "bad"))
    assert run_capstan("wait", good, "--for=running").returncode == 0
    assert run_capstan("wait", good).returncode == 0
    assert run_capstan("wait", "good", "--for=Failed").returncode == 1
    done = run_capstan("wait", "bad", "--for=condition=Succeeded")
    assert done.returncode == 3 and f"{bad}: failed" in done.stdout


def test_waiting_for_a_job_of_this_machine_has_a_limit(run_capstan, detach, program):
    job = detach("--workers", 1, program(WAITS))
    done = run_capstan("wait", job, "--timeout", "0.2s")
    assert done.returncode == 124 and f"{job}: not ended after 0.2 s: it is running" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["wait", "x", "--for=Suceeded"], "did you mean succeeded?"),
        (["wait", "x", "--timeout", "soon"], "expected seconds"),
        (["scale", "x", "many"], "expected a number of workers, or TYPE=NUMBER"),
        (["scale", "x", "ps=-1"], "expected a number of workers, or TYPE=NUMBER"),
    ],
)
def test_words_that_make_no_sense_are_refused(run_capstan, words, said):
    done = run_capstan(*words)
    assert done.returncode == 2 and said in done.stderr


def test_deleting_a_job_of_this_machine_stops_and_forgets_it(run_capstan, detach, program, shelf):
    job = detach("--workers", 1, "--name", "long", program(WAITS))
    done = run_capstan("delete", "long")
    assert done.returncode == 0 and f"{job}: removed" in done.stdout
    assert not (shelf / job).exists()


def test_only_the_last_lines_of_each_task_are_shown_if_so_asked(run_capstan, program):
    body = "import sys\nfor i in range(5): print(i)\nsys.exit(1)"
    run_capstan("run", "--workers", 1, "--name", "five", program(body))
    assert run_capstan("logs", "--tail", 2, "five").stdout == "[worker/0] 3\n[worker/0] 4\n"
    assert run_capstan("logs", "--tail", 0, "five").stdout == ""


def test_options_of_one_place_are_refused_for_the_other(cluster, run_capstan, tmp_path):
    (tmp_path / "job.yaml").write_text(json.dumps(tf_job("mnist")))
    done = run_capstan("apply", "job.yaml", "--image", "main.py")
    assert done.returncode == 2 and "add --local" in done.stderr
    done = run_capstan("apply", "--local", "job.yaml", "--follow")
    assert done.returncode == 2 and "are for jobs of a cluster" in done.stderr


def test_an_unknown_field_is_refused_before_the_cluster_would_drop_it(cluster, run_capstan, tmp_path):
    job = tf_job("new")
    job["spec"]["runPolicy"] = {"cleanPodPolcy": "All"}
    (tmp_path / "job.yaml").write_text(json.dumps(job, indent=1))
    done = run_capstan("apply", "job.yaml")
    assert done.returncode == 2
    assert "cleanPodPolcy" in done.stderr and "did you mean cleanPodPolicy?" in done.stderr


def test_a_file_of_another_namespace_is_refused(cluster, run_capstan, tmp_path):
    (tmp_path / "job.yaml").write_text(json.dumps(tf_job("mnist"), indent=1))
    done = run_capstan("apply", "-n", "other", "job.yaml")
    assert done.returncode == 2 and "is train, and --namespace says other" in done.stderr


def test_without_a_cluster_a_file_runs_on_this_machine(run_capstan, tmp_path):
    (tmp_path / "main.py").write_text("print('trained')\n")
    job = tf_job("mnist")
    del job["status"]
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    done = run_capstan("apply", "job.yaml", "--image", "main.py")
    assert done.returncode == 0, done.stderr
    assert "no cluster is known: the jobs run on this machine" in done.stderr
    assert "[worker/0] trained" in done.stdout
