"""Corrections of p values by statsmodels, without a search for garbage after each of them.

That search looks at all that a run of tests has loaded: half a second, for every example drawn.
"""

from typing import Any
from unittest.mock import patch

from statsmodels.stats import multitest


def multipletests(*arguments: Any, **choices: Any) -> Any:
    with patch("gc.collect"):
        return multitest.multipletests(*arguments, **choices)
