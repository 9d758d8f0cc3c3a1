"""`capstan apply --local`: the file of a cluster as processes of this machine."""

import json
import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / "shared" / "programs" / "tfjob"

HEAD = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: test
spec:
"""

REPLICA = """\
    {type}:
      replicas: {count}
      restartPolicy: {restart}
      template:
        spec:
          containers:
            - name: tensorflow
              image: example/test:1
"""


def job(replicas, spec="", container="", restart="Never"):
    """`replicas`: type to count. `container`: more lines of it."""
    text = HEAD + spec + "  tfReplicaSpecs:\n"
    for kind, count in replicas.items():
        text += REPLICA.format(type=kind, count=count, restart=restart) + container
    return text


@pytest.fixture
def apply(run_capstan, tmp_path):
    """Applies a job whose image is a Python program; `status` is what was said of it at the end."""

    def run(text, program=None, *options, timeout=120):
        (tmp_path / "job.yaml").write_text(text)
        images = []
        if program is not None:
            (tmp_path / "program.py").write_text(program)
            images = ["--image", "program.py"]
        done = run_capstan("apply", "--local", "job.yaml", "--json", *images, *options, timeout=timeout)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        done.lines = [event["line"] for event in events if event["event"] == "log"]
        done.status = next((event["status"] for event in events if event["event"] == "status"), None)
        return done

    return run


def conditions(done):
    return [(one["type"], one["status"], one["reason"]) for one in done.status["conditions"]]


SUCCEEDED = [
    ("Created", "True", "TFJobCreated"),
    ("Running", "False", "TFJobRunning"),
    ("Succeeded", "True", "TFJobSucceeded"),
]
FAILED = [*SUCCEEDED[:2], ("Failed", "True", "TFJobFailed")]


# --- the program of seed 003 ---------------------------------------------------------------------

here = pytest.mark.skipif(not PROGRAM.is_dir(), reason="the acceptance programs are not here")


@here
def test_the_seeds_file_ends_succeeded_with_the_warning_and_the_remedy(run_capstan, tmp_path):
    image = f"<DOCKER_USERNAME>/tf-mnist:gpu={PROGRAM / 'main.py'}"
    done = run_capstan("apply", "--local", PROGRAM / "tfjob.yaml", "--image", image, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "warning: restartPolicy OnFailure within the pod template of Master" in done.stderr
    assert "spec.tfReplicaSpecs[Master].restartPolicy: OnFailure" in done.stderr
    assert "nvidia.com/gpu of Master is left out here" in done.stderr
    assert re.search(r"^Succeeded +True +TFJobSucceeded", done.stdout, re.M)
    assert (tmp_path / "model" / "checkpoint").exists()


@here
def test_a_whole_cluster_trains_the_seeds_program(apply, tmp_path):
    text = job({"Master": 1, "Worker": 2, "PS": 1}, spec="  tensorboard: {logDir: ./model}\n")
    done = apply(text, None, "--image", PROGRAM / "main.py")
    assert done.returncode == 0, done.stderr
    assert conditions(done) == SUCCEEDED
    saved = re.search(r"model\.ckpt-(\d+)", (tmp_path / "model" / "checkpoint").read_text())
    assert int(saved[1]) >= 500  # a worker may add a step of its own
    replicas = done.status["replicaStatuses"]
    assert replicas["Master"]["succeeded"] == 1 and replicas["PS"]["succeeded"] == 1
    assert "tensorboard --logdir ./model" in done.stderr


# --- what a task is given ------------------------------------------------------------------------

SHOW = "import os, sys, json; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]))\n"


def shown(done):
    return [json.loads(line) for line in done.lines if line.startswith("[[")]


def test_a_task_has_arguments_environment_and_tf_config(apply):
    container = """\
              args: [--name, $(NAME), "$$(NAME)", $(UNKNOWN)]
              env:
                - {name: BASE, value: b}
                - {name: NAME, value: $(BASE)-x}
                - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
                - {name: GIVEN, valueFrom: {secretKeyRef: {name: s, key: k}}}
