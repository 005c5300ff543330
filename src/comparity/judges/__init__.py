"""What judges get wrong, from the logs that tools of evaluation write."""
