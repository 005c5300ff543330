"""How the tables of a study came to be what they are, step by step (Alembic)."""
