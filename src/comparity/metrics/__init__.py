"""One number from counts, with its definition and citation."""
