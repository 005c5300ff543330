"""The desk: public audits, plans, and the words for what was found."""
