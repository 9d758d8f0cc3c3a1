"""TensorFlow's modules and names, found as programs ask for them."""
