"""Tests, intervals, power, equivalence and multiplicity: counts in, tests out."""
