"""Impact ratios: selection rates of groups over the largest of them."""
