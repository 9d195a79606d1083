"""Parametrizations that are ready to use: weight norm, spectral norm, orthogonal matrices.

>>> import tensorplay as tp
>>> layer = orthogonal(tp.nn.Linear(3, 3))
>>> tp.allclose(layer.weight @ layer.weight.t(), tp.eye(3), atol=1e-5)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.functions import cat, eye, randn, zeros
from tensorplay.linalg import matrix_exp, qr, solve
from tensorplay.nn import functional
from tensorplay.nn.module import Module
from tensorplay.nn.utils.parametrize import register_parametrization

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- weight norm ----------------------------------------------------------------------------------


def norm_except_dim(weight: Tensor, dim: int | None) -> Tensor:
    """Return the 2-norms of the slices along ``dim`` (of all elements for None), broadcastable."""
    if dim is None:
        return (weight * weight).sum().sqrt()
    if not -weight.ndim <= dim < weight.ndim:
        raise ArgumentValueError(
            f"weight_norm: a weight of {weight.ndim} dimensions has none {dim}"
        )
    others = tuple(d for d in range(weight.ndim) if d != dim % weight.ndim)
    return (weight * weight).sum(others, keepdim=True).sqrt() if others else weight.abs()


class _WeightNorm(Module):
    """``g · v / ‖v‖``: length and direction apart (Salimans and Kingma 2016)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = None if dim == -1 else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Give the direction its length."""
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return length and direction."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the length (``original0``) and the direction (``original1``) of a weight apart.

    A length for each index of dimension ``dim``; one for all with None (or −1, as in PyTorch).
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


# ---- spectral norm --------------------------------------------------------------------------------


class SpectralNorm(Module):
    """``weight / σ``, σ the largest singular value, estimated by power iteration (Miyato et al. 2018)."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ArgumentValueError(
                f"spectral_norm: n_power_iterations is above 0, got {n_power_iterations}"
            )
        if not -weight.ndim <= dim < weight.ndim:
            raise ArgumentValueError(
                f"spectral_norm: a weight of {weight.ndim} dimensions has none {dim}"
            )
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim == 1:
            return
        with no_grad():
            matrix = self._matrix(weight.detach())
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                start = randn(size, dtype=weight.dtype)
                self.register_buffer(name, functional.normalize(start, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with no_grad():
            for _ in range(times):
                self._u.copy_(functional.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(functional.normalize(matrix.t() @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """Divide by the estimate; in training improve it first."""
        if weight.ndim == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        # copies, as the next call changes the vectors before this one is differentiated
        u, v = self._u.clone(), self._v.clone()
        return weight / (u * (matrix @ v)).sum()

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value: it is normalized when it is read."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, as a matrix whose rows are dimension ``dim``.

    Dimension 1 for transposed convolutions, else 0.
    """
    weight = getattr(module, name)
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(
        module, name, SpectralNorm(weight, n_power_iterations, dim, eps)
    )


# ---- orthogonal -----------------------------------------------------------------------------------


class _Orthogonal(Module):
    """Orthonormal columns (or rows, if those are fewer) from a skew-symmetric matrix."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map = orthogonal_map
        self.register_buffer("base", None)
        if use_trivialization:
            size = max(weight.shape[-2:])
            square = eye(size, dtype=weight.dtype).expand((*weight.shape[:-2], size, size))
            self.register_buffer("base", square.clone())

    def forward(self, weight: Tensor) -> Tensor:
        """Map the lower triangle to a matrix with orthonormal columns."""
        rows, columns = weight.shape[-2:]
        tall = weight if rows >= columns else weight.transpose(-2, -1)
        size, count = tall.shape[-2:]
        lower = tall.tril()
        if count < size:
            fill = zeros((*tall.shape[:-1], size - count), dtype=tall.dtype)
            lower = cat([lower, fill], -1)
        skew = lower - lower.transpose(-2, -1)
        found: Tensor
        if self.orthogonal_map == "matrix_exp":
            found = matrix_exp(skew)
        else:
            one = eye(size, dtype=tall.dtype).expand(skew.shape)
            found = solve(one - skew * 0.5, one + skew * 0.5)
        if self.base is not None:
            found = self.base @ found
        found = found.narrow(-1, 0, count)
        return found if rows >= columns else found.transpose(-2, -1)

    def right_inverse(self, value: Tensor) -> Tensor:
        """Start at the orthogonal matrix of ``value``'s QR decomposition."""
        if self.base is None:
            return value  # the original is free; the weight is what it maps to
        rows, columns = value.shape[-2:]
        tall = value if rows >= columns else value.transpose(-2, -1)
        q, r = qr(tall, "complete")
        signs = r.diagonal(0, -2, -1).sign()
        count = tall.shape[-1]
        self.base.copy_(cat([q[..., :count] * signs.unsqueeze(-2), q[..., count:]], -1))
        return zeros(value.shape, dtype=value.dtype)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: Literal["matrix_exp", "cayley"] | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a weight orthogonal: rows or columns are orthonormal, whichever are fewer.

    The weight is ``base · exp(A)``, A skew-symmetric from the lower triangle of the original, or
    ``base · (1 − A/2)⁻¹ (1 + A/2)`` with ``"cayley"``. With ``use_trivialization`` the base starts at
    the orthogonal matrix of the weight's QR decomposition, and is set anew when the weight is
    assigned; without it, it is the identity, and the weight starts anywhere (Lezcano-Casado 2019).
    PyTorch's map ``"householder"`` is not offered.
    """
    chosen = "matrix_exp" if orthogonal_map is None else orthogonal_map
    if chosen not in {"matrix_exp", "cayley"}:
        raise ArgumentValueError(
            f"orthogonal: orthogonal_map is 'matrix_exp' or 'cayley', not {orthogonal_map!r}"
        )
    weight = getattr(module, name)
    if weight.ndim < 2:
        raise ShapeError(f"orthogonal: expected a matrix, got shape {tuple(weight.shape)}")
    made = _Orthogonal(weight, chosen, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
