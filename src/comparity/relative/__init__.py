"""Whether one decision maker favours a group, relative to another."""
