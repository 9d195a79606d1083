"""Operators with a batch in front, for those that know where an element is: `tril_batched`, `permute_batched`.

In: a pointwise operator with an index, or a view. Out: the operator of the same kind whose elements
`(b, i)` are the elements `i` of sample `b`; everything else about it follows from its kind, as it
did for the one it was made from. Both are found by name (`tp["tril_batched"]`), so that recorded
programs can be pickled.

    tril_batched(batch, count, input, diagonal)    # count: elements of a sample
    permute_batched(input, dims)                   # dims of a sample
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.meta import TensorMeta
from tensorplay.ops import values as ops
from tensorplay.ops.signature import Parameter, Role, Signature, dtype_of, has_dtype

if TYPE_CHECKING:
    from tensorplay.ops.kinds.pointwise import Pointwise
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.ops.values import Value

SUFFIX = "_batched"


def sample_meta(value: Any) -> TensorMeta:  # noqa: ANN401  # a meta or an array
    """The meta of one sample of what holds a batch in front."""
    strides = None if isinstance(value, np.ndarray) else value.strides[1:]
    return TensorMeta(value.shape[1:], dtype_of(value), strides=strides)


def samples_of(values: Values) -> Values:
    """The call for one sample."""
    return tuple(sample_meta(each) if has_dtype(each) else each for each in values)


def batched_pointwise(operator: Operator, kind: Pointwise) -> Operator:
    """A pointwise operator whose first dimension is the batch; all tensors have it."""
    index_name, linear_name = kind.index_name, kind.linear_name
    own = operator.signature
    batch_name, count_name = _fresh("batch", own), _fresh("count", own)

    def scalar_fn(**arguments: Any) -> Value:  # noqa: ANN401  # Values and plain arguments
        del arguments[batch_name]
        count = arguments.pop(count_name)
        if index_name is not None:
            arguments[index_name] = arguments[index_name][1:]
        if linear_name is not None:
            arguments[linear_name] = ops.remainder(arguments[linear_name], count)
        return kind.scalar_fn(**arguments)

    def shape(batch: int, count: int, *values: object) -> Sequence[int]:
        del count
        assert kind.shape is not None  # noqa: S101  # used only then
        return (batch, *kind.shape(*samples_of(values)))

    def result(batch: int, count: int, *values: object) -> Any:  # noqa: ANN401  # a dtype
        del batch, count
        assert callable(kind.result)  # noqa: S101  # used only then
        return kind.result(*samples_of(values))

    made = type(kind)(
        scalar_fn,
        promotion=kind.promotion,
        result=result if callable(kind.result) else kind.result,
        shape=None if kind.shape is None else shape,
        index_name=index_name,
        linear_name=linear_name,
    )
    title = operator.name + SUFFIX
    parameters = (_integer(batch_name), _integer(count_name), *own.parameters)
    places = {each.name: i for i, each in enumerate(parameters)}
    signature = Signature(title, parameters, own.supplied, places)
    return _derived(operator, made, signature, scalar_fn)


def _fresh(name: str, signature: Signature) -> str:
    """A name that no parameter has: batches nest."""
    while name in signature.places:
        name += "_"
    return name


def _integer(name: str) -> Parameter:
    return Parameter(
        name,
        Role.PLAIN,
        inspect.Parameter.empty,
        keyword_only=False,
        optional=False,
        annotation="int",
    )


def derived(operator: Operator, kind: Any, function: Any) -> Operator:  # noqa: ANN401  # a kind and a function
    """An operator with the parameters of another, which it is with a batch in front."""
    own = operator.signature
    signature = Signature(operator.name + SUFFIX, own.parameters, own.supplied, own.places)
    return _derived(operator, kind, signature, function)


def _derived(operator: Operator, kind: Any, signature: Signature, function: Any) -> Operator:  # noqa: ANN401  # any value
    doc = f"`{operator.name}` of each sample of a batch (derived)."
    made = operator.derived(signature.name, kind, signature, doc, function)
    made.not_differentiable = operator.not_differentiable
    made.linear = operator.linear
    return made
