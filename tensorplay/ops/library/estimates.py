"""Statistics and estimates from samples: cov, corrcoef, gradient by differences, renorm, dist, mode, msort, histogram.

>>> import tensorplay as tp
>>> tp.cov(tp.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
tensor([[ 1., -1.],
        [-1.,  1.]])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core import dtypes, layout
from tensorplay.core.dtypes import Number, float64, int64
from tensorplay.core.errors import ArgumentError, ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims, is_tensor

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- covariances ----------------------------------------------------------------------------------------


def _weights(name: str, weights: Tensor, count: int, *, whole: bool) -> None:
    if weights.ndim > 1:
        raise ShapeError(f"cov: {name} must be 1-d, found shape {tuple(weights.shape)}")
    if whole and weights.dtype.kind not in "iu":
        raise DTypeError(f"cov: {name} must be integers, found {weights.dtype}")
    if not whole and not weights.dtype.is_floating_point:
        raise DTypeError(f"cov: {name} must be floating-point numbers, found {weights.dtype}")
    if weights.numel() != count:
        raise ShapeError(f"cov: {weights.numel()} {name} for {count} observations")
    if weights.array is not None and (weights.array < 0).any():  # compiled, nothing looks at them
        raise ArgumentValueError(f"cov: {name} must not be negative")


@composite(method=True)
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of variables, a row each, whose observations are the columns.

    A vector is one variable, and its result 0-d. Divided by the number of observations less
    `correction`, at least 0. `fweights` says how often each observation counts, `aweights` how much;
    they are not negative (`ArgumentValueError`, eager only). Bools and more than two dimensions are refused.

    >>> import tensorplay as tp
    >>> tp.cov(tp.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, -1.0]]))
    tensor([[ 1., -2.],
            [-2.,  4.]])
    """
    if input.ndim > 2:
        raise ShapeError(f"cov: expected at most two dimensions, found shape {tuple(input.shape)}")
    if input.dtype is dtypes.bool_:
        raise DTypeError("cov: bool tensors have no covariance; convert with .float()")
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    if not rows.dtype.is_differentiable:
        rows = rows.to(dtypes.get_default_dtype())
    count = rows.shape[1]
    weights: Tensor | None = None
    if fweights is not None:
        _weights("fweights", fweights, count, whole=True)
        weights = fweights
    if aweights is not None:
        _weights("aweights", aweights, count, whole=False)
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        mean = rows.sum(1, keepdim=True) / count
        centered, weighed = rows - mean, rows - mean
        norm: Any = max(count - correction, 0)
    else:
        total = weights.sum()
        mean = (rows * weights).sum(1, keepdim=True) / total
        centered = rows - mean
        weighed = centered * weights
        norm = total - correction
        if aweights is not None and correction:
            norm = total - correction * (weights * aweights).sum() / total
        norm = norm.clamp(min=0)
    other = weighed.conj() if weighed.is_complex() else weighed
    found: Tensor = (centered @ other.to(centered.dtype).t()) / norm
    return found.squeeze()