"""
    done = apply(job({"Chief": 1, "PS": 1}, container=container), SHOW, "--env", "GIVEN=g")
    assert done.returncode == 0, done.stderr
    for argv, env, _ in shown(done):
        config = json.loads(env["TF_CONFIG"])
        assert argv == ["--name", "b-x", "$(NAME)", "$(UNKNOWN)"]
        assert env["GIVEN"] == "g" and env["NAME"] == "b-x"
        assert env["POD"] == f"test-{config['task']['type']}-0"
        assert list(config) == ["cluster", "task", "environment"]
        assert {kind: len(hosts) for kind, hosts in config["cluster"].items()} == {"chief": 1, "ps": 1}
    assert shown(done)


def test_a_folder_stands_for_an_image_with_the_containers_command(apply, tmp_path):
    (tmp_path / "app" / "code").mkdir(parents=True)
    (tmp_path / "app" / "code" / "train.py").write_text(SHOW)
    container = "              command: [python3, /opt/code/train.py, --a]\n"
    done = apply(job({"Worker": 1}, container=container), None, "--image", "example/test=app")
    assert done.returncode == 0, done.stderr
    argv, _, folder = shown(done)[0]
    assert argv == ["--a"] and folder == str(tmp_path / "app")


def test_a_folders_main_program_runs_where_there_is_no_command(apply, tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").write_text(SHOW)
    done = apply(job({"Worker": 1}), None, "--image", "example/test:1=app")
    assert done.returncode == 0 and shown(done)[0][2] == str(tmp_path / "app")


# --- the rules of a TFJob ------------------------------------------------------------------------

ROLE = "import json, os, sys, time; r = json.loads(os.environ['TF_CONFIG'])['task']; me = r['type'], r['index']\n"
# Ends with `code` the first time and with 0 the second.
ONCE = "m = 'seen-%s-%d' % me\nif os.path.exists(m): sys.exit(0)\nopen(m, 'w').close(); sys.exit(%d)\n"


def test_worker_0_decides_and_the_others_are_stopped(apply):
    done = apply(job({"Worker": 2, "PS": 1}), ROLE + "time.sleep(0 if me == ('worker', 0) else 60)\n")
    assert done.returncode == 0 and conditions(done) == SUCCEEDED


def test_with_all_workers_the_last_one_decides(apply):
    program = ROLE + "sys.exit(0 if me[1] == 0 else 3)\n"
    done = apply(job({"Worker": 2}, spec="  successPolicy: AllWorkers\n"), program)
    assert done.returncode == 3 and conditions(done) == FAILED


def test_a_replica_that_is_never_restarted_fails_the_job(apply):
    done = apply(job({"Chief": 1, "Worker": 1}), ROLE + "if me[0] == 'worker': sys.exit(5)\ntime.sleep(60)\n")
    assert done.returncode == 5 and conditions(done) == FAILED
    assert "worker/0 failed first, with exit code 5" in done.status["conditions"][-1]["message"]
    assert done.status["replicaStatuses"]["Worker"]["failed"] == 1


@pytest.mark.parametrize(("code", "restarted"), [(1, False), (130, True)])
def test_exit_codes_of_128_and_above_are_tried_again(apply, code, restarted):
    done = apply(job({"Worker": 1}, restart="ExitCode"), ROLE + ONCE.replace("%d)", f"{code})"))
    assert done.returncode == (0 if restarted else code)
    assert conditions(done) == (SUCCEEDED if restarted else FAILED)
    assert done.status["replicaStatuses"]["Worker"].get("restartCount", 0) == restarted


def test_on_failure_every_code_is_tried_again_up_to_the_limit(apply):
    done = apply(job({"Worker": 1}, restart="OnFailure"), ROLE + ONCE.replace("%d)", "1)"))
    assert done.returncode == 0 and done.status["replicaStatuses"]["Worker"]["restartCount"] == 1
    spec = "  runPolicy: {backoffLimit: 1}\n"
    done = apply(job({"Worker": 1}, spec=spec, restart="OnFailure"), "import sys; sys.exit(1)\n")
    assert done.returncode == 1 and done.status["conditions"][-1]["type"] == "Failed"


def test_a_deadline_ends_the_job(apply):
    done = apply(job({"Worker": 1}, spec="  activeDeadlineSeconds: 1\n"), "import time; time.sleep(60)\n")
    assert done.returncode == 124 and conditions(done) == FAILED


# --- what cannot be run here ---------------------------------------------------------------------


def test_an_unknown_image_is_named_with_the_remedy(apply):
    done = apply(job({"Worker": 1}), None, "--image", "other/image=true")
    assert done.returncode == 2
    assert "job.yaml:14:15: spec.tfReplicaSpecs[Worker].template.spec.containers[0].image" in done.stderr
    assert "--image 'example/test:1=main.py'" in done.stderr


def test_a_value_of_the_cluster_is_named_with_the_remedy(apply):
    container = "              env: [{name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n"
    done = apply(job({"Worker": 1}, container=container), SHOW)
    assert done.returncode == 2 and "in the Secret s of the cluster; give it: --env KEY=VALUE" in done.stderr


def test_a_program_that_is_not_there_is_named(apply):
    done = apply(job({"Worker": 1}), None, "--image", "example/test:1=nowhere.py")
    assert done.returncode == 2 and "there is no nowhere.py" in done.stderr


def test_errors_are_said_before_anything_is_started(apply):
    done = apply(job({"Worker": 1}) + "---\n" + job({"Wroker": 1}), "print('began')\n")
    assert done.returncode == 2 and "did you mean Worker?" in done.stderr and done.lines == []


def test_a_job_in_the_background_is_found_by_its_name(apply, run_capstan, tmp_path):
    (tmp_path / "job.yaml").write_text(job({"Worker": 1}))
    (tmp_path / "program.py").write_text("import time; print('hello', flush=True); time.sleep(60)\n")
    done = run_capstan("apply", "--local", "job.yaml", "--image", "program.py", "--detach")
    assert done.returncode == 0, done.stderr
    try:
        assert "worker/0" in run_capstan("status", "test").stdout
    finally:
        assert run_capstan("stop", "test").returncode == 0
