"""Optimizers, and what runs sessions until training has ended."""
