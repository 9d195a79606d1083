"""Losses of numbers and of distributions: composites. ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``.

>>> import tensorplay as tp
>>> tp.huber_loss(tp.tensor([0.0, 3.0]), tp.tensor([1.0, 0.0]), reduction="none")
tensor([0.5000, 2.5000])
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorplay.core.dtypes import Number, int64
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.nn_loss import check_same_shape, pairs, reduced, strict_pairs
from tensorplay.ops.library.nn_softmax import widen
from tensorplay.ops.library.special import xlogy
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import is_tensor

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _weighted(name: str, loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Reduce with weights of the elements: the mean is the weighted one."""
    if weight is None:
        return reduced(name, loss, reduction)
    _check_weight(name, loss, weight)
    if reduction == "mean":
        return (loss * weight).sum() / weight.sum()
    return reduced(name, loss * weight, reduction)


def _check_weight(name: str, loss: Tensor, weight: Tensor) -> None:
    if weight.shape != loss.shape:
        raise ShapeError(
            f"{name}: weight has shape {tuple(weight.shape)}, input {tuple(loss.shape)}; every "
            "element needs its own weight"
        )


@composite()
def mse_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """``(input − target)²``; the mean is weighted by ``weight``, which has the input's shape.

    >>> import tensorplay as tp
    >>> tp.nn.functional.mse_loss(tp.tensor([1.0, 2.0]), tp.tensor([0.0, 5.0]))
    tensor(5.)
    """
    check_same_shape("mse_loss", input, target)
    difference = input - target
    return _weighted("mse_loss", difference * difference, weight, reduction)


@composite()
def l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """``|input − target|``; the mean is weighted by ``weight``, which has the input's shape.

    >>> import tensorplay as tp
    >>> tp.nn.functional.l1_loss(tp.tensor([1.0, 2.0]), tp.tensor([0.0, 5.0]))
    tensor(2.)
    """
    check_same_shape("l1_loss", input, target)
    return _weighted("l1_loss", (input - target).abs(), weight, reduction)


@composite()
def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """``d² / (2·beta)`` where ``d = |input − target| < beta``, else ``d − beta / 2``.

    >>> import tensorplay as tp
    >>> tp.nn.functional.smooth_l1_loss(tp.tensor([0.0, 0.0]), tp.tensor([0.5, 3.0]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    check_same_shape("smooth_l1_loss", input, target)
    if beta < 0.0:
        raise ArgumentValueError(f"smooth_l1_loss: beta is at least 0, got {beta}")
    if beta == 0.0:
        return reduced("smooth_l1_loss", (input - target).abs(), reduction)
    loss = _bent(input - target, beta) * (1.0 / beta)
    return reduced("smooth_l1_loss", loss, reduction)


@composite()
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``d² / 2`` where ``d = |input − target| ≤ delta``, else ``delta · (d − delta / 2)`` (Huber 1964).

    ``weight`` has the input's shape and multiplies the losses; the mean divides by their number.

    >>> import tensorplay as tp
    >>> tp.nn.functional.huber_loss(tp.tensor([0.0, 0.0]), tp.tensor([0.5, 3.0]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    check_same_shape("huber_loss", input, target)
    if not delta > 0.0:
        raise ArgumentValueError(f"huber_loss: delta is above 0, got {delta}")
    loss = _bent(input - target, delta)
    if weight is not None:
        _check_weight("huber_loss", loss, weight)
        loss = loss * weight
    return reduced("huber_loss", loss, reduction)


def _bent(x: Tensor, delta: float) -> Tensor:
    """Return ``x² / 2`` inside of ``[-delta, delta]``, continued in a straight line.

    By clamping rather than choosing, so that a distant element has no infinite square whose gradient
    is masked to NaN, and the second derivative at 0 is that of the square.
    """
    wide = widen(x)
    near = wide.clamp(-delta, delta)
    return (near * near * 0.5 + (wide.abs() - near.abs()) * delta).to(x.dtype)


@mse_loss.sample
@l1_loss.sample
@huber_loss.sample
def _() -> Iterator[Sample]:
    a, b, w = Arg((3, 4)), Arg((3, 4), low=0.0, high=1.0), Arg((3, 4), low=0.5)
    yield from strict_pairs()
    yield sample(a, b, weight=w)
    yield sample(a, b, "none", weight=w)
    yield bad(ShapeError, "its own weight", a, b, weight=Arg((4,)))


@smooth_l1_loss.sample
def _() -> Iterator[Sample]:
    a, b = Arg((3, 4)), Arg((3, 4), low=0.0, high=1.0)
    yield from strict_pairs()
    yield sample(a, b, beta=0.3)
    yield sample(a, b, beta=0.0)
    yield bad(ArgumentValueError, "beta is at least 0", a, b, beta=-1.0)


# ---- distributions -----------------------------------------------------------------------------------


@composite()
def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """``target · (log(target) − input)``: what the log-probabilities ``input`` miss of ``target``.

    With ``log_target`` the target is logarithms too. ``reduction="batchmean"`` divides the sum by the
    size of dimension 0, which is the divergence of Kullback and Leibler (1951); ``"mean"`` divides by
    the number of elements. The shapes broadcast; a target of 0 counts nothing.

    >>> import tensorplay as tp
    >>> input, target = tp.tensor([0.5, 0.5]).log(), tp.tensor([0.9, 0.1])
    >>> tp.nn.functional.kl_div(input, target, reduction="sum")
    tensor(0.3681)
    """
    loss = _log_divergence(input, target) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean":
        total = loss.sum()
        return total / input.shape[0] if input.ndim > 0 else total
    return reduced("kl_div", loss, reduction)


def _log_divergence(input: Tensor, target: Tensor) -> Tensor:
    return target.exp() * (target - input)


@kl_div.sample
def _() -> Iterator[Sample]:
    a, b = Arg((3, 4), low=-3.0, high=0.0), Arg((3, 4), low=0.05, high=1.0)
    yield sample(a, b)
    yield sample(a, b, "batchmean")
    yield sample(a, a, "sum", True)
    yield sample(a, Arg((4,), low=0.05, high=1.0), "none")
    yield bad(ArgumentValueError, "reduction", a, b, "average")


@composite()
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """``exp(input) − target · input``: the negative log-likelihood of counts, without ``log(target!)``.

    Without ``log_input``: ``input − target · log(input + eps)``. ``full`` adds Stirling's
    approximation of ``log(target!)`` where ``target > 1``: ``t·log(t) − t + log(2πt) / 2``.

    >>> import tensorplay as tp
    >>> tp.nn.functional.poisson_nll_loss(tp.tensor([0.0, 1.0]), tp.tensor([1.0, 3.0]))
    tensor(0.3591)
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        many = target > 1.0
        t = tp.where(many, target, 1.0)
        stirling = t * t.log() - t + (t * (2.0 * math.pi)).log() * 0.5
        loss = loss + tp.where(many, stirling, 0.0)
    return reduced("poisson_nll_loss", loss, reduction)


