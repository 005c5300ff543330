"""Simulated and published data: where they live and how they are prepared."""
