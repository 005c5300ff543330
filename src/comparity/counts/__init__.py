"""Frozen counts, one class for each sampling design, and how rows become them."""
