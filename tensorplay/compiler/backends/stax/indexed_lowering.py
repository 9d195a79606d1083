"""Reads and writes at places that depend on data, and choices between operands (Table 6.1).

A gather reads through an index that it reads first; a scatter copies its base and then writes into it; a concatenation
chooses, for every element, one of several masked reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, cast

from tensorplay.compiler.backends.stax.index import Expr, to_expr
from tensorplay.compiler.backends.stax.ir import Index, PointwiseFn, Scatter
from tensorplay.compiler.backends.stax.lowered import (
    LoweredTensor,
    Stored,
)
from tensorplay.compiler.backends.stax.lowering_call import (
    Call,
    apply_instruction,
    merge_origins,
)
from tensorplay.core import dtypes
from tensorplay.core.layout import contiguous_strides
from tensorplay.ops.kinds.index import Condition, Gather, Indices, Piece, Pieces, Read
from tensorplay.ops.kinds.index import Scatter as ScatterForm
from tensorplay.ops.values import Value
from tensorplay.ops.values import to_dtype as convert

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler
    from tensorplay.core.dtypes import DType


def reader(call: Call, handler: SymbolicHandler, loaders: Mapping[str, PointwiseFn]) -> Read:
    """Return the function that an index form reads index tensors with."""

    def read(parameter: str, indices: Indices, size: int, *, wraps: bool = True) -> Expr:
        index = tuple(map(to_expr, indices))
        value = loaders[parameter](handler, index)
        return handler.indirect(value, size, call.operator.name, wrap=wraps)

    return read


def lower_gather(call: Call, form: Gather) -> LoweredTensor:
    """Read a tensor at places that depend on data."""
    tensors = call.tensors()
    loaders = {name: t.make_loader() for name, t in tensors.items()}
    load = loaders[form.source]

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        place = form.place(index, reader(call, handler, loaders))
        return load(handler, tuple(map(to_expr, place)))

    return call.computed(inner, list(tensors.values()))


SCATTER_MODES = {"sum": "add", "prod": "prod", "max": "max", "min": "min"}
BOOL_SCATTER_MODES = {"sum": "max", "prod": "min", "max": "max", "min": "min"}
"""The sum of truth values is whether any holds, their product whether all do."""


def lower_scatter(call: Call, form: ScatterForm) -> LoweredTensor | None:
    """Copy the base, then write values to places that depend on data.

    Values of a half type add up in float32 and are rounded once, as eager ones do.
    """
    if form.combine is not None and form.combine.name not in SCATTER_MODES:
        return None
    dtype = call.meta.dtype if form.combine is None else call.meta.dtype.compute
    tensors = call.tensors()
    base = tensors[form.base]
    copy = call.computed(converted(base.make_loader(), dtype), [base], dtype=dtype)
    target = copy.realize_with(contiguous_strides(call.meta.shape)).buffer
    loaders = {name: t.make_loader() for name, t in tensors.items()}

    def inner(handler: SymbolicHandler, index: Index) -> tuple[Index, Value]:
        place = tuple(map(to_expr, form.place(index, reader(call, handler, loaders))))
        if form.value not in loaders:
            number = call.values[call.operator.signature.places[form.value]]
            return place, handler.constant(cast("float", number), dtype)
        source = tuple(map(to_expr, form.value_place(index)))
        return place, convert(loaders[form.value](handler, source), dtype)

    modes = BOOL_SCATTER_MODES if dtype is dtypes.bool_ else SCATTER_MODES
    mode = "overwrite" if form.combine is None else modes[form.combine.name]
    loops = Scatter(dtype, tuple(form.domain), target.memory.name, mode, inner)
    origins = merge_origins(list(tensors.values()), call.node.name)
    draft = call.lowering.add_scatter(loops, target, origins)
    written = LoweredTensor(
        call.lowering, call.meta.shape, dtype, call.meta.device, Stored(draft), origins=origins
    )
    if dtype is call.meta.dtype:
        return written
    return call.computed(converted(written.make_loader(), call.meta.dtype), [written])


def converted(load: PointwiseFn, dtype: DType) -> PointwiseFn:
    """Return a loader whose values have a dtype."""
    return lambda handler, index: convert(load(handler, index), dtype)


# ---- concatenations ------------------------------------------------------------------------------


def lower_pieces(call: Call, form: Pieces) -> LoweredTensor:
    """Choose, for every element, the first piece whose conditions hold; each is read under its condition only."""
    tensors = call.tensors()
    return call.computed(pieces_loader(tensors, form, call.meta.dtype), list(tensors.values()))


def pieces_loader(tensors: Mapping[str, LoweredTensor], form: Pieces, dtype: DType) -> PointwiseFn:
    """Return the function from an index to the element of its piece."""
    loaders = {name: converted(t.make_loader(), dtype) for name, t in tensors.items()}

    def value_of(handler: SymbolicHandler, index: Index, piece: Piece) -> Value:
        if isinstance(piece.source, str):
            return loaders[piece.source](handler, tuple(map(to_expr, piece.place(index))))
        return handler.constant(piece.source, dtype)

    return lambda handler, index: chosen(
        handler, index, form, lambda piece: value_of(handler, index, piece)
    )


def chosen(
    handler: SymbolicHandler, index: Index, form: Pieces, value_of: Callable[[Piece], Value]
) -> Value:
    """Return the value of the first piece whose conditions hold."""

    def choose(number: int) -> Value:
        piece = form.pieces[number]
        if number == len(form.pieces) - 1:
            return value_of(piece)
        condition = all_hold(handler, piece.conditions(index))
        return handler.select(condition, lambda: value_of(piece), lambda: choose(number + 1))

    return choose(0)


def concatenated(parts: Sequence[LoweredTensor], dim: int, dtype: DType) -> LoweredTensor:
    """Join tensors of any number along a dimension as a function over indices, converted to `dtype`."""
    if len(parts) == 1:
        return parts[0]
    loaders = [converted(part.make_loader(), dtype) for part in parts]
    starts = [0, *accumulate(part.size[dim] for part in parts)]

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        def own(number: int) -> Value:
            shifted = index[dim] - starts[number]
            return loaders[number](handler, (*index[:dim], shifted, *index[dim + 1 :]))

        def choose(number: int) -> Value:
            if number == len(parts) - 1:
                return own(number)
            here = all_hold(handler, [Condition(index[dim], starts[number], starts[number + 1])])
            return handler.select(here, lambda: own(number), lambda: choose(number + 1))

        return choose(0)

    first = parts[0]
    size = (*first.size[:dim], starts[-1], *first.size[dim + 1 :])
    return LoweredTensor(
        first.context,
        size,
        dtype,
        first.device,
        inner_fn=inner,
        depth=1 + max(part.depth for part in parts),
        origins=tuple(dict.fromkeys(o for part in parts for o in part.origins)),
        eager_strides=contiguous_strides(size),
    )


def all_hold(handler: SymbolicHandler, conditions: Sequence[Condition]) -> Value:
    """Return whether every condition holds at an index."""
    result = handler.constant(number=True, dtype=dtypes.bool_)
    for condition in conditions:
        value = to_expr(condition.value)
        tests = [("ge", value, condition.low), ("lt", value, condition.high)]
        if condition.step != 1:
            tests.append(("eq", (value - condition.low) % condition.step, 0))
        for name, e, bound in tests:
            place = handler.index_expr(e, dtypes.int64)
            holds = apply_instruction(name, place, handler.constant(bound, dtypes.int64))
            result = apply_instruction("logical_and", result, holds)
    return result
