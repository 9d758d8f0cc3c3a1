"""tf.app.flags and tf.app.run, each in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

DEFINE = """
import tensorflow as tf
flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_string("job_name", "", "a job")
flags.DEFINE_integer("task_index", 0, "a task")
flags.DEFINE_float("rate", 0.5, "a rate")
flags.DEFINE_boolean("sync", False, "a switch")
"""


def run(code, *args, roles=None):
    env = dict(os.environ)
    env.pop("CAPSTAN_ROLE_FLAGS", None)
    if roles is not None:
        env["CAPSTAN_ROLE_FLAGS"] = json.dumps(roles)
    return subprocess.run(
        [sys.executable, "-c", DEFINE + code, *args],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )


SHOW = "print(FLAGS.job_name, FLAGS.task_index, FLAGS.rate, FLAGS.sync)"


@pytest.mark.parametrize(
    "args,shown",
    [
        ([], " 0 0.5 False"),
        (["--job_name=ps", "--task_index", "3", "--rate=1e-3", "--sync"], "ps 3 0.001 True"),
        (["-job_name", "ps", "--sync=true"], "ps 0 0.5 True"),
        (["--sync", "False", "--task_index=0x10"], " 16 0.5 False"),
        (["--nosync", "--unknown=3", "rest"], " 0 0.5 False"),
    ],
)
def test_the_first_access_reads_the_command_line(args, shown):
    assert run(SHOW, *args).stdout.strip("\n") == shown


def test_a_value_that_is_none_ends_the_program():
    done = run(SHOW, "--task_index=many")
    assert done.returncode == 2 and "task_index" in done.stderr


def test_roles_of_the_launcher_serve_where_the_command_line_is_silent():
    roles = {"job_name": "worker", "task_index": "2", "elsewhere": "x"}
    assert run(SHOW, roles=roles).stdout.strip() == "worker 2 0.5 False"
    assert run(SHOW, "--task_index=5", roles=roles).stdout.strip() == "worker 5 0.5 False"


def test_flags_may_be_set_listed_and_defined_late():
    code = """
FLAGS.job_name = "mine"
flags.DEFINE_string("late", "x", "")
print(FLAGS.late, FLAGS.job_name, sorted(FLAGS.flag_values_dict()))
for name, value in sorted(FLAGS.__flags.items()):
    print("%s=%s" % (name, value))
print(FLAGS.__flags["rate"].value)
"""
    lines = run(code, "--late=y").stdout.splitlines()
    assert lines[0] == "y mine ['job_name', 'late', 'rate', 'sync', 'task_index']"
    assert lines[1:] == ["job_name=mine", "late=y", "rate=0.5", "sync=False", "task_index=0", "0.5"]


ABSL = """
flags.DEFINE_integer("steps", 10, "steps", lower_bound=1, upper_bound=100, short_name="n")
flags.DEFINE_multi_string("host", None, "a host")
flags.DEFINE_string("data", None, "where", required=True)
flags.DEFINE_float(flag_name="decay", default_value=0.9, docstring="a decay")
print(FLAGS.steps, FLAGS.host, FLAGS.data, FLAGS.decay)
"""


def test_flags_know_what_absl_does():
    done = run(ABSL, "-n", "3", "--host=a", "--host", "b", "--data=d", "--decay=0.5")
    assert done.stdout.strip() == "3 ['a', 'b'] d 0.5", done.stderr


@pytest.mark.parametrize(
    "args,complaint",
    [
        (["--data=d", "--steps=0"], "flag --steps=0: must be 1 or more"),
        (["--data=d", "-n", "101"], "flag --steps=101: must be 100 or less"),
        (["--steps=5"], "flag --data must be given"),
    ],
)
def test_bounds_and_required_flags_are_kept(args, complaint):
    done = run(ABSL, *args)
    assert done.returncode == 2 and complaint in done.stderr


def test_a_required_flag_is_asked_for_at_the_first_look():
    code = (
        "flags.DEFINE_string('data', None, '')\nflags.mark_flag_as_required('data')\nprint('go')\n"
    )
    assert run(code + "print(FLAGS.data)", "--data=d").stdout.split() == ["go", "d"]
    done = run(code + "FLAGS.data", "--rate=1")
    assert done.returncode == 2 and done.stdout.strip() == "go" and "--data must be" in done.stderr
    assert "no flag named 'dada'" in run("flags.mark_flag_as_required('dada')").stderr


def test_an_argument_that_no_definition_has_is_refused():
    done = run("flags.DEFINE_string('data', None, '', requird=True)")
    assert done.returncode == 1 and "requird" in done.stderr


def test_a_flag_that_is_not_defined_is_named():
    done = run("FLAGS.job_nam")
    assert "no flag named 'job_nam'" in done.stderr and "job_name" in done.stderr


@pytest.mark.parametrize(
    "args,shown",
    [
        (["--task=3", "--job", "ps"], "ps 3 0.5 False"),
        (["--sy", "--ra=2"], " 0 2.0 True"),
        (["--sync", "--nos"], " 0 0.5 False"),
    ],
)
def test_a_prefix_that_only_one_flag_has_stands_for_it(args, shown):
    done = run(SHOW, *args)
    assert done.stdout.strip("\n") == shown and not done.stderr


def test_the_whole_name_of_a_flag_is_no_prefix_of_another():
    code = "flags.DEFINE_string('job', 'x', '')\nprint(FLAGS.job, FLAGS.job_name)"
    assert run(code, "--job=a", "--job_name=b").stdout.split() == ["a", "b"]


def test_a_prefix_of_several_flags_is_refused_with_their_names():
    done = run("flags.DEFINE_integer('task_count', 1, '')\n" + SHOW, "--task=3")
    assert done.returncode == 2
    assert "flag --task may mean any of --task_count, --task_index" in done.stderr


def test_an_unknown_flag_that_is_near_a_defined_one_gets_a_warning():
    code = SHOW + "\nflags.DEFINE_string('late', '', '')\nFLAGS.late"
    done = run(code, "--jobname=ps", "--tsak_index", "3", "--unknown=3")
    assert done.returncode == 0 and done.stdout.strip("\n") == " 0 0.5 False"
    assert done.stderr.count("there is no flag --jobname; did you mean --job_name?") == 1
    assert done.stderr.count("there is no flag --tsak_index; did you mean --task_index?") == 1
    assert "unknown" not in done.stderr


def test_app_run_calls_main_and_returns_its_code():
    code = """
def main(argv):
    print(len(argv), argv[1:], FLAGS.task_index)
    return 7
tf.app.run()
"""
    done = run(code, "--task_index=4", "rest")
    assert done.stdout.strip() == "2 ['rest'] 4" and done.returncode == 7


def test_help_shows_the_flags():
    done = run(SHOW, "--help")
    assert done.returncode == 0 and "--task_index" in done.stdout and "a task" in done.stdout
