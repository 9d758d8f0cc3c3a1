"""How workers of a training share their variables: each by itself, or in step."""

import re

import pytest

TRAINER = """
import tensorflow as tf
server = tf.train.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=task)
if job == "ps":
    server.join()
    sys.exit()
aggregate, workers = int(context.conf["aggregate"]), len(cluster["worker"])
steps = int(context.conf["steps"])
setter = tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % task, cluster=cluster)
with tf.device(setter):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    optimizer, hooks = tf.train.GradientDescentOptimizer(0.1), [tf.train.StopAtStepHook(last_step=steps)]
    if aggregate:
        optimizer = tf.train.SyncReplicasOptimizer(
            optimizer, replicas_to_aggregate=aggregate, total_num_replicas=workers)
        hooks.append(optimizer.make_session_run_hook(task == 0))
    update = optimizer.minimize(tf.square(w - 1.0), global_step=step)
with tf.train.MonitoredTrainingSession(
        master=server.target, is_chief=task == 0, hooks=hooks,
        checkpoint_dir=context.output_model_dir() if task == 0 else None) as session:
    runs = 0
    while not session.should_stop():
        session.run(update)
        runs += 1
print("ran", runs, flush=True)
"""

STEPS = 40


def train(scripts, workers, aggregate):
    """How often each worker ran the update."""
    options = 'and fitParam.0.aggregate="%d" and fitParam.0.steps="%d"' % (aggregate, STEPS)
    code, _, err = scripts.run(scripts.job(TRAINER, workers=workers, options=options))
    assert code == 0, err
    return [int(runs) for runs in re.findall(r"\[worker/\d\] ran (\d+)", err)]


def assert_chief_saved_the_last_step(scripts):
    model = scripts.folder / "model" / "_model_0" / "model"
    assert [p.name for p in model.iterdir()] == ["0"]
    (last,) = re.findall(r'^model_checkpoint_path: "model.ckpt-(\d+)"', (model / "0" / "checkpoint").read_text())
    assert int(last) >= STEPS


def test_more_gradients_are_aggregated_than_there_are_workers(scripts):
    (runs,) = train(scripts, workers=1, aggregate=2)
    assert runs >= 2 * STEPS - 2  # two gradients make one step, and the only worker gives both
    assert_chief_saved_the_last_step(scripts)


@pytest.mark.parametrize("aggregate", [0, 1, 2])
def test_two_workers_train_in_step_or_each_by_itself_up_to_the_last_step(scripts, aggregate):
    assert len(train(scripts, workers=2, aggregate=aggregate)) == 2
    assert_chief_saved_the_last_step(scripts)
