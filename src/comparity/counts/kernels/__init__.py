"""Compiled loops over rows; each has a plain twin in ``tests/plain/``."""
