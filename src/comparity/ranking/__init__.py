"""Models of comparisons: scores of items, biases of evaluators, and simulators of both."""
