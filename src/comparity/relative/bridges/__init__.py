"""Two decision makers who decided about different subjects, with a model between them."""
