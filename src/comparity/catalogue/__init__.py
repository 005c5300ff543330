"""The published metrics as data, and what one can learn from many values of them."""
