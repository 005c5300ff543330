"""How many classes there may be."""

from __future__ import annotations

import numpy as np
import pytest

from comparity.counts.decision_classes import count_classes
from comparity.counts.decision_rows import decision_arrays
from comparity.errors import TooManyClassesError


def test_twenty_classes_are_counted_and_one_more_is_refused() -> None:
    labels = np.arange(84) % 21
    some = labels < 20
    sex = np.where(np.arange(84) < 42, "f", "m")
    rows = decision_arrays(labels[some], labels[some], sensitive={"sex": sex[some]})
    assert len(count_classes(rows)["sex"].classes) == 20
    with pytest.raises(TooManyClassesError, match="at most 20"):
        count_classes(decision_arrays(labels, labels, sensitive={"sex": sex}))
