"""Gates: whether a policy lets a release pass."""
