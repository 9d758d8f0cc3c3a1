"""A cluster whose tasks prove a secret that came by file."""

TRAINS = """
import json
import os
import tensorflow as tf

assert "CAPSTAN_SECRET_FD" not in os.environ and os.path.exists(os.environ["CAPSTAN_SECRET_FILE"])
config = json.loads(os.environ["TF_CONFIG"])
server = tf.train.Server(config["cluster"], config["task"]["type"], config["task"]["index"])
if config["task"]["type"] == "ps":
    server.join()
with tf.device("/job:ps/task:0"):
    total = tf.Variable(40)
with tf.Session(server.target) as session:
    session.run(total.initializer)
    print("the answer is", session.run(total.assign_add(2)))
"""


def test_tasks_that_get_their_secret_by_file_train(run_job, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "train.py").write_text(TRAINS)
    home = f"HOME={tmp_path / 'home'}"
    said = run_job("--secret-by", "file", "--env", home, "--ps", 1, "--workers", 1, "train.py")
    assert "the answer is 42" in said
    assert list((tmp_path / "home").iterdir()) == []  # the user's own secret was not asked for
