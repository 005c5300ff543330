"""How answers are told: sections, and the media that lay them out."""
