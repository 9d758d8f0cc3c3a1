"""The words for jobs against a real API server, with the operator at work and containers as processes."""

import json
import re
import subprocess
import time

import pytest
from test_operator import conditions, job_of, job_path, names, replica, wait_until

pytestmark = pytest.mark.rig

# Prints a line, and ends when the file is there; then prints another one.
UNTIL = "echo begins; while ! test -e {0}; do sleep 0.05; done; echo ends"


@pytest.fixture(scope="module")
def operator(rig, capstan, tmp_path_factory):
    """One for all namespaces of this page."""
    log = tmp_path_factory.mktemp("operator") / "log"
    with open(log, "wb") as out:
        process = subprocess.Popen([capstan, "operator", "--kubeconfig", str(rig.kubeconfig)], stderr=out)
    yield process
    process.terminate()
    process.wait(timeout=10)
    print(log.read_text())


@pytest.fixture
def there(rig, namespace, operator, run_capstan):
    """Runs a command in this test's namespace."""

    def run(command, *words, **options):
        return run_capstan(command, "--kubeconfig", rig.kubeconfig, "-n", namespace, *words, **options)

    return run


@pytest.fixture
def apply(there, tmp_path):
    """Applies a job: apply(job_of(…), "--follow")."""

    def run(job, *options, **more):
        (tmp_path / "job.yaml").write_text(json.dumps(job, indent=1))
        return there("apply", "job.yaml", *options, **more)

    return run


