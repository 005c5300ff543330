"""Weights of rows, and scores trained under pairwise goals."""
