"""Thirty published metrics with intervals, and which few to report."""
