"""Who of the evaluators leans, by how much, and what the ranking is without that."""
