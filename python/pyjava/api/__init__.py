"""pyjava.api: see mlsql.py."""
