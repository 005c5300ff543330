"""How far a long fit is, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["Watch", "watching"]

Watch = Callable[[int, float], None]
"""Called with the step and the norm of the gradient."""


@contextlib.contextmanager
def watching(n: int, least: int) -> Iterator[Watch | None]:
    """Show the step and the gradient of a fit of n comparisons, from `least` of them on."""
    if n < least or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(f"fitting {n:,} comparisons") as status:
        yield lambda step, norm: status.update(
            f"fitting {n:,} comparisons: step {step}, gradient {norm:.1e}"
        )
