"""Distances and similarities of vectors, unit vectors, and the losses of triplets. Composites.

>>> import tensorplay as tp
>>> tp.pairwise_distance(tp.tensor([[3.0, 0.0]]), tp.tensor([[0.0, 4.0]]))
tensor([5.])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core import layout
from tensorplay.core.dtypes import int64, result_type
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.linalg_norms import linalg_vector_norm
from tensorplay.ops.library.nn_loss import reduced
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite()
def normalize(input: Tensor, p: float = 2.0, dim: Dims = 1, eps: float = 1e-12) -> Tensor:
    """``input / max(‖input‖ₚ, eps)`` along ``dim``: vectors of length 1; a zero vector stays zero.

    >>> import tensorplay as tp
    >>> tp.normalize(tp.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return input / linalg_vector_norm(input, p, dim, True).clamp(min=eps)


@normalize.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((2, 3, 4), layout="transposed"), 3.0, (0, -1))
    yield sample(Arg((4,)), dim=0)
    yield bad(DTypeError, "floating", Arg((3, 4), int64))


@composite()
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``x1 · x2 / (max(‖x1‖, eps) · max(‖x2‖, eps))`` along ``dim``; the shapes broadcast.

    Each vector is divided by its own length first, so that nothing over- or underflows.

    >>> import tensorplay as tp
    >>> tp.cosine_similarity(tp.tensor([[1.0, 1.0]]), tp.tensor([[0.0, 2.0]]))
    tensor([0.7071])
    """
    dtype = result_type((x1.dtype, x2.dtype))
    if not dtype.is_floating_point:
        raise DTypeError(
            f"cosine_similarity: expected floating dtypes, found {dtype}; use .float()"
        )
    shape = layout.broadcast_shapes("cosine_similarity", (x1.shape, x2.shape))
    a, b = x1.to(dtype).expand(shape), x2.to(dtype).expand(shape)
    return (normalize(a, 2.0, dim, eps) * normalize(b, 2.0, dim, eps)).sum(dim)


@cosine_similarity.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)))
    yield sample(Arg((2, 3, 4)), Arg((3, 1)), -1)
    yield sample(Arg((4,)), Arg((4,)), 0, 0.5)
    yield bad(DTypeError, "floating dtypes", Arg((3, 4), int64), Arg((3, 4), int64))


@composite()
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """``‖x1 − x2 + eps‖ₚ`` over the last dimension; the shapes broadcast.

    >>> import tensorplay as tp
    >>> tp.nn.functional.pairwise_distance(tp.tensor([[0.0, 0.0]]), tp.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return linalg_vector_norm(x1 - x2 + eps, p, -1, keepdim)


@pairwise_distance.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)))
    yield sample(Arg((2, 3, 4)), Arg((4,)), 1.0, 1e-3, True)
    yield sample(Arg((4,)), Arg((4,)), 3.0)


@composite()
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-distances of all pairs of rows of (N, D): (N·(N − 1)/2), pairs (0, 1), (0, 2) … (1, 2) ….

    >>> import tensorplay as tp
    >>> tp.pdist(tp.tensor([[0.0], [1.0], [3.0]]))
    tensor([1., 3., 2.])
    """
    if input.ndim != 2:
        raise ShapeError(f"pdist: expected rows (N, D), got shape {tuple(input.shape)}")
    if p < 0:
        raise ArgumentValueError(f"pdist: p is at least 0, got {p}")
    count = input.shape[0]
    later = [input[i + 1 :] - input[i] for i in range(count - 1)]
    if not later:
        return linalg_vector_norm(input[:0], p, -1)
    return linalg_vector_norm(tp.cat(later), p, -1)


@pdist.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4, 3)))
    yield sample(Arg((3, 2)), 1.0)
    yield sample(Arg((1, 2)))
    yield sample(Arg((0, 2)))
    yield bad(ShapeError, "rows", Arg((4,)))
    yield bad(ArgumentValueError, "at least 0", Arg((4, 3)), -1.0)


@composite()
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) − d(anchor, negative) + margin)`` with `pairwise_distance`.

    With ``swap`` the second distance is that of the negative to the nearer of the two others
    (Balntas et al. 2016).

    >>> import tensorplay as tp
    >>> a, near, far = tp.tensor([[0.0]]), tp.tensor([[1.0]]), tp.tensor([[1.5]])
    >>> tp.nn.functional.triplet_margin_loss(a, near, far)
    tensor(0.5000)
    """
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            "triplet_margin_loss: the three tensors have as many dimensions as each other, found "
            f"shapes {tuple(anchor.shape)}, {tuple(positive.shape)}, {tuple(negative.shape)}"
        )
    if not margin > 0.0:
        raise ArgumentValueError(f"triplet_margin_loss: margin is above 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = tp.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced("triplet_margin_loss", (near - far + margin).clamp(min=0.0), reduction)


@triplet_margin_loss.sample
def _() -> Iterator[Sample]:
    a, b, c = Arg((3, 4)), Arg((3, 4), low=-1.0), Arg((3, 4), high=3.0)
    yield sample(a, b, c)
    yield sample(a, b, c, 0.5, 1.0, 1e-3, True, "none")
    yield bad(ShapeError, "as many dimensions", a, b, Arg((4,)))
    yield bad(ArgumentValueError, "above 0", a, b, c, 0.0)
    yield bad(ArgumentValueError, "reduction", a, b, c, reduction="average")
