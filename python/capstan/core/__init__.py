"""Graphs and what they are made of: types, shapes, tensors, operations, rows as functions, messages."""
