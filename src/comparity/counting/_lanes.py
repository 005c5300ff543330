"""Vector instructions that the compiler does not find by itself: sets of 64 records as words.

A set of up to 64 records is a word, a bit for each record. Two questions are asked of them all the
time, and each is answered for many records or groups at once: which records have a value equal to
or above a number, and how many records of each group are in a set. Plain loops that say the same
are in ``tests/plain/lanes.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from comparity.counting.compilation import njit

__all__ = [
    "LANES",
    "NO_GROUP",
    "RECORDS",
    "add_counts",
    "equal_to",
    "lanes_for",
    "larger_than",
    "tell",
]

RECORDS = 64
"""Records that a word has bits for."""

LANES = 8
"""Groups counted at once; rows of groups are filled up to a multiple of it."""

NO_GROUP = 2**16 - 1
"""What fills up the groups of fewer than 64 records."""

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


def _compared(sign: str) -> Any:
    """Return an instruction that tells which of 64 values compare with a number."""

    def ask(typing_context, values, number):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            width = context.get_value_type(signature.args[0].dtype)
            vector = ir.VectorType(width, RECORDS)
            found = _load(builder, _place(context, builder, signature, arguments, 0, vector))
            number = _everywhere(builder, builder.trunc(arguments[1], width), vector)
            return builder.bitcast(builder.icmp_unsigned(sign, found, number), _INT64)

        return types.uint64(values, types.uint64), generate

    return intrinsic(ask)


equal_to: Any = _compared("==")
"""``equal_to(values, number)``: the set of those of 64 unsigned values that equal a number."""

larger_than: Any = _compared(">")
"""``larger_than(values, number)``: the set of those of 64 unsigned values above a number."""


def _added(typing_context, sums, to, base, start, groups, lane, word):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = ir.VectorType(_INT64, LANES)
        totals = ir.VectorType(context.get_value_type(sums.dtype), LANES)
        there, known, marks = (
            _place(context, builder, signature, arguments, number, vector, arguments[number + 1])
            for number, vector in ((0, totals), (2, words), (4, words))
        )
        chosen = builder.and_(_load(builder, marks), _everywhere(builder, arguments[6], words))
        more = builder.add(_load(builder, known), _ones(builder, chosen, words))
        if totals.element != _INT64:
            more = builder.trunc(more, totals)
        builder.store(builder.add(_load(builder, there), more), there).align = 1
        return context.get_dummy_value()

    place = types.uint64
    return types.none(sums, place, base, place, groups, place, types.uint64), generate


add_counts: Any = intrinsic(_added)
"""``add_counts(sums, to, base, start, groups, lane, word)``, for eight groups from `lane` on.

``sums[to + i] += base[start + i] + size of (groups[lane + i] & word)`` for i from 0 to 7, arrays
counted through as if they had one dimension. Sums have 32 or 64 bits, the others 64.
"""


def lanes_for(n_groups: int) -> int:
    """Return how many numbers a row of groups has: a whole number of vectors."""
    return -(-n_groups // LANES) * LANES


@njit(cache=True, nogil=True, inline="always")
def tell(rows, target, counts, source, groups, marked):  # type: ignore[no-untyped-def]
    """Add to a row, by group, a row of counts and the records in a set."""
    width = np.uint64(len(groups))
    to, start = target * width, source * width
    for lane in range(np.uint64(0), width, np.uint64(LANES)):
        add_counts(rows, to + lane, counts, start + lane, groups, lane, marked)


def _place(
    context: Any,
    builder: Any,
    signature: Any,
    arguments: Any,
    number: int,
    vector: ir.VectorType,
    start: Any = None,
) -> Any:
    """Return the address of a vector in the array that is the argument with this number."""
    array = context.make_array(signature.args[number])(context, builder, arguments[number])
    first = array.data if start is None else builder.gep(array.data, [start])
    return builder.bitcast(first, vector.as_pointer())


def _load(builder: Any, place: Any) -> Any:
    # Arrays are aligned to their numbers, not to whole vectors.
    loaded = builder.load(place)
    loaded.align = 1
    return loaded


def _everywhere(builder: Any, number: Any, vector: ir.VectorType) -> Any:
    """Return a vector that holds a number in every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(empty, number, ir.Constant(_INT32, 0))
    lanes = ir.Constant(ir.VectorType(_INT32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, empty, lanes)


def _ones(builder: Any, words: Any, vector: ir.VectorType) -> Any:
    """Return how many bits of each word are one."""
    name = f"llvm.ctpop.v{vector.count}i64"
    known = builder.module.globals.get(name)
    function = known or ir.Function(builder.module, ir.FunctionType(vector, [vector]), name)
    return builder.call(function, [words])
