"""Training by a job script: what each task receives, what is published, what is left behind."""

import json
import re
import time

import pytest
from job_scripts import rows_of

SAVE = """
if job == "worker":
    os.makedirs(context.output_model_dir())
    open(os.path.join(context.output_model_dir(), "weights"), "w").write("w")
"""


def train(scripts, body, *arguments, **more):
    code, out, err = scripts.run("--output", "json", *arguments, scripts.job(body, **more))
    return code, rows_of(out), err


def test_every_task_learns_its_role_the_cluster_and_its_parameters(scripts):
    body = """
flags = json.loads(os.environ["CAPSTAN_ROLE_FLAGS"])
config = json.loads(os.environ["TF_CONFIG"])
assert config["cluster"] == cluster and config["task"] == {"type": job, "index": task}
assert flags["job_name"] == job and flags["ps_hosts"] == ",".join(cluster["ps"])
assert [len(cluster["worker"]), len(cluster["ps"])] == [3, 2]
assert context.conf["embedding.size"] == "8" and context.conf["psNum"] == "2"
assert context.conf["PY_EXECUTE_USER"] and context.conf["groupId"]
assert os.listdir(".") == ["trainer.py"] and ("tempDataLocalPath" in context.conf) == (job == "worker")
if job == "worker":
    assert not os.path.exists(context.output_model_dir())
    print("rows", [json.loads(line)["x"] for line in open(context.input_data_dir())])
"""
    options = 'and fitParam.0.psNum="2" and fitParam.0.embedding.size="8"'
    code, rows, err = train(scripts, body, workers=3, rows=7, options=options)
    assert code == 0, err
    assert [(row["jobName"], row["taskIndex"], row["isPs"]) for row in rows] == [
        ("worker", 0, False),
        ("worker", 1, False),
        ("worker", 2, False),
        ("ps", 0, True),
        ("ps", 1, True),
    ]
    assert all(row["done"] and row["success"] for row in rows)
    assert list(rows[0]) == ["host", "port", "jobName", "taskIndex", "isPs", "done", "success"]
    assert len({row["port"] for row in rows}) == 5
    shards = dict(re.findall(r"\[worker/(\d)\] rows (\[.*\])", err))
    assert sorted(sum(map(json.loads, shards.values()), [])) == list(range(7))


def test_a_line_of_a_task_is_logged_with_owner_group_and_task(scripts):
    _, _, err = train(scripts, "print('hello')\nprint('oops', file=sys.stderr)", workers=1)
    assert re.search(r"^\[owner\] \[\S+\] \[groupId\] \[[0-9a-f]{12}\] \[worker/0\] hello$", err, re.M)
    assert re.search(r"\[ps/0\] hello$", err, re.M) and re.search(r"\[worker/0\] oops$", err, re.M)


def test_a_parameter_server_that_only_waits_is_stopped_soon_after_the_last_worker(scripts):
    body = "time.sleep(600 if job == 'ps' else 0)\nprint('ends', time.time())"
    code, rows, err = train(scripts, body)
    last = max(map(float, re.findall(r"\] ends ([0-9.]+)", err)))
    assert code == 0 and time.time() - last < 5
    assert all(row["done"] and row["success"] for row in rows) and scripts.processes() == {}


def test_models_are_published_one_after_the_other_with_what_made_them(scripts):
    for _ in range(2):
        code, _, err = train(scripts, SAVE + "print('saved')")
        assert code == 0, err
    assert scripts.models() == ["_model_0", "_model_1"]
    version = scripts.folder / "model" / "_model_1"
    assert [p.name for p in (version / "model").iterdir()] == ["0"]
    assert (version / "model" / "0" / "weights").read_text() == "w"
    meta = json.loads((version / "meta" / "model.json").read_text())
    assert re.search(r"\[groupId\] \[%s\]" % meta["group"], err)
    assert meta["statement"].startswith("train data as DTF.`/model` where")
    assert meta["schema"] == [{"name": "x", "type": "BIGINT"}]
    assert (meta["parameters"]["entryPoint"], meta["rows"], meta["workers"]) == ("trainer", 4, 2)
    assert scripts.temporary_files() == []


def test_without_versions_the_model_is_replaced(scripts):
    (scripts.folder / "model" / "model" / "0").mkdir(parents=True)
    (scripts.folder / "model" / "model" / "0" / "old").write_text("old")
    code, _, err = train(scripts, SAVE, options='and keepVersion="false"')
    assert code == 0, err
    assert scripts.models() == ["meta", "model"]
    assert [p.name for p in (scripts.folder / "model" / "model" / "0").iterdir()] == ["weights"]


def test_another_worker_may_be_the_chief(scripts):
    code, _, err = train(scripts, SAVE, options='and fitParam.0.chiefIndex="1"')
    assert code == 0, err
    assert [p.name for p in (scripts.folder / "model" / "_model_0" / "model").iterdir()] == ["1"]


def test_a_training_that_writes_no_model_publishes_none(scripts):
    code, rows, err = train(scripts, "pass")
    assert code == 0 and "no model is published" in err
    assert scripts.models() == [] and all(row["success"] for row in rows)