@composite(method=True)
def corrcoef(input: Tensor) -> Tensor:
    """The coefficients of correlation of variables, a row each, whose observations are the columns.

    A vector is one variable, and its result 0-d. Values are held inside of [-1, 1].

    >>> import tensorplay as tp
    >>> tp.corrcoef(tp.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, -1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise ShapeError(
            f"corrcoef: expected at most two dimensions, found shape {tuple(input.shape)}"
        )
    c = cov(input)
    if not c.ndim:
        return c / c
    deviation = tp.real(c.diagonal()).sqrt()
    c = c / deviation.reshape(-1, 1) / deviation.reshape(1, -1)
    if c.is_complex():
        found: Tensor = tp.complex(tp.real(c).clamp(-1, 1), tp.imag(c).clamp(-1, 1))
        return found
    return c.clamp(-1, 1)


# ---- differences ------------------------------------------------------------------------------------------


@composite()
def gradient(
    input: Tensor, *, spacing: object = None, dim: Dims = None, edge_order: int = 1
) -> Any:  # noqa: ANN401  # a tuple of tensors
    """Estimates of the partial derivatives of a function from its values on a grid, a tensor for each dimension.

    Inside, second-order central differences; at both ends, one-sided differences of `edge_order` 1
    or 2. `spacing` is the distance of neighbours (1): a number for all dimensions, one for each, or a
    1-d tensor of coordinates for each. Each dimension needs `edge_order + 1` elements
    (`ShapeError`).

    >>> import tensorplay as tp
    >>> tp.gradient(tp.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    dims = range(input.ndim) if dim is None else layout.normalize_dims("gradient", dim, input.ndim)  # type: ignore[arg-type]  # bound as a tuple
    if edge_order not in {1, 2}:
        raise ArgumentValueError(f"gradient: edge_order must be 1 or 2, found {edge_order}")
    if input.dtype.kind in "bu":
        raise DTypeError(f"gradient: {input.dtype} has no negative numbers; convert with .float()")
    for each in dims:
        if input.shape[each] <= edge_order:
            raise ShapeError(
                f"gradient: edge_order {edge_order} needs at least {edge_order + 1} elements in dimension {each}, "
                f"found {input.shape[each]}"
            )
    distances = _distances(spacing, len(dims))
    return tuple(
        _slopes(input, place, distance, edge_order)
        for place, distance in zip(dims, distances, strict=True)
    )


def _distances(spacing: Any, count: int) -> Sequence[Any]:  # noqa: ANN401  # numbers or tensors
    if spacing is None:
        return [1] * count
    if isinstance(spacing, (int, float, complex)):
        return [spacing] * count
    given = [spacing] if is_tensor(spacing) else list(spacing)
    if len(given) != count:
        raise ArgumentError(f"gradient: {len(given)} spacings for {count} dimensions")
    return given


def _slopes(x: Tensor, dim: int, distance: Any, edge_order: int) -> Tensor:  # noqa: ANN401  # a number or a tensor
    size = x.shape[dim]

    def part(start: int, length: int) -> Tensor:
        return x.narrow(dim, start, length)

    if is_tensor(distance):
        if distance.ndim != 1 or distance.shape[0] != size:
            raise ShapeError(
                f"gradient: coordinates of shape {tuple(distance.shape)} for a dimension of {size} elements"
            )
        steps = distance.diff().reshape([-1 if d == dim else 1 for d in range(x.ndim)])
        if not steps.dtype.is_differentiable:
            steps = steps.to(dtypes.get_default_dtype())
        left, right = steps.narrow(dim, 0, size - 2), steps.narrow(dim, 1, size - 2)
        inner = (
            part(0, size - 2) * (-right / (left * (left + right)))
            + part(1, size - 2) * ((right - left) / (left * right))
            + part(2, size - 2) * (left / (right * (left + right)))
        )
        places = (0, min(1, size - 2), max(size - 3, 0), size - 2)
        h0, h1, g1, g0 = (steps.narrow(dim, k, 1) for k in places)
    else:
        inner = (part(2, size - 2) - part(0, size - 2)) / (2 * distance)
        h0 = h1 = g1 = g0 = distance
    if edge_order == 1:
        start = (part(1, 1) - part(0, 1)) / h0
        end = (part(size - 1, 1) - part(size - 2, 1)) / g0
    else:
        start = (
            part(0, 1) * (-(2 * h0 + h1) / (h0 * (h0 + h1)))
            + part(1, 1) * ((h0 + h1) / (h0 * h1))
            - part(2, 1) * (h0 / (h1 * (h0 + h1)))
        )
        end = (
            part(size - 3, 1) * (g0 / (g1 * (g0 + g1)))
            - part(size - 2, 1) * ((g0 + g1) / (g0 * g1))
            + part(size - 1, 1) * ((2 * g0 + g1) / (g0 * (g0 + g1)))
        )
    found: Tensor = tp.cat([start, inner, end], dim)
    return found


# ---- norms of slices --------------------------------------------------------------------------------------


@composite(method=True, inplace=True)
def renorm(input: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """`input` with the slices along `dim` whose p-norm is larger than `maxnorm` scaled down to it.

    At least two dimensions, a positive `p` and a `maxnorm` that is not negative are expected.

    >>> import tensorplay as tp
    >>> tp.renorm(tp.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    place = layout.normalize_dim("renorm", dim, input.ndim)
    if input.ndim < 2:
        raise ShapeError(
            f"renorm: expected at least two dimensions, found shape {tuple(input.shape)}"
        )
    if not p.real > 0 or maxnorm.real < 0:
        raise ArgumentValueError(
            f"renorm: p must be positive and maxnorm not negative, found {p} and {maxnorm}"
        )
    if not input.dtype.is_differentiable:
        raise DTypeError(f"renorm: expected a floating-point tensor, found {input.dtype}")
    others = [k for k in range(input.ndim) if k != place]
    wide = input.to(input.dtype.compute)
    length = tp.linalg_vector_norm(wide, p, others, True)
    factor = tp.where(length > maxnorm, maxnorm / (length + 1e-7), 1.0)
    return (wide * factor).to(input.dtype)


@composite(method=True)
def dist(input: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """The p-norm of `input - other`, which broadcast.

    >>> import tensorplay as tp
    >>> tp.dist(tp.tensor([0.0, 0.0]), tp.tensor([3.0, 4.0]))
    tensor(5.)
    """
    found: Tensor = tp.norm(input - other, p)
    return found


@composite(method=True)
def msort(input: Tensor) -> Tensor:
    """The elements in ascending order along dimension 0; NaN comes last.

    >>> import tensorplay as tp
    >>> tp.msort(tp.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    found: Tensor = tp.sort(input, 0)[0]
    return found


# ---- samples ------------------------------------------------------------------------------------------------


@cov.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5)))
    yield sample(Arg((5, 3), layout="transposed"), correction=0)
    yield sample(Arg((6,)))
    yield sample(
        Arg((2, 4)),
        fweights=Arg((4,), int64, values=[1, 2, 0, 3]),
        aweights=Arg((4,), low=0.1, high=1.0),
    )
    yield bad(ShapeError, "two dimensions", Arg((2, 3, 4)))
    yield bad(DTypeError, "bool", Arg((2, 3), dtypes.bool_))
    yield bad(ShapeError, "observations", Arg((2, 3)), fweights=Arg((2,), int64, low=1, high=3))
    yield bad(DTypeError, "integers", Arg((2, 3)), fweights=Arg((3,)))


