"""Views: index maps in front of a loader, or strides and an offset where the tensor has a fixed layout (6.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from tensorplay.compiler.backends.stax.index import Expr, to_expr
from tensorplay.compiler.backends.stax.ir import Index
from tensorplay.compiler.backends.stax.lowered import (
    LoweredTensor,
    Stored,
    ViewOf,
    strided_view,
)
from tensorplay.compiler.backends.stax.lowering_call import (
    Call,
    merge_origins,
)
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import kinds
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler


def lower_view(call: Call, kind: kinds.View) -> LoweredTensor:
    """Compose the index map: as strides where the tensor has a fixed layout, else in front of its loader."""
    tensor = next(iter(call.tensors().values()))
    found = kind.view_map(cast("TensorMeta", call.values[0]), *call.values[1:])
    source = found.source
    return view_of(call, tensor, lambda index: source(list(index)))


def lower_strided_view(call: Call) -> LoweredTensor:
    """Place a view over the memory that a tensor lies in, which eager execution laid out before."""
    tensor = next(iter(call.tensors().values()))
    size, strides = (cast("tuple[int, ...]", v) for v in call.values[1:3])
    offset = cast("int", call.values[3])
    own = cast("TensorMeta", call.values[0])
    base = tensor
    while base.stored is None and base.view is not None:
        base = base.view.base
    stored = base.realize_with(base.eager_strides) if base.stored is None else base.stored
    start = stored.buffer.memory.eager_offset
    first = own.offset if call.values[3] is None else offset
    place = Stored(stored.buffer, strides, first - start)
    meta = call.meta
    return LoweredTensor(
        call.lowering, size, meta.dtype, meta.device, place,
        origins=merge_origins([tensor], call.node.name), eager_strides=meta.strides,
    )  # fmt: skip


def view_of(
    call: Call, tensor: LoweredTensor, source: Callable[[Index], Sequence[int | Expr]]
) -> LoweredTensor:
    """Return the view of a tensor through an index map."""
    stored = tensor.stored
    if stored is not None and (stored.strides or stored.buffer.memory.strides) is not None:
        place = strided_view(stored, call.meta.shape, source)
        if place is not None:
            meta = call.meta
            return LoweredTensor(
                call.lowering, meta.shape, meta.dtype, meta.device, place,
                origins=merge_origins([tensor], call.node.name), eager_strides=meta.strides,
            )  # fmt: skip
    load = tensor.make_loader()

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        return load(handler, tuple(map(to_expr, source(index))))

    return call.computed(inner, [tensor], ViewOf(tensor, source))
