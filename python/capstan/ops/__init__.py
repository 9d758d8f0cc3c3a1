"""Functions that add nodes, and the variables."""
