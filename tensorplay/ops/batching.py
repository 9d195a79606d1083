"""Batching: an operator of samples, applied to tensors that hold a batch of samples in front.

A *batching rule* is `(operator, values, metas, size) -> result`. In: the call's `values`, where a
tensor that has the batch has it as dimension 0, and `metas`, the same call with the `TensorMeta`s
of one sample, as the operator was declared for. Out: what the operator gives for each of the `size`
samples, stacked along dimension 0. Rules call operators, so that everything composes with them:
derivatives, recording, further batches.

    matmul(values of (5, 2, 3) and (3, 4), metas of (2, 3) and (3, 4), size 5)  ->  (5, 2, 4)

Kinds derive rules: pointwise operators align dimensions, reductions shift them, a view has a batched
index map, an index operator an index more, a composite runs as its parts. Written rules
(`@operator.batching`) are for structured operators, and for what can do better than its kind. The
rules here serve several operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tensorplay.core import layout
from tensorplay.core.errors import RegistryError
from tensorplay.ops import door
from tensorplay.ops.signature import Values, is_tensor

if TYPE_CHECKING:
    from tensorplay.core.meta import TensorMeta
    from tensorplay.ops.registry import Operator
    from tensorplay.tensor import Tensor

Rule: TypeAlias = "Callable[[Operator, Values, Values, int], Any]"
Runner: TypeAlias = "Callable[[Callable[..., Any], int, Sequence[Tensor]], Any]"

_runner: list[Runner] = []


def install_runner(runner: Runner) -> None:
    """Set what runs a function of samples over a batch: the level of `tensorplay.autograd.batching`."""
    _runner[:] = [runner]


def over_batch(function: Callable[..., Any], size: int, tensors: Sequence[Tensor]) -> Any:  # noqa: ANN401  # tensors
    """Run a function of samples on tensors that all hold the batch in front; so do its results."""
    if not _runner:
        msg = "import tensorplay before running batches"
        raise RegistryError(msg)
    return _runner[0](function, size, tensors)


def has_batch(value: Any, meta: Any) -> bool:  # noqa: ANN401  # a tensor and its meta
    """Whether a tensor holds the batch: then it has a dimension more than a sample."""
    return len(value.shape) > len(meta.shape)


def with_batch(value: Tensor, meta: TensorMeta, size: int) -> Tensor:
    """The tensor with the batch: expanded where it has none."""
    if has_batch(value, meta):
        return value
    expanded: Tensor = value.expand((size, *value.shape))
    return expanded


def padded(value: Tensor, meta: TensorMeta, ndim: int) -> Tensor:
    """A tensor whose samples have dimensions of size 1 in front, up to `ndim`."""
    missing = ndim - len(meta.shape)
    if not missing or not has_batch(value, meta):
        return value
    shape = value.shape
    found: Tensor = value.view((shape[0], *(1,) * missing, *shape[1:]))
    return found


def each_tensor(
    values: Values, metas: Values, change: Callable[[Tensor, TensorMeta], object]
) -> Values:
    """The call with every tensor (and those in lists) changed."""
    return tuple(_changed(value, meta, change) for value, meta in zip(values, metas, strict=True))


def _changed(value: Any, meta: Any, change: Callable[[Tensor, TensorMeta], object]) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    if is_tensor(value):
        return change(value, meta)
    if type(value) is tuple and any(is_tensor(each) for each in value):
        return each_tensor(value, meta, change)
    return value


def tensor_metas(values: Values) -> list[TensorMeta]:
    """The metas among the values of a call, those in lists included."""
    found: list[Any] = []
    for value in values:
        if hasattr(value, "strides"):
            found.append(value)
        elif type(value) is tuple:
            found += [each for each in value if hasattr(each, "strides")]
    return found


def leading(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """The rule of operators whose kernels take any number of leading dimensions (LAPACK's, `matmul`'s).

    All operands get the batch, and the same number of leading dimensions behind it.
    """
    ndim = max(len(meta.shape) for meta in tensor_metas(metas))
    aligned = each_tensor(values, metas, lambda value, meta: with_batch(value, meta, size))
    return operator_call(operator, _all_padded(aligned, ndim + 1))


def _all_padded(values: Values, ndim: int) -> Values:
    def change(value: Tensor, _: TensorMeta) -> Tensor:
        missing = ndim - value.ndim
        shape = value.shape
        return value.view((shape[0], *(1,) * missing, *shape[1:])) if missing else value

    return each_tensor(values, values, change)


def along(*names: str, same_rank: bool = True) -> Rule:
    """The rule of operators that treat all dimensions but those that `names` name alike: these move by one.

    All operands get the batch. Dimensions are counted as those of the first tensor; where the
    tensors of samples have different ranks, the kind's rule is used, unless `same_rank` is off.
    Samples without dimensions are rows of one element.
    """

    def rule(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        ranks = [len(each.shape) for each in tensor_metas(metas)]
        ndim = ranks[0]
        if any(each != ndim for each in ranks) and (same_rank or not ndim):
            return NotImplemented
        found = list(each_tensor(values, metas, lambda value, meta: with_batch(value, meta, size)))
        for name in names:
            place = operator.signature.places[name]
            dim: Any = values[place]
            found[place] = layout.normalize_dim(operator.name, dim, ndim) + 1
        if ndim:
            return operator_call(operator, tuple(found))
        result = operator_call(operator, _all_padded(tuple(found), 2))
        if isinstance(result, tuple):
            return tuple(each.reshape((size,)) for each in result)
        return result.reshape((size,))

    return rule


def broadcasting(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """The rule of operators whose operands broadcast, as pointwise ones do."""
    del size
    ndim = max(len(meta.shape) for meta in tensor_metas(metas))
    aligned = each_tensor(values, metas, lambda value, meta: padded(value, meta, ndim))
    return operator_call(operator, aligned)


def operator_call(operator: Operator, values: Values) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """Call an operator on canonical values."""
    return door.call(operator, values)


def one_by_one(operator: Operator, values: Values, metas: Values, size: int) -> list[Any]:
    """The results of all samples, computed one after the other."""
    return [
        operator_call(
            operator,
            each_tensor(
                values,
                metas,
                lambda value, meta, i=i: value.select(0, i) if has_batch(value, meta) else value,  # type: ignore[misc]  # bound now
            ),
        )
        for i in range(size)
    ]
