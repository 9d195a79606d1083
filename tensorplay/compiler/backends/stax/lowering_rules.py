"""The lowering rules that follow from an operator's kind (Table 6.1).

In: a `Call`, one node of the operator graph with its arguments lowered. Out: a lowered tensor, or None where there is no
rule. A pointwise operator composes its scalar function with its operands' loaders; a view composes its index map; a
reduction becomes a buffer (two where it is split); gathers read at places that depend on data; scatters write there;
concatenations choose between masked reads;
windows merge them. Structured operators call their own kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.index import linear_index, to_expr
from tensorplay.compiler.backends.stax.indexed_lowering import (
    lower_gather,
    lower_pieces,
    lower_scatter,
)
from tensorplay.compiler.backends.stax.ir import Index, PointwiseFn
from tensorplay.compiler.backends.stax.lowered import (
    LoweredTensor,
)
from tensorplay.compiler.backends.stax.lowering_call import (
    Call,
    merge_origins,
)
from tensorplay.compiler.backends.stax.merged_lowering import lower_merged
from tensorplay.compiler.backends.stax.reduction_lowering import lower_reduction
from tensorplay.compiler.backends.stax.view_lowering import lower_strided_view, lower_view
from tensorplay.compiler.backends.stax.wrapper import INTO
from tensorplay.core import dtypes
from tensorplay.core.layout import contiguous_strides
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Node
from tensorplay.ops import kinds
from tensorplay.ops.kinds.index import Gather, Merged, Pieces
from tensorplay.ops.kinds.index import Scatter as ScatterForm
from tensorplay.ops.kinds.view import StridedView
from tensorplay.ops.values import Value
from tensorplay.ops.values import to_dtype as convert

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler


def lower_call(call: Call) -> LoweredTensor | tuple[LoweredTensor, ...] | None:
    """Lower a call by its operator's own rule, else by its kind's; None where there is none."""
    operator = call.operator
    found = None if operator.lowering is None else lower_by_rule(call, operator.lowering)
    if found is not None:
        return found
    if isinstance(operator.kind, kinds.Structured):
        return call.lowering.extern(call, into=writes_into(call))
    if has_complex(call):
        return None
    match operator.kind:
        case kinds.Pointwise() as kind:
            return lower_pointwise(call, kind)
        case StridedView():
            return lower_strided_view(call)
        case kinds.View() as kind:
            return lower_view(call, kind)
        case kinds.Reduction() as kind:
            return lower_reduction(call, kind)
        case kinds.Index() as kind:
            form = kind.form(operator, call.values)
            match form:
                case Gather():
                    return lower_gather(call, form)
                case ScatterForm():
                    return lower_scatter(call, form)
                case Pieces():
                    return lower_pieces(call, form)
                case Merged():
                    return lower_merged(call, form)
        case _:
            return None


def lower_by_rule(
    call: Call, rule: Callable[..., object]
) -> LoweredTensor | tuple[LoweredTensor, ...] | None:
    """Run a registered rule on the node's arguments; its result gets the recorded dtype."""
    args = [call.map_tensors(a, lambda t: t) for a in call.node.args]
    kwargs = {k: call.map_tensors(a, lambda t: t) for k, a in call.node.kwargs.items()}
    call.lowering.current = call.node.name
    result = rule(*args, **kwargs)
    call.lowering.current = ""
    if result is None or isinstance(result, tuple):
        return result
    if not isinstance(result, LoweredTensor):
        msg = f"the lowering of {call.overload} returned {type(result).__name__}, not a lowered tensor"
        raise TypeError(msg)
    result.origins = merge_origins([result], call.node.name)
    if result.dtype is call.meta.dtype:
        return result
    load, dtype = result.make_loader(), call.meta.dtype
    return call.computed(lambda h, i: convert(load(h, i), dtype), [result])


def needs_memory(node: Node) -> str:
    """Say what a node wants of its arguments: "arguments" in memory, "if used" (views pass it on), or ""."""
    operator = getattr(node.target, "operator", None)
    if operator is None or operator.lowering is not None:
        return ""
    if isinstance(operator.kind, (kinds.Structured, kinds.Composite)):
        return "arguments"
    return "if used" if isinstance(operator.kind, kinds.View) else ""


def writes_into(call: Call) -> bool:
    """Say whether the operator's kernel writes into memory that the plan allocates (wrapper.INTO)."""
    if call.operator.name not in INTO or call.meta.dtype.name not in {"float32", "float64"}:
        return False
    return all(value.ndim >= 2 for value in call.values if isinstance(value, TensorMeta))


def has_complex(call: Call) -> bool:
    """Say whether complex numbers occur, for which there are no loops."""
    metas = [v for v in call.values if isinstance(v, TensorMeta)]
    meta: object = call.meta  # several where an extern call has several results
    metas += [
        m for m in (meta if isinstance(meta, tuple) else (meta,)) if isinstance(m, TensorMeta)
    ]
    return any(m.dtype.kind == "c" for m in metas)


def broadcast_loader(tensor: LoweredTensor, size: tuple[int, ...]) -> PointwiseFn:
    """Return a loader that takes indices of the broadcast shape."""
    load = tensor.make_loader()
    own = tensor.size
    if own == size:
        return load
    skipped = len(size) - len(own)
    zero = to_expr(0)
    fixed = [n == 1 for n in own]

    def broadcast(handler: SymbolicHandler, index: Index) -> Value:
        tail = index[skipped:]
        return load(handler, tuple(zero if one else i for i, one in zip(tail, fixed, strict=True)))

    return broadcast


def lower_pointwise(call: Call, kind: kinds.Pointwise) -> LoweredTensor:
    """Compose the scalar function with the loaders of the operands."""
    size, dtype = call.meta.shape, call.meta.dtype
    tensors = call.tensors()
    loaders = {name: broadcast_loader(t, size) for name, t in tensors.items()}
    operator, values = call.operator, call.values
    strides = contiguous_strides(size)

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        loaded = {name: load(handler, index) for name, load in loaders.items()}
        places: list[Value] = []
        linear = None
        if kind.index_name is not None:
            places = [handler.index_expr(i, dtypes.int64) for i in index]
        if kind.linear_name is not None:
            linear = handler.index_expr(linear_index(index, strides), dtypes.int64)
        value = kind.expression(operator, values, handler, loaded, places, linear)
        return convert(value, dtype)

    return call.computed(inner, list(tensors.values()))
