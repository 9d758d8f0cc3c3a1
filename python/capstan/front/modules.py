"""What is known of TensorFlow's modules as such. Which names they hold, the definitions say themselves
(core/public.py), and the rows of the catalog; the table of all is made by the build.
"""

# Modules under a second name.
ALIASES = {
    "compat.v1": "",
    "contrib.learn.datasets.mnist": "examples.tutorials.mnist.input_data",
    "contrib.learn.python.learn.datasets.mnist": "examples.tutorials.mnist.input_data",
    "contrib.learn.python.learn": "contrib.learn",
    "contrib.learn.python.learn.datasets": "contrib.learn.datasets",
    "keras.initializers": "initializers",
}

# Modules whose names, where no line has them, are looked for in these: `tensorflow.python.ops.*` and
# its kin show the same functions as the public modules.
SEARCHED = ("", "nn", "train", "layers", "losses", "summary", "test", "graph_util")
PRIVATE = "python"
PRIVATE_PARTS = "client data estimator framework keras lib ops platform saved_model summary training util".split()
# Below these, anything can be imported and looked up, and fails where it is used.
OPEN = ("contrib", "python", "core", "examples", "models", "estimator", "keras")
# Among these, names are those of the public modules.
INNER = (PRIVATE, "core")
# Shows every op of the catalog.
RAW = "raw_ops"
