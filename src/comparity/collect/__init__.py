"""Collecting judgments: a web app in which people judge pairs, and where answers are kept."""