@corrcoef.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5)))
    yield sample(Arg((6,)))
    yield bad(ShapeError, "two dimensions", Arg((2, 3, 4)))


@gradient.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4, 5)))
    yield sample(Arg((4, 5), layout="transposed"), spacing=0.5, dim=1, edge_order=2)
    yield sample(Arg((4,)), spacing=[Arg((4,), values=[0.0, 1.0, 3.0, 3.5])], edge_order=2)
    yield sample(Arg((3, 4)), spacing=[2.0, 3.0])
    yield bad(ShapeError, "at least 2 elements", Arg((1,)))
    yield bad(ArgumentValueError, "edge_order", Arg((3,)), edge_order=3)
    yield bad(ArgumentError, "spacings", Arg((3, 3)), spacing=[1.0])


@renorm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 2, 0, 1.0)
    yield sample(Arg((3, 4, 2), layout="transposed"), 1, -1, 2.5)
    yield sample(Arg((3, 4), dtypes.bfloat16), 2, 1, 0.5)
    yield bad(ShapeError, "two dimensions", Arg((3,)), 2, 0, 1.0)
    yield bad(ArgumentValueError, "positive", Arg((3, 2)), -1, 0, 1.0)


@dist.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((4,)))
    yield sample(Arg((3, 4)), Arg((3, 4), float64), 1)


@msort.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4, 3)))
    yield sample(Arg((3, 4), layout="transposed"))
    yield sample(Arg(()))
