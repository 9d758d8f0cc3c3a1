"""Checkpoints, graphs, events and records in files."""
