"""From training to a figure of merit in one script, with no Python beside the training's own."""

import pytest
from job_scripts import rows_of

# A cluster trains nothing here: the worker saves the weights of y = [x > 2], steep.
TRAINER = """
import tensorflow as tf
if job == "worker":
    x = tf.placeholder(tf.float32, [None, 1], "x")
    tf.sigmoid(tf.matmul(x, tf.Variable([[8.0]])) + tf.Variable([-20.0]), name="p")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = os.path.join(context.output_model_dir(), "model.ckpt")
        tf.train.Saver().save(session, prefix, global_step=1)
"""

THEN = """
predict data as DTF.`/model` where outputs="p" as answered;
register DTF.`/model` as chance where outputs="p";
select *, cast(x > 2 as int) as y, chance(x) = prediction as same from answered as compared;
%s
"""


@pytest.mark.parametrize(
    "last, expected",
    [
        ("select count(*) as n from compared where same as t;", [{"n": 4}]),
        (
            'run compared as Evaluate.`` where label="y" and metric="accuracy" as t;',
            [{"metric": "accuracy", "value": 1.0}],
        ),
    ],
)
def test_a_trained_model_predicts_as_a_table_and_as_a_function(scripts, last, expected):
    job = scripts.job(TRAINER, workers=1, then=THEN % last)
    code, out, err = scripts.run("--output", "json", job)
    assert code == 0, err
    assert rows_of(out)[-len(expected) :] == expected