def test_shards_may_be_parquet_at_either_level(scripts):
    body = """
if job == "worker":
    assert context.input_data_dir().endswith(".parquet")
    assert open(context.input_data_dir(), "rb").read(4) == b"PAR1"
"""
    for option in ('and fileFormat="parquet"', 'and fitParam.0.fileFormat="parquet"'):
        code, _, err = train(scripts, body, options=option)
        assert code == 0, err


def test_scripts_import_each_other_and_a_folder_runs_by_its_mlproject(scripts):
    project = scripts.folder / "project"
    project.mkdir()
    (project / "MLproject").write_text(
        'name: p\nentry_points:\n  main:\n    train:\n      command: "python go.py --times 3"\n'
    )
    (project / "go.py").write_text("import sys, helper\nprint(helper.NAME, sys.argv[1:])\n")
    (project / "helper.py").write_text("NAME = 'helped'\n")
    script = 'select 1 as a as data; train data as DTF.`/m` where pythonScriptPath="/project" as r;'
    code, _, err = scripts.run("-e", script)
    assert code == 0, err
    assert "[worker/0] helped ['--times', '3']" in err


PROGRESS = """
if job == "worker" and task == 0:
    for step in range(1, 31):
        print("step: %d, loss: %.3f" % (step, 1.0 / step), flush=True)
        time.sleep(0.01)
"""


def test_training_info_is_a_table_afterwards_and_stays_with_the_model(scripts):
    then = "select max(step) as last, min(loss) as best, max(live_workers) as w from training_info as t;"
    code, rows, err = train(scripts, SAVE + PROGRESS, workers=1, then=then)
    assert code == 0, err
    assert rows[0]["last"] == 30 and rows[0]["best"] == pytest.approx(0.033) and rows[0]["w"] == 1
    load = "load trainingInfo.`/model` as i; select count(distinct run) as runs, max(step) as last from i as t;"
    code, out, err = scripts.run("--output", "json", "-e", load)
    assert (code, rows_of(out)) == (0, [{"runs": 1, "last": 30}]), err


def test_training_info_can_be_read_while_the_job_runs(scripts):
    body = """
if job == "worker":
    for step in range(1, 100000):
        print("step: %d, loss: %.3f" % (step, 1.0 / step), flush=True)
        time.sleep(0.01)
"""
    job = scripts.start(scripts.job(body, workers=1))
    load = "load trainingInfo.`/model` as i; select step, loss, live_workers from i as t;"
    deadline = time.monotonic() + 40
    rows = []
    while not rows:
        assert time.monotonic() < deadline and job.poll() is None
        code, out, _ = scripts.run("--output", "json", "-e", load)
        rows = rows_of(out) if code == 0 else []
    assert rows[-1]["step"] > 0 and rows[-1]["live_workers"] == 1


RESUME = """
if job == "worker":
    folder = context.output_model_dir()
    os.makedirs(folder, exist_ok=True)
    saved = os.path.join(folder, "step")
    begin = int(open(saved).read()) if os.path.exists(saved) else 0
    print("begins at", begin)
    open(saved, "w").write(str(begin + 5))
    assert begin > 0, "the machine is taken away"
"""


def test_an_interrupted_run_is_resumed_from_what_its_chief_saved(scripts):
    options = 'and resume="true"'
    code, _, err = train(scripts, RESUME, workers=1, options=options)
    assert code == 1 and "the machine is taken away" in err
    assert "resume: no earlier run left anything" in err
    assert scripts.models() == [".resume"]
    code, _, err = train(scripts, RESUME, workers=1, options=options)
    assert code == 0 and "begins at 5" in err and "resume: goes on from" in err, err
    assert scripts.models() == ["_model_0"]
    assert (scripts.folder / "model" / "_model_0" / "model" / "0" / "step").read_text() == "10"


def test_two_trainings_at_once_publish_two_versions(scripts):
    body = SAVE + "time.sleep(0.2)\n"
    jobs = [scripts.start(scripts.job(body, workers=1)) for _ in range(2)]
    for job in jobs:
        _, err = job.communicate(timeout=60)
        assert job.returncode == 0, err
    assert scripts.models() == ["_model_0", "_model_1"]


def test_a_task_that_is_killed_comes_back_where_restarts_are_allowed(scripts):
    body = """
import signal
if job == "worker" and not os.path.exists("died"):
    open("died", "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    code, rows, err = train(scripts, body + SAVE, workers=1, options='and restart="1"')
    assert code == 0 and "worker/0 failed (SIGKILL); attempt 2 in 1 s" in err, err
    assert all(row["success"] for row in rows) and scripts.models() == ["_model_0"]


def test_data_and_folders_of_the_tasks_stay_if_they_are_to(scripts):
    code, _, err = train(scripts, "pass", workers=2, options='and keepFiles="true"')
    assert code == 0, err
    (kept,) = re.findall(r"keepFiles: (.*)", err)
    train(scripts, "pass", workers=1)
    assert sorted(p.name for p in (scripts.folder / kept / "data").iterdir()) == ["0", "1"]
    assert (scripts.folder / kept / "run" / "worker-1" / "trainer.py").exists()
