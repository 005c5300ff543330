"""Parts of a page that are worked out only where somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

__all__ = ["Deferred"]

Part = TypeVar("Part")


class Deferred(Sequence[Part]):
    """A sequence whose parts are made when they are asked for, each of them once.

    An exact interval takes milliseconds. Of thousands of tests a terminal shows a few, and no
    picture.

    Parameters
    ----------
    length : int
        How many parts there are.
    make : callable
        Returns the part at a position.

    Examples
    --------
    >>> asked = []
    >>> squares = Deferred(1000, lambda place: asked.append(place) or place**2)
    >>> squares[-1], squares[2:4], squares[3], len(squares), asked
    (998001, (4, 9), 9, 1000, [999, 2, 3])
    """

    def __init__(self, length: int, make: Callable[[int], Part]) -> None:
        self._length, self._make = length, make
        self._made: dict[int, Part] = {}

    def __len__(self) -> int:
        """Return how many parts there are, made or not."""
        return self._length

    @overload
    def __getitem__(self, place: int) -> Part: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Part, ...]: ...

    def __getitem__(self, place: int | slice) -> Part | tuple[Part, ...]:
        """Return a part, or several, and make what was not asked for before."""
        places = range(self._length)[place]
        if isinstance(places, range):
            return tuple(self[one] for one in places)
        if places not in self._made:
            self._made[places] = self._make(places)
        return self._made[places]
