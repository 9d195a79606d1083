"""What windows hold, merged: a few elements in one expression, many in a reduction.

The largest of 3 × 3 elements is nine masked reads and eight `max` for each element of the result; of 9 × 9 elements it
is a reduction with a loop. Either is a buffer, which fuses with its readers as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.backends.stax.index import to_expr
from tensorplay.compiler.backends.stax.indexed_lowering import chosen, pieces_loader
from tensorplay.compiler.backends.stax.ir import Index, Reduction
from tensorplay.compiler.backends.stax.lowered import LoweredTensor
from tensorplay.compiler.backends.stax.reduction_lowering import Rows
from tensorplay.core import dtypes
from tensorplay.ops.kinds.index import Merged, Piece
from tensorplay.ops.monoids import State
from tensorplay.ops.values import Value
from tensorplay.ops.values import to_dtype as convert

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler
    from tensorplay.compiler.backends.stax.lowering_call import Call

ElementFn = Callable[["SymbolicHandler", Index], State]

NOWHERE = int(np.iinfo(np.int64).max)
"""The place of an element that is not read: any other is the smaller one on ties."""


def lower_merged(call: Call, form: Merged) -> LoweredTensor:
    """Merge in one expression, or in a loop where there is much to merge."""
    tensors = call.tensors()
    first = next(iter(tensors.values()))
    dtype = first.dtype.compute
    load = pieces_loader(tensors, form.pieces, dtype)

    def element(handler: SymbolicHandler, index: Index) -> State:
        if form.place is None:
            return (load(handler, index),)
        return load(handler, index), place_of(handler, index, form)

    sources = list(tensors.values())
    if prod(form.sizes) <= choices.UNROLLED_WINDOW:
        merged = call.computed(
            lambda h, i: convert(unrolled(h, i, form, element), call.meta.dtype), sources
        )
        merged.realize()  # as a reduction: many reads an element, which no reader should repeat
        return merged
    size, device = form.pieces.shape, call.meta.device
    whole = LoweredTensor(
        call.lowering,
        size,
        dtype,
        device,
        inner_fn=load,
        depth=1 + first.depth,
        origins=first.origins,
    )
    kept, dims = tuple(range(len(form.shape))), tuple(range(len(form.shape), len(size)))
    rows = Rows(call, whole, dims, kept, load, dtype)
    if form.place is None:
        merged = rows.merged(form.monoid, load)
    else:
        merged = rows.buffer(
            Reduction(
                dtypes.int64, form.shape, form.sizes, form.monoid.name,
                lambda h, row, along: element(h, (*row, *along)),
            )
        )  # fmt: skip
    if merged.dtype is call.meta.dtype:
        return merged
    read = merged.make_loader()
    return call.computed(lambda h, i: convert(read(h, i), call.meta.dtype), [merged])


def place_of(handler: SymbolicHandler, index: Index, form: Merged) -> Value:
    """Return the place of an element that a tensor gives, of others a place that never wins."""
    assert form.place is not None  # noqa: S101  # asked of forms that have places
    place = to_expr(form.place(index))

    def value_of(piece: Piece) -> Value:
        if isinstance(piece.source, str):
            return handler.index_expr(place, dtypes.int64)
        return handler.constant(NOWHERE, dtypes.int64)

    return chosen(handler, index, form.pieces, value_of)


def unrolled(
    handler: SymbolicHandler,
    index: Index,
    form: Merged,
    element: ElementFn,
) -> Value:
    """Return the merge of all elements, in row-major order."""
    state: State | None = None
    identity = form.monoid.identity(dtypes.float64)
    for point in np.ndindex(*form.sizes):
        one = element(handler, (*index, *map(to_expr, point)))
        if state is None and identity == 0:  # 0 + (-0) is 0
            state = (handler.constant(0, one[0].dtype),)
        state = one if state is None else form.monoid.combine(state, one)
    assert state is not None  # noqa: S101  # windows have elements
    return state[-1]
