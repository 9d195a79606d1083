"""Lowering rules of single operators, and what it takes to write one.

Most operators need none: their kind lowers them (`lowering_rules`). A rule takes the call's arguments with lowered tensors
in place of tensors and returns a lowered tensor (or None: call the operator's own kernel):

    @register_lowering(tp.ops.tp.my_gelu)
    def lower_my_gelu(x: LoweredTensor) -> LoweredTensor:
        return pointwise(lambda v: v * ops.sigmoid(1.702 * v), x)

`TP_STAX_LOWER_DEBUG=1` names the calls for which there is no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.backends.stax.indexed_lowering import concatenated
from tensorplay.compiler.backends.stax.ir import Index, Scan
from tensorplay.compiler.backends.stax.lowered import LoweredTensor, Stored
from tensorplay.compiler.backends.stax.lowering_rules import broadcast_loader
from tensorplay.core import dtypes
from tensorplay.core.layout import broadcast_shapes
from tensorplay.ops.monoids import SUM, Monoid
from tensorplay.ops.registry import Operator, Overload, tp
from tensorplay.ops.values import Value
from tensorplay.ops.values import to_dtype as convert

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler
    from tensorplay.core.dtypes import DType, Number

Rule = TypeVar("Rule", bound=Callable[..., object])


def register_lowering(target: Operator | Overload) -> Callable[[Rule], Rule]:
    """Declare the lowering of an operator, in place of its kind's or of its own kernel."""
    operator = target.operator if isinstance(target, Overload) else target

    def declare(rule: Rule) -> Rule:
        operator.lowering = rule
        return rule

    return declare


def pointwise(
    fn: Callable[..., Value],
    *inputs: LoweredTensor | Number,
    val: LoweredTensor | None = None,
    out_dtype: DType | None = None,
) -> LoweredTensor:
    """Return `fn` of the inputs, element by element (Listing 6.1).

    Shapes are broadcast. Half-precision elements are seen as float32 and rounded at the end; numbers become constants of
    the first tensor's dtype. `val` is the tensor that gives dtype and device, by default the first.
    """
    tensors = [x for x in inputs if isinstance(x, LoweredTensor)]
    val = val or tensors[0]
    size = broadcast_shapes("pointwise", [t.get_size() for t in tensors])
    dtype = out_dtype or val.get_dtype()
    compute = val.get_dtype().compute
    loaders = [broadcast_loader(x, size) if isinstance(x, LoweredTensor) else x for x in inputs]

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        values = []
        for load in loaders:
            if callable(load):
                value = load(handler, index)
                values.append(convert(value, value.dtype.compute))
            else:
                values.append(handler.constant(load, compute))
        return convert(fn(*values), dtype)

    return LoweredTensor(
        val.context,
        size,
        dtype,
        val.get_device(),
        inner_fn=inner,
        depth=1 + max(t.depth for t in tensors),
        origins=tuple(dict.fromkeys(o for t in tensors for o in t.origins)),
    )


def scan(
    monoid: Monoid, x: LoweredTensor, dim: int, accumulator: DType, out_dtype: DType
) -> LoweredTensor:
    """Return the running merge of a tensor along a dimension."""
    load = x.make_loader()

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        return convert(load(handler, index), accumulator)

    loops = Scan(accumulator, x.size, dim, monoid.on(accumulator).name, inner)
    draft = x.context.add_buffer(loops, x.device, x.size, x.origins)
    running = LoweredTensor(
        x.context, x.size, accumulator, x.device, Stored(draft), origins=x.origins
    )
    if accumulator is out_dtype:
        return running
    return pointwise(lambda v: v, running, out_dtype=out_dtype)


# ---- rules ---------------------------------------------------------------------------------------


@register_lowering(tp["cumsum"])
def lower_cumsum(input: LoweredTensor, dim: int, dtype: object = None) -> LoweredTensor | None:
    """Lower a cumulative sum to a scan."""
    asked = dtype if isinstance(dtype, dtypes.DType) else None
    result = asked or (dtypes.int64 if input.dtype.kind in "biu" else input.dtype)
    if "c" in {input.dtype.kind, result.kind}:
        return None
    if not input.size or 0 in input.size:
        return pointwise(lambda v: v, input, out_dtype=result)
    rounded = pointwise(lambda v: convert(v, result), input, out_dtype=result)
    return scan(SUM, rounded, dim % len(input.size), result.compute, result)


@register_lowering(tp["cat"])
def lower_cat(tensors: Sequence[LoweredTensor], dim: int = 0) -> LoweredTensor | None:
    """Join many tensors in rounds: a few make a part in memory, a few parts the next one.

    In one round every element would ask each tensor in turn whether it belongs there, and so would the text of the
    kernel. A few tensors are lowered by the operator's form.
    """
    parts = [t for t in tensors if t.size != (0,)] or list(tensors[:1])
    if len(parts) <= choices.MOST_PIECES:
        return None
    place, dtype = dim % len(parts[0].size), dtypes.result_type([t.dtype for t in tensors])
    if dtype.kind == "c":
        return None
    while len(parts) > choices.MOST_PIECES:
        rounds = range(0, len(parts), choices.MOST_PIECES)
        groups = [parts[k : k + choices.MOST_PIECES] for k in rounds]
        parts = [concatenated(group, place, dtype) for group in groups]
        for part in parts:
            part.realize()
    return concatenated(parts, place, dtype)
