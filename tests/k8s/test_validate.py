"""`capstan validate`: what is wrong with a job, where, and what would come of it."""

import json

import pytest

JOB = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: mnist
spec:
  tfReplicaSpecs:
    Chief:
      template:
        spec:
          containers:
            - name: tensorflow
              image: example/mnist:1
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: tensorflow
              image: example/mnist:1
"""


@pytest.fixture
def validate(run_capstan, tmp_path):
    def run(text, *options):
        file = tmp_path / "job.yaml"
        file.write_text(text) if isinstance(text, str) else file.write_bytes(text)
        return run_capstan("validate", "job.yaml", *options)

    return run


def test_a_valid_job_is_shown_with_its_defaults_and_tf_config(validate):
    done = validate(JOB)
    assert done.returncode == 0 and done.stderr == ""
    assert "TFJob mnist is valid" in done.stdout
    assert "cleanPodPolicy: Running" in done.stdout
    assert "containerPort: 2222" in done.stdout
    assert (
        '{"cluster":{"chief":["mnist-chief-0.default.svc:2222"],"worker":["mnist-worker-0.default.svc:2222",'
        '"mnist-worker-1.default.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"}'
    ) in done.stdout


def test_the_clusters_domain_is_part_of_the_hosts(validate):
    assert "mnist-chief-0.default.svc.cluster.local:2222" in validate(JOB, "--cluster-domain", "cluster.local").stdout


def test_errors_have_path_place_and_caret(validate):
    done = validate(JOB.replace("replicas: 2", "replica: 2").replace("Chief:", "Cheif:"))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "job.yaml:14:7: spec.tfReplicaSpecs[Worker].replica: Unknown: there is no field replica; did you mean "
        "replicas?\n"
        "        replica: 2\n"
        "        ^\n"
        'job.yaml:7:5: spec.tfReplicaSpecs[Cheif]: NotSupported: "Cheif" is no type of replica; there are Chief, '
        "Master, Worker, PS, Evaluator; did you mean Chief?\n"
        "      Cheif:\n"
        "      ^\n"
    )


def test_the_policy_of_the_template_is_warned_of_with_the_remedy(validate):
    done = validate(JOB + "          restartPolicy: OnFailure\n")
    assert done.returncode == 0
    assert "job.yaml:20:11: warning: restartPolicy OnFailure within the pod template of Worker" in done.stderr
    assert "spec.tfReplicaSpecs[Worker].restartPolicy: OnFailure" in done.stderr


def test_several_jobs_and_other_objects_may_be_in_a_file(validate):
    done = validate(f"{JOB}---\nkind: Service\napiVersion: v1\n---\n{JOB.replace('mnist', 'other')}", "--quiet")
    assert done.returncode == 0
    assert done.stdout == "job.yaml: TFJob mnist is valid\njob.yaml: TFJob other is valid\n"
    assert "Service is no TFJob, and is passed over" in done.stderr


def test_json_is_for_programs(validate):
    right = json.loads(validate(JOB, "--json").stdout)
    assert right["valid"] and set(right["tfConfig"]) == {"mnist-chief-0", "mnist-worker-0", "mnist-worker-1"}
    done = validate(JOB.replace("name: mnist", "name: 0"), "--json")
    wrong = json.loads(done.stdout)
    assert done.returncode == 2
    assert wrong["errors"][0]["path"] == "metadata.name" and wrong["errors"][0]["line"] == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", "job.yaml:2:1: a is given twice"),
        ("a:\n\tb: 1\n", "YAML wants spaces"),
        (b"a: \xff\n", "no UTF-8"),
        ('{"a": [1,}', "job.yaml:1:"),
        ("", "there is no TFJob in it"),
        ("- 1\n", "must be a map"),
        ("a: &a [*a]\n", "alias"),
        ("x" * 10_500_000, "more than the 10000000"),
        ("a: &a [" + "x," * 400 + "]\n" + "b: [" + "*a," * 600 + "]\n", "more than 200000 values"),
        ("a: " + "[" * 3000 + "]" * 3000, "deeper than 64"),
    ],
    ids=["twice", "tabs", "utf8", "json", "empty", "list", "itself", "large", "bomb", "deep"],
)
def test_bad_files_are_refused_where_they_break(validate, text, said):
    done = validate(text)
    assert done.returncode == 2 and said in done.stderr and len(done.stderr) < 1000


def test_control_characters_do_not_reach_the_terminal(validate):
    done = validate(JOB.replace("name: mnist", 'name: "a\\x1b[2J"'))
    assert done.returncode == 2 and "\x1b" not in done.stderr and "\\x1b" in done.stderr


def test_a_file_that_is_not_there_is_named(run_capstan):
    done = run_capstan("validate", "nowhere.yaml")
    assert done.returncode == 2 and "nowhere.yaml" in done.stderr
