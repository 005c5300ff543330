"""What every answer is, the three findings, and the order in which they are decided."""