@pytest.fixture
def start(capstan, rig, namespace, operator, tmp_path):
    """The same in the background."""
    started = []

    def run(command, *words):
        words = [capstan, command, "--kubeconfig", rig.kubeconfig, "-n", namespace, *words]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(list(map(str, words)), cwd=tmp_path, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


def workers(count, script, **spec):
    return job_of("words", {"Worker": replica(count, "any", command=["sh", "-c", script])}, **spec)


def seen(rig, namespace, name="words"):
    return rig.api.find(job_path(namespace, name))


# --- apply ---------------------------------------------------------------------------------------


def test_a_file_is_applied_followed_and_its_end_is_the_exit_code(apply):
    done = apply(workers(2, "echo hello from $HOSTNAME"), "--follow", timeout=90)
    assert done.returncode == 0, done.stderr
    first, *lines, last = done.stdout.splitlines()
    assert first.endswith("/words: created") and last.endswith("/words: Succeeded")
    assert "[worker/0] hello from words-worker-0" in lines


def test_a_job_that_fails_says_so(apply):
    done = apply(workers(1, "echo broken; exit 3"), "--follow", timeout=90)
    assert done.returncode == 1
    assert "[worker/0] broken" in done.stdout and "/words: Failed: " in done.stdout


def test_a_file_applied_again_changes_what_it_names_and_nothing_else(rig, namespace, apply, there, tmp_path):
    script = UNTIL.format(tmp_path / "stop")
    assert ": created" in apply(workers(1, script)).stdout
    assert ": unchanged" in apply(workers(1, script)).stdout
    # Somebody else sets a field that the file does not name.
    rig.kubectl("label", "tfjob", "-n", namespace, "words", "team=a")
    rig.kubectl("scale", "tfjob", "-n", namespace, "words", "--replicas=2")
    done = apply(workers(3, script))
    assert "spec.tfReplicaSpecs.Worker.replicas: 2 -> 3" in done.stdout, done.stderr
    assert seen(rig, namespace)["metadata"]["labels"] == {"team": "a"}
    rig.wait_pod("words-worker-2", lambda pod: pod, namespace)
    # What the file named and names no more goes.
    with_ttl = workers(3, script, run_policy={"ttlSecondsAfterFinished": 600})
    assert "ttlSecondsAfterFinished" in apply(with_ttl).stdout
    assert 'spec.runPolicy: {"ttlSecondsAfterFinished":600} -> none' in apply(workers(3, script)).stdout
    assert "runPolicy" not in seen(rig, namespace)["spec"]
    (tmp_path / "stop").touch()
    assert there("wait", "words").returncode == 0
    again = apply(workers(3, script))
    assert "has ended (Succeeded), and does not run again" in again.stderr


def test_every_version_is_applied_as_it_is(rig, namespace, apply):
    for version in ("v1beta1", "v1beta2", "v1"):
        job = workers(1, "true")
        job["apiVersion"], job["metadata"]["name"] = f"kubeflow.org/{version}", f"as-{version}"
        done = apply(job)
        assert done.returncode == 0, done.stderr
        assert seen(rig, namespace, f"as-{version}")


def test_a_dry_run_changes_nothing(rig, namespace, apply):
    done = apply(workers(1, "true"), "--dry-run")
    assert done.returncode == 0 and "created (dry run)" in done.stdout, done.stderr
    assert seen(rig, namespace) is None


def test_an_unknown_field_is_refused_that_the_server_would_prune(rig, namespace, apply):
    done = apply(workers(1, "true", run_policy={"backoffLimits": 3}))
    assert done.returncode == 2
    assert re.search(r"job.yaml:\d+:\d+: spec.runPolicy.backoffLimits: Unknown", done.stderr), done.stderr
    assert "did you mean backoffLimit?" in done.stderr
    assert seen(rig, namespace) is None


def test_fields_that_must_not_change_are_named(apply):
    ours = {"managedBy": "kubeflow.org/training-operator"}
    theirs = {"managedBy": "kueue.x-k8s.io/multikueue"}
    assert apply(workers(1, "true", run_policy=ours)).returncode == 0
    done = apply(workers(1, "true", run_policy=theirs))
    assert done.returncode == 2 and "spec.runPolicy.managedBy: Invalid" in done.stderr


def test_a_missing_right_is_named_with_the_rule_that_gives_it(rig, namespace, apply, run_capstan, tmp_path):
    def as_one_who_may(name, *verbs):
        rules = [{"apiGroups": ["kubeflow.org"], "resources": ["tfjobs"], "verbs": list(verbs)}]
        config = rig.service_account(name, rules, namespace, cluster_wide=False)
        return run_capstan("apply", "--kubeconfig", config, "-n", namespace, "job.yaml")

    (tmp_path / "job.yaml").write_text(json.dumps(workers(1, "true")))
    rule = (
        '- {{apiGroups: ["kubeflow.org"], resources: ["tfjobs"], verbs: ["{}"]}} in its Role in namespace ' + namespace
    )
    done = as_one_who_may("looks", "list")
    assert done.returncode == 1 and rule.format("get") in done.stderr, done.stderr
    done = as_one_who_may("reads", "get")
    assert done.returncode == 1 and rule.format("patch") in done.stderr, done.stderr
    done = as_one_who_may("patches", "get", "patch")
    assert done.returncode == 1 and rule.format("create") in done.stderr, done.stderr
    assert as_one_who_may("creates", "get", "patch", "create").returncode == 0


def test_a_cluster_without_the_definition_says_how_to_install_it(new_rig, run_capstan, tmp_path):
    rig = new_rig(crds=())
    (tmp_path / "job.yaml").write_text(json.dumps(workers(1, "true")))
    done = run_capstan("apply", "--kubeconfig", rig.kubeconfig, "job.yaml")
    assert done.returncode == 2
    assert "Is the CRD of tfjobs.kubeflow.org installed" in done.stderr
    assert "capstan validate --print-crd | kubectl apply --server-side -f -" in done.stderr


# --- get and describe ----------------------------------------------------------------------------


def test_jobs_are_listed_and_described(rig, namespace, apply, there, run_capstan, tmp_path):
    apply(workers(2, UNTIL.format(tmp_path / "stop")))
    assert there("wait", "--for=Running", "words").returncode == 0
    wait_until(lambda: re.search(r"^words +Running +2/2 ", there("get").stdout, re.M))
    assert f"\n{namespace} " in run_capstan("get", "--kubeconfig", rig.kubeconfig, "-A").stdout
    (line,) = [json.loads(text) for text in there("get", "--json").stdout.splitlines()]
    assert (line["name"], line["state"], line["tasks"]) == ("words", "Running", 2)
    text = there("describe", "words").stdout
    assert re.search(r"^words-worker-1 +Running +1 +node-0", text, re.M), text
    assert re.search(r"^Running +True .*TFJobRunning", text, re.M) and "SuccessfulCreatePod" in text
    assert json.loads(there("get", "words", "--json").stdout)["kind"] == "TFJob"
    assert "tfReplicaSpecs:" in there("get", "words", "--yaml").stdout


# --- logs ----------------------------------------------------------------------------------------


def test_logs_of_all_replicas_are_shown_and_followed(rig, namespace, apply, there, start, tmp_path):
    apply(workers(2, UNTIL.format(tmp_path / "stop")))
    follower = start("logs", "-f", "words")
    assert {follower.stdout.readline() for _ in range(2)} == {"[worker/0] begins\n", "[worker/1] begins\n"}
    assert there("logs", "words").stdout == "[worker/0] begins\n[worker/1] begins\n"
    assert there("logs", "words", "worker/1").stdout == "begins\n"
    done = there("logs", "words", "worker/7")
    assert done.returncode == 2 and "has no task worker/7; it has worker/0, worker/1" in done.stderr
    (tmp_path / "stop").touch()
    rest, said = follower.communicate(timeout=30)
    assert "[worker/0] ends\n" in rest and follower.returncode == 0, said
    assert there("logs", "--tail", 1, "words", "worker/0").stdout == "ends\n"


def test_what_starts_again_is_followed_too(apply, tmp_path):
    marker = tmp_path / "was_here"
    script = f"test -e {marker} && echo second && exit 0; touch {marker}; echo first; kill -9 $$"
    job = job_of("words", {"Worker": replica(1, "any", "ExitCode", command=["sh", "-c", script])})
    done = apply(job, "--follow", timeout=90)
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("[worker/0] first") < done.stdout.index("[worker/0] second")


def test_logs_are_kept_when_a_job_is_deleted(rig, namespace, apply, there, run_capstan):
    apply(workers(2, "echo $HOSTNAME was here"))
    assert there("wait", "words").returncode == 0
    done = there("delete", "words")
    assert done.returncode == 0 and "/words: deleted" in done.stdout, done.stderr
    (kept,) = re.findall(r"its logs are kept here: capstan logs (\w+)", done.stderr)
    assert seen(rig, namespace) is None and names(rig, namespace) == []
    assert "[worker/0] words-worker-0 was here" in run_capstan("logs", kept).stdout
    assert run_capstan("logs", "words").stdout == run_capstan("logs", kept).stdout
    status = run_capstan("status", "words").stdout
    assert "succeeded" in status and f"namespace {namespace} of https://" in status
    assert run_capstan("rm", "words").returncode == 0
    assert run_capstan("logs", "words").returncode == 2


def test_logs_are_not_kept_where_nobody_wants_them(apply, there, run_capstan):
    apply(workers(1, "echo here"))
    there("wait", "words")
    assert "kept" not in there("delete", "--no-logs", "words").stderr
    assert run_capstan("logs", "--local", "words").returncode == 2


# --- wait ----------------------------------------------------------------------------------------


def test_waiting_tells_how_a_job_ended(apply, there):
    apply(workers(1, "true"))
    assert there("wait", "words", "--for=Succeeded", "--timeout", "60").returncode == 0
    done = there("wait", "words", "--for=Failed")
    assert done.returncode == 1 and "/words: Succeeded" in done.stdout
    assert there("wait", "words", "--for=running").returncode == 0  # it did
    job = workers(1, "exit 7")
    job["metadata"]["name"] = "fails"
    apply(job)
    done = there("wait", "fails", "--timeout", "60")
    assert done.returncode == 1 and "/fails: Failed: " in done.stdout
    assert there("wait", "absent").returncode == 2


def test_waiting_has_a_limit(apply, there):
    apply(workers(1, "sleep 1000"))
    done = there("wait", "words", "--for=Succeeded", "--timeout", "1")
    assert done.returncode == 124 and "not succeeded after 1 s: it is" in done.stderr
    there("delete", "--no-wait", "--no-logs", "words")


def test_waiting_for_a_deletion_ends_with_it(apply, there, start):
    apply(workers(1, "sleep 1000"))
    there("wait", "--for=Running", "words")
    waiter = start("wait", "--for=deleted", "words")
    assert there("delete", "words").returncode == 0
    assert waiter.communicate(timeout=30)[0].endswith("/words: deleted\n") and waiter.returncode == 0


def test_a_job_that_no_operator_takes_up_is_said_to_be_so(rig_without_nodes, run_capstan, namespace, tmp_path):
    job = workers(1, "true", run_policy={"managedBy": "kueue.x-k8s.io/multikueue"})
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    config = rig_without_nodes.kubeconfig
    assert run_capstan("apply", "--kubeconfig", config, "-n", namespace, "job.yaml").returncode == 0
    done = run_capstan("wait", "--kubeconfig", config, "-n", namespace, "words", "--timeout", "6")
    assert done.returncode == 124 and "taken up by nobody yet: does an operator run" in done.stderr


# --- scale, suspend, stop ------------------------------------------------------------------------


def test_a_job_is_scaled(rig, namespace, apply, there, tmp_path):
    apply(workers(1, UNTIL.format(tmp_path / "stop"), enableDynamicWorker=True))
    done = there("scale", "words", 3)
    assert done.returncode == 0 and "/words: Worker: 1 -> 3" in done.stdout, done.stderr
    rig.wait_pod("words-worker-2", lambda pod: pod, namespace)
    there("scale", "words", "worker=1")
    rig.wait_pod("words-worker-2", lambda pod: pod is None, namespace)
    done = there("scale", "words", "ps=2")
    assert done.returncode == 2 and "has no replicas of type ps; it has Worker" in done.stderr
    (tmp_path / "stop").touch()


def test_a_job_is_suspended_and_resumed_and_its_logs_are_kept(rig, namespace, apply, there, run_capstan, tmp_path):
    apply(workers(1, UNTIL.format(tmp_path / "stop")))
    wait_until(lambda: "begins" in there("logs", "words").stdout)
    done = there("suspend", "words")
    assert done.returncode == 0 and "/words: suspended" in done.stdout, done.stderr
    assert there("wait", "--for=Suspended", "words").returncode == 0
    wait_until(lambda: names(rig, namespace) == [])
    assert "[worker/0] begins" in run_capstan("logs", "--local", "words").stdout
    assert "was already suspended" in there("suspend", "words").stdout
    assert there("resume", "words").returncode == 0
    (tmp_path / "stop").touch()
    assert there("wait", "words", "--timeout", "60").returncode == 0
    assert ("Suspended", "False") in conditions(seen(rig, namespace))


def test_stopping_waits_until_nothing_runs(rig, namespace, apply, there):
    apply(workers(2, "trap 'exit 0' TERM; while true; do sleep 0.05; done"))
    there("wait", "--for=Running", "words")
    begin = time.monotonic()
    assert there("stop", "words").returncode == 0
    assert names(rig, namespace) == [] and time.monotonic() - begin < 30
    assert seen(rig, namespace)["spec"]["runPolicy"]["suspend"] is True
