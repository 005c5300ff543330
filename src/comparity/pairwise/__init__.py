"""Whether a score orders pairs equally well, whatever the groups of the two items."""
