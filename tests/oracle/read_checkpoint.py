"""Reads the newest checkpoint of a folder with TensorFlow, and restores it into the graph beside it.

    read_checkpoint.py FOLDER    tells {"step": …, "restored_step": …, "variables": {name: [shape, sum]}}
"""

import json
import sys

import tensorflow.compat.v1 as tf


def restored_step(checkpoint):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(checkpoint + ".meta", clear_devices=True).restore(sess, checkpoint)
        return int(sess.run("global_step:0"))


def read(folder):
    checkpoint = tf.train.latest_checkpoint(folder)
    reader = tf.train.load_checkpoint(checkpoint)
    shapes = reader.get_variable_to_shape_map()
    variables = {name: [shape, float(reader.get_tensor(name).sum())] for name, shape in shapes.items()}
    step = int(reader.get_tensor("global_step"))
    return {"step": step, "restored_step": restored_step(checkpoint), "variables": variables}


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1])))
