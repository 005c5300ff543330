"""The plugin of pytest: a fixture with the verdict of a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from comparity.gate.check import GateResult

__all__ = ["assert_parity"]


@pytest.fixture(scope="session")
def assert_parity() -> Callable[..., GateResult]:
    """Return :func:`comparity.testing.assert_parity`."""
    from comparity.testing import assert_parity

    return assert_parity
