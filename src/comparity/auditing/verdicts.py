"""The words for what was found, and the order in which they are decided."""

from __future__ import annotations

VIOLATED = "violated"
WITHIN = "within the margin"
UNDECIDED = "undecided"
