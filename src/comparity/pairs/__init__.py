"""Which pairs to judge next, who judges them, and which item stands on which side."""
