"""The penalised likelihood of comparisons: its passes, its maximum and its curvature."""
