"""What the contract suite shares: tensors from sample descriptions, a plain handler on arrays, float64 twins of calls."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

import tensorplay as tp
from tensorplay.core import dtypes
from tensorplay.ops.registry import Operator
from tensorplay.ops.registry import tp as registry
from tensorplay.ops.samples import Arg, Sample
from tensorplay.ops.values import Value, result_dtype


def operators() -> list[Operator]:
    """All declared operators."""
    return list(registry)


def good_samples(operator: Operator) -> list[Sample]:
    assert operator.samples is not None
    return [each for each in operator.samples() if each.error is None]


def bad_samples(operator: Operator) -> list[Sample]:
    assert operator.samples is not None
    return [each for each in operator.samples() if each.error is not None]


def make_array(arg: Arg, rng: np.random.Generator) -> np.ndarray:
    """Values of an argument, well apart from one another so that finite differences meet no ties."""
    if arg.values is not None:
        return np.array(arg.values, arg.dtype.numpy).reshape(arg.shape)
    count = int(np.prod(arg.shape))
    if arg.dtype.kind == "b":
        return rng.integers(0, 2, arg.shape).astype(bool)
    if arg.dtype.is_integral:
        low = max(int(arg.low), dtypes.iinfo(arg.dtype).min)
        return rng.integers(low, max(int(arg.high), low + 1), arg.shape).astype(arg.dtype.numpy)
    cells = (rng.permutation(count) + 0.2 + 0.6 * rng.random(count)) / max(count, 1)
    grid = (arg.low + (arg.high - arg.low) * cells).reshape(arg.shape)
    if arg.dtype.kind == "c":
        other = rng.permutation(grid.reshape(-1)).reshape(arg.shape)
        return np.asarray(grid + 1j * other).astype(arg.dtype.numpy)
    return grid.astype(arg.dtype.numpy)


def make_tensor(arg: Arg, rng: np.random.Generator) -> tp.Tensor:
    """The tensor of an argument, in its layout."""
    array = make_array(arg, rng)
    if arg.layout == "transposed" and array.ndim > 1:
        array = np.ascontiguousarray(array.swapaxes(0, -1)).swapaxes(0, -1)
    elif arg.layout == "strided" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        array = wide[..., ::2]
    elif arg.layout == "reversed" and array.ndim:
        array = np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    elif arg.layout == "expanded" and array.ndim:
        array = np.broadcast_to(array[:1], array.shape).copy()
    return tp.from_numpy(array)


def build(value: object, rng: np.random.Generator) -> object:
    """An argument of a sample with tensors in place of descriptions."""
    if isinstance(value, Arg):
        return make_tensor(value, rng)
    if isinstance(value, (tuple, list)):
        return type(value)(build(each, rng) for each in value)
    return value


def build_call(operator: Operator, sample: Sample) -> tuple[tuple, dict]:
    """The args and kwargs of a sample; the same ones each time."""
    rng = np.random.default_rng(zlib.crc32(operator.name.encode()))
    return build(sample.args, rng), {k: build(v, rng) for k, v in sample.kwargs.items()}


def in_float64(value: object) -> object:
    """A description with floats widened to float64."""
    if isinstance(value, Arg):
        return replace(value, dtype=dtypes.float64) if value.dtype.is_floating_point else value
    if isinstance(value, (tuple, list)):
        return type(value)(in_float64(each) for each in value)
    return dtypes.float64 if isinstance(value, dtypes.DType) and value.is_floating_point else value


def float64_sample(sample: Sample) -> Sample:
    return replace(
        sample,
        args=in_float64(sample.args),
        kwargs={k: in_float64(v) for k, v in sample.kwargs.items()},
    )


def tensors_in(value: object) -> Iterator[tp.Tensor]:
    """All tensors in nested tuples, lists and dicts."""
    if isinstance(value, tp.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from tensors_in(each)


def replaced(value: object, swap: dict[int, tp.Tensor]) -> object:
    """The same structure with tensors exchanged by identity."""
    if isinstance(value, tp.Tensor):
        return swap.get(id(value), value)
    if isinstance(value, (tuple, list)):
        return type(value)(replaced(each, swap) for each in value)
    if isinstance(value, dict):
        return {k: replaced(v, swap) for k, v in value.items()}
    return value


def without_data(value: object) -> object:
    """The same structure with tensors that have metadata only."""
    swap = {id(each): tp.dispatch.tensor_of_meta(each.tensor_meta) for each in tensors_in(value)}
    return replaced(value, swap)


class ArrayHandler:
    """The plainest interpretation: every instruction at once on whole arrays."""

    def apply(self, instruction, operands: Sequence[Value], attrs) -> Value:
        dtype = result_dtype(instruction, operands, attrs)
        with np.errstate(all="ignore"):
            data = np.asarray(instruction.array(*(each.data for each in operands), **attrs))
        assert data.dtype == dtype.numpy, (instruction, data.dtype, dtype)
        return Value(self, dtype, data)

    def constant(self, number, dtype) -> Value:
        return Value(self, dtype, np.asarray(number).astype(dtype.numpy))

    def of(self, array: np.ndarray) -> Value:
        return Value(self, dtypes.from_numpy_dtype(array.dtype), array)
