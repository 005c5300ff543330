"""Results laid out for a terminal, a page, a picture or a frame."""
