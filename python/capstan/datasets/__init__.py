"""The data that tutorials load."""
