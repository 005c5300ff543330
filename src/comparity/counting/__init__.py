"""Rows become counts: the only part of the trunk that sees rows."""
