"""Corrections of p values by statsmodels, without a search for garbage after each of them.

That search looks at all that a run of tests has loaded: half a second, for every example drawn.
"""

from types import SimpleNamespace

from statsmodels.stats import multitest

multitest.gc = SimpleNamespace(collect=lambda: 0)
multipletests = multitest.multipletests
