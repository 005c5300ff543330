"""Files, layouts of comparisons, engines, column contracts, and features as people pass them."""
