"""Plans: how much data a study needs, and what it would be able to show."""
