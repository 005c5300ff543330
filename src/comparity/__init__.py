"""comparity: test fairness from judgments."""

__version__ = "0.1.0"
