"""Tests, intervals, power and equivalence from counts."""
