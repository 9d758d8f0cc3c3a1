"""tf.layers and regularizers."""
