"""Whether error rates are equal in every group, given the true label."""
