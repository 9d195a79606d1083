"""Reductions: a buffer of one value a row (two buffers where rows are few and long), and what comes after it.

mean(x, -1)  becomes  buf1[i] = sum over r of x[i, r]   and   i -> buf1[i] / n, to be inlined
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, cast

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.backends.stax.index import Expr, linear_index, to_expr
from tensorplay.compiler.backends.stax.ir import Index, PointwiseFn, Reduction
from tensorplay.compiler.backends.stax.lowered import (
    LoweredTensor,
    Stored,
)
from tensorplay.compiler.backends.stax.lowering_call import (
    Call,
    apply_instruction,
    merge_origins,
)
from tensorplay.compiler.backends.stax.view_lowering import view_of
from tensorplay.core import dtypes
from tensorplay.core.layout import contiguous_strides
from tensorplay.ops import kinds
from tensorplay.ops.monoids import SUM, Monoid
from tensorplay.ops.values import Value, square
from tensorplay.ops.values import to_dtype as convert

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler
    from tensorplay.core.dtypes import DType


def lower_reduction(call: Call, kind: kinds.Reduction) -> LoweredTensor:
    """Make the buffers of a reduction, and compose what comes after it."""
    (tensor,) = call.tensors().values()
    operator, values = call.operator, call.values
    dims = kind.dims(operator, values)
    plan = kind.plan(operator, values)
    keep = kind.keepdim(operator, values)
    kept = tuple(d for d in range(len(tensor.size)) if d not in dims)
    load = tensor.make_loader()

    def element(handler: SymbolicHandler, index: Index) -> Value:
        return kind.before(operator, values, load(handler, index))

    rows = Rows(call, tensor, dims, kept, element, plan.accumulator)
    states = rows.states(kind.monoid.on(plan.accumulator))
    count = prod(rows.sizes)
    dtype = call.meta.dtype

    def select(index: Index) -> Index:
        return tuple(index[d] for d in kept) if keep else index

    if len(states) == 1 and kind.after_fn is None and states[0].dtype is dtype:
        return view_of(call, states[0], select) if keep else states[0]
    loaders = [s.make_loader() for s in states]

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        row = select(index)
        state = [load_state(handler, row) for load_state in loaders]
        total = handler.constant(count, plan.accumulator)
        if kind.monoid.components == MOMENTS:
            state.append(total)
        return convert(kind.after(operator, values, state, total), dtype)

    return call.computed(inner, states)


PAIR, MOMENTS = 2, 3
"""Components of a monoid's state: (value, index), and (mean, second moment, count)."""


