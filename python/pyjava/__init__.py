"""The names of pyjava that MLSQL's training scripts import."""
