"""The form of an index operator, run on tensors of indices over a batch of samples.

In: a `Form` of one sample, and tensors with the batch in front. Out: the results of all samples.
The form's own functions compute with tensors instead of integers: index `d` of a sample is
`arange(n)` along dimension `d`, reading an index tensor is `index`, and where a tensor holds the
batch, `arange(size)` is an index more. A `Gather` becomes one `index`, a `Scatter` one `index_put`,
`Pieces` a `where` for each piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core import dtypes
from tensorplay.ops.batching import has_batch, operator_call, with_batch
from tensorplay.ops.kinds.forms import Form, Gather, Merged, Pieces, Scatter
from tensorplay.ops.signature import is_tensor

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor


def run_form(form: Form, operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """The result of all samples; `NotImplemented` for scatters that combine by other than a sum, and for merged pieces."""
    batch = _Batch(operator, values, metas, size)
    match form:
        case Gather():
            return batch.gather(form)
        case Scatter():
            return batch.scatter(form)
        case Pieces():
            return batch.join(form)
        case Merged():
            return NotImplemented  # their operators count dimensions from the end, and say so


class _Batch:
    """The tensors of a call over a batch, read at tensors of indices."""

    def __init__(self, operator: Operator, values: Values, metas: Values, size: int) -> None:
        self.operator = operator
        self.size = size
        self.values, self.metas = values, metas
        self.ndim = 0

    def gather(self, form: Gather) -> Tensor:
        """The elements at the places of the form."""
        found = self.take(form.source, form.place(self.indices(form.shape), self.read))
        expanded: Tensor = found.expand((self.size, *form.shape))
        return expanded

    def scatter(self, form: Scatter) -> Any:  # noqa: ANN401  # a tensor
        """The base with the values put, or added, at the places of the form."""
        if form.combine is not None and form.combine.name != "sum":
            return NotImplemented
        base, meta = self.operand(form.base)
        whole = with_batch(base, meta, self.size)
        if 0 in form.domain:  # nothing is written, so there is nothing to read either
            return operator_call(self.operator.sibling("clone"), (whole,))
        i = self.indices(form.domain)
        places = [self.batch_index, *map(self.as_tensor, form.place(i, self.read))]
        value, value_meta = self.operand(form.value)
        if is_tensor(value):
            value = self.take(form.value, form.value_place(i)) if value_meta.shape else value
            value = value.to(meta.dtype) if value.dtype is not meta.dtype else value
            if value_meta.shape == () and value.ndim:  # one number a sample
                value = value.reshape((self.size, *(1,) * self.ndim))
        else:
            value = self.operator.sibling("full")((), value, dtype=meta.dtype)
        target = tuple(each.expand((self.size, *form.domain)) for each in places)
        put = self.operator.sibling("index_put")
        return operator_call(put, (whole, target, value, form.combine is not None))

    def join(self, form: Pieces) -> Tensor:
        """The first piece whose conditions hold."""
        i = self.indices(form.shape)
        dtype = self.result_dtype()
        result: Any = None
        for piece in reversed(form.pieces):
            holds: Any = None
            for each in piece.conditions(i):
                offset = each.value - each.low
                inside = (offset >= 0) & (offset < each.high - each.low)
                if each.step != 1:
                    inside = inside & (offset % each.step == 0)
                holds = inside if holds is None else holds & inside
            if isinstance(piece.source, str):
                _, meta = self.operand(piece.source)
                places = [
                    self.as_tensor(place).clamp(0, max(size - 1, 0))
                    for place, size in zip(piece.place(i), meta.shape, strict=True)
                ]
                if 0 in meta.shape:
                    continue
                part = self.take(piece.source, places).to(dtype)
            else:
                part = self.operator.sibling("full")((), piece.source, dtype=dtype)
            if result is None or holds is None:
                result = part
            else:
                result = self.operator.sibling("where")(holds, part, result)
        if result is None:  # all pieces are empty
            result = self.operator.sibling("zeros")(form.shape, dtype=dtype)
        whole: Tensor = result.expand((self.size, *form.shape)).contiguous()
        return whole

    def result_dtype(self) -> Any:  # noqa: ANN401  # a dtype
        """The dtype of the result, by the operator's meta rule."""
        found: Any = self.operator.kind.meta(self.operator, self.metas)
        return found.dtype

    # ---- reading

    def indices(self, shape: Sequence[int]) -> list[Any]:
        """The indices of a sample's elements, each along its own dimension."""
        self.ndim = len(shape)
        return [self.arange(size, self.ndim - d) for d, size in enumerate(shape)]

    @property
    def batch_index(self) -> Tensor:
        """The number of the sample, along the batch."""
        return self.arange(self.size, self.ndim + 1)

    def arange(self, size: int, place: int) -> Tensor:
        """The numbers below `size` along the dimension `place` from the end."""
        numbers = self.operator.sibling("arange")(0, size, 1, dtype=dtypes.int64)
        shaped: Tensor = numbers.reshape((size, *(1,) * (place - 1)))
        return shaped

    def operand(self, name: str) -> tuple[Any, Any]:
        """A parameter (`"tensors.0"` for an item of a list) and its meta."""
        parameter, _, item = name.partition(".")
        place = self.operator.signature.places[parameter]
        value: Any = self.values[place]
        meta: Any = self.metas[place]
        return (value[int(item)], meta[int(item)]) if item else (value, meta)

    def take(self, name: str, places: Sequence[Any]) -> Tensor:
        """The elements of a tensor at places, which broadcast to (batch, sample's dimensions)."""
        value, meta = self.operand(name)
        found: Tensor
        if has_batch(value, meta):
            if not places:
                found = value.reshape((self.size, *(1,) * self.ndim))
                return found
            places = [self.batch_index, *places]
        if not places:
            found = value
            return found
        tensors = tuple(map(self.as_tensor, places))
        found = operator_call(self.operator.sibling("index"), (value, tensors))
        return found

    def read(
        self, parameter: str, indices: Sequence[Any], size: int, *, wraps: bool = True
    ) -> Tensor:
        """An index tensor's elements, checked where they are used, or here where negative ones are refused."""
        found = self.take(parameter, indices)
        if found.dtype is not dtypes.int64:
            found = found.to(dtypes.int64)
        if not wraps:
            found = self.operator.sibling("where")(found < 0, size, found)
        return found

    def as_tensor(self, place: Any) -> Tensor:  # noqa: ANN401  # a tensor or an integer
        """A place as a tensor."""
        found: Tensor = (
            place
            if is_tensor(place)
            else self.operator.sibling("full")((), place, dtype=dtypes.int64)
        )
        return found