@poisson_nll_loss.sample
def _() -> Iterator[Sample]:
    counts = Arg((3, 4), low=0.0, high=5.0)
    yield from pairs()
    yield sample(Arg((3, 4)), counts, full=True)
    yield sample(Arg((3, 4), low=0.1), counts, False, True, 1e-6, "none")
    yield sample(Arg((3, 4)), Arg((3, 4), int64, 0, 9))


@composite()
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | Number,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """``(log(v) + (input − target)² / v) / 2`` with ``v = max(var, eps)``: that of a normal distribution.

    ``var`` is a number, or has the input's shape, possibly with 1 as the last size or without the last
    dimension. Variances below 0 are refused where there is data. The gradient passes the maximum
    unchanged. ``full`` adds ``log(2π) / 2``. Nix and Weigend 1994.

    >>> import tensorplay as tp
    >>> tp.nn.functional.gaussian_nll_loss(tp.tensor([0.0]), tp.tensor([1.0]), tp.tensor([4.0]))
    tensor(0.8181)
    """
    variance = _variance(input, var)
    if not eps > 0.0:
        raise ArgumentValueError(f"gaussian_nll_loss: eps is above 0, got {eps}")
    held = variance.detach()
    if held.array is not None and bool((held < 0).any()):
        raise ArgumentValueError("gaussian_nll_loss: var has negative elements")
    v = tp.where(held < eps, eps + (variance - held), variance)
    distance = input - target
    loss = (v.log() + distance * distance / v) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2.0 * math.pi)
    return reduced("gaussian_nll_loss", loss, reduction)


def _variance(input: Tensor, var: Any) -> Tensor:  # noqa: ANN401  # a tensor or a number
    """Return the variance in a shape that broadcasts to the input's."""
    variance: Tensor = var
    if not is_tensor(var):
        variance = tp.full((), var, dtype=input.dtype, device=input.device)
    if variance.ndim == 0 or variance.shape in {input.shape, (*input.shape[:-1], 1)}:
        return variance
    if variance.shape == input.shape[:-1]:
        return variance.unsqueeze(-1)
    raise ShapeError(
        f"gaussian_nll_loss: var has shape {tuple(variance.shape)}; expected {tuple(input.shape)}, or "
        "with 1 as the last size, or without the last dimension"
    )


@gaussian_nll_loss.sample
def _() -> Iterator[Sample]:
    a, b = Arg((3, 4)), Arg((3, 4))
    yield sample(a, b, Arg((3, 4), low=0.5))
    yield sample(a, b, Arg((3,), low=0.5), True, reduction="none")
    yield sample(a, b, Arg((3, 1), low=0.5), reduction="sum")
    yield sample(a, b, 0.7)
    yield bad(ShapeError, "without the last dimension", a, b, Arg((4,), low=0.5))
    yield bad(ArgumentValueError, "eps is above 0", a, b, Arg((3, 4), low=0.5), eps=0.0)
    yield bad(ArgumentValueError, "reduction", a, b, Arg((3, 4), low=0.5), reduction="average")