class Rows:
    """The rows of a tensor that a reduction merges: `kept` dimensions tell rows apart, `dims` run along them."""

    def __init__(
        self,
        call: Call,
        tensor: LoweredTensor,
        dims: tuple[int, ...],
        kept: tuple[int, ...],
        element: PointwiseFn,
        accumulator: DType,
    ) -> None:
        """Describe the rows; `element` gives what is merged, at an index of the tensor."""
        self.call = call
        self.tensor = tensor
        self.dims = dims
        self.kept = kept
        self.element = element
        self.accumulator = accumulator
        self.sizes = tuple(tensor.size[d] for d in dims)
        self.shape = tuple(tensor.size[d] for d in kept)
        self.origins = merge_origins([tensor], call.node.name)

    def full_index(self, row: Index, along: Index) -> Index:
        """Return an index of the tensor from a row's and a place along it."""
        full: list[Expr] = [to_expr(0)] * len(self.tensor.size)
        for d, i in zip(self.kept, row, strict=True):
            full[d] = i
        for d, i in zip(self.dims, along, strict=True):
            full[d] = i
        return tuple(full)

    def states(self, monoid: Monoid) -> list[LoweredTensor]:
        """Return the monoid's state of every row: one tensor, or mean and second moment."""
        if monoid.components == MOMENTS:
            return self.moments()
        if monoid.components == PAIR:
            return [self.extreme_place(monoid.name)]
        return [self.merged(monoid, self.element)]

    def moments(self) -> list[LoweredTensor]:
        """Return mean and sum of squared distances.

        Two passes, as in eager execution: both run in one kernel, the second from the cache. A long row takes one
        pass, which merges means (Welford) and divides for every element.
        """
        size = prod(self.sizes) * self.tensor.dtype.itemsize
        if prod(self.sizes) > 1 and choices.moments_in_one_pass(size, self.call.lowering.target):
            return [self.buffer(self.welford(part)) for part in (0, 1)]
        total = self.merged(SUM, self.element).make_loader()
        count = prod(self.sizes)
        element, accumulator = self.element, self.accumulator

        def mean_of(handler: SymbolicHandler, row: Index) -> Value:
            return total(handler, row) / handler.constant(count, accumulator)

        def squared(handler: SymbolicHandler, index: Index) -> Value:
            row = tuple(index[d] for d in self.kept)
            return square(element(handler, index) - mean_of(handler, row))

        return [self.tensor_of(mean_of), self.merged(SUM, squared)]

    def welford(self, part: int) -> Reduction:
        """Return the reduction of which mean and second moment are parts."""

        def inner(handler: SymbolicHandler, row: Index, along: Index) -> tuple[Value, ...]:
            return (self.element(handler, self.full_index(row, along)),)

        return Reduction(self.accumulator, self.shape, self.sizes, "welford", inner, part)

    def extreme_place(self, kind: str) -> LoweredTensor:
        """Return the place of the largest or smallest element of every row, counted in row-major order."""
        strides = contiguous_strides(self.sizes)

        def inner(handler: SymbolicHandler, row: Index, along: Index) -> tuple[Value, ...]:
            place = handler.index_expr(linear_index(along, strides), dtypes.int64)
            return self.element(handler, self.full_index(row, along)), place

        if prod(self.sizes) <= 1:
            return self.tensor_of(lambda h, _: h.constant(0, dtypes.int64), dtypes.int64)
        return self.buffer(Reduction(dtypes.int64, self.shape, self.sizes, kind, inner))

    def merged(self, monoid: Monoid, element: PointwiseFn) -> LoweredTensor:
        """Return the merge of every row, in two levels where the target wants more parallel work."""
        count = prod(self.sizes)
        dtype = self.accumulator
        identity = monoid.identity(dtype)
        assert identity is not None  # noqa: S101  # one component: there is a neutral element
        if count == 0:
            return self.tensor_of(lambda h, _: h.constant(identity, dtype))
        if count == 1:
            zeros = (to_expr(0),) * len(self.dims)
            return self.tensor_of(lambda h, row: element(h, self.full_index(row, zeros)))
        target = self.call.lowering.target
        columns = self.kept[-1:] > self.dims[-1:] and prod(self.shape) > 1
        segments = choices.reduction_segments(
            count, prod(self.shape), monoid.name, target, columns=columns
        )

        def inner(handler: SymbolicHandler, row: Index, along: Index) -> tuple[Value, ...]:
            return (element(handler, self.full_index(row, along)),)

        if segments <= 1:
            return self.buffer(Reduction(dtype, self.shape, self.sizes, monoid.name, inner))
        return self.split(monoid, element, segments)

    def split(self, monoid: Monoid, element: PointwiseFn, segments: int) -> LoweredTensor:
        """Return the merge of every row by way of the merges of its segments (associativity, section 6.5)."""
        count = prod(self.sizes)
        length = -(-count // segments)
        dtype = self.accumulator
        identity = cast("float", monoid.identity(dtype))

        def part(handler: SymbolicHandler, index: Index, along: Index) -> tuple[Value, ...]:
            flat = index[-1] * length + along[0]

            def read() -> Value:
                return element(handler, self.full_index(index[:-1], unflatten(flat, self.sizes)))

            if length * segments == count:
                return (read(),)
            place = handler.index_expr(flat, dtypes.int64)
            inside = apply_instruction("lt", place, handler.constant(count, dtypes.int64))
            return (handler.select(inside, read, lambda: handler.constant(identity, dtype)),)

        ranges = (*self.shape, segments)
        parts = self.buffer(Reduction(dtype, ranges, (length,), monoid.name, part)).make_loader()

        def join(handler: SymbolicHandler, row: Index, along: Index) -> tuple[Value, ...]:
            return (parts(handler, (*row, *along)),)

        return self.buffer(Reduction(dtype, self.shape, (segments,), monoid.name, join))

    def buffer(self, loops: Reduction) -> LoweredTensor:
        """Write a reduction to memory; its readers load it."""
        lowering, device = self.call.lowering, self.tensor.device
        draft = lowering.add_buffer(loops, device, loops.ranges, self.origins)
        return LoweredTensor(
            lowering, loops.ranges, loops.dtype, device, Stored(draft), origins=self.origins
        )

    def tensor_of(self, inner_fn: PointwiseFn, dtype: DType | None = None) -> LoweredTensor:
        """Return a tensor of one value a row that is only a function."""
        return LoweredTensor(
            self.call.lowering,
            self.shape,
            dtype or self.accumulator,
            self.tensor.device,
            inner_fn=inner_fn,
            depth=self.tensor.depth + 1,
            origins=self.origins,
        )


def unflatten(flat: Expr, sizes: tuple[int, ...]) -> Index:
    """Return the index whose place in row-major order is `flat`."""
    strides = contiguous_strides(sizes)
    return tuple(
        flat // t if k == 0 else flat // t % n
        for k, (n, t) in enumerate(zip(sizes, strides, strict=True))
    )
