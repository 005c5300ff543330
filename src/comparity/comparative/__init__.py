"""Whether a model agrees with judges equally often in every kind of pair."""
