"""What to do about a gap: weights of rows, and models trained under pairwise goals."""
