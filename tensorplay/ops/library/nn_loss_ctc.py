"""Connectionist temporal classification: the loss of a sequence without its alignment.

Graves et al., Connectionist Temporal Classification, 2006. The probability of a sequence is the sum
over all ways to stretch it over time, with blanks between; forward and backward sums in logarithms
take O(T · S) for T times and S symbols. The recursions run over the whole batch at once.

>>> import tensorplay as tp
>>> uniform = tp.full((2, 1, 2), 0.5).log()
>>> tp.ctc_loss(uniform, tp.tensor([[1]]), (2,), (1,), reduction="sum")  # 3 of the 4 ways
tensor(0.2877)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tensorplay.core.dtypes import float64, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.nn_loss import reduced
from tensorplay.ops.library.nn_loss_ctc_curvature import curvature
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import is_tensor

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor


class _Lattice:
    """The states of a batch: blank, symbol, blank, …, symbol, blank, for the longest target.

    States are columns; those beyond a target's own have no probability. Everything is float64.
    """

    def __init__(
        self, log_probs: Array, targets: Array, times: Array, lengths: Array, blank: int
    ) -> None:
        count, longest = targets.shape
        self.states = 2 * longest + 1
        self.batch = np.arange(count)
        self.symbols = np.full((count, self.states), blank, np.int64)
        self.symbols[:, 1::2] = np.where(np.arange(longest) < lengths[:, None], targets, blank)
        self.log_probs = log_probs.astype(np.float64)
        self.times, self.ends = times, 2 * lengths
        self.exists: Array = np.arange(self.states) <= self.ends[:, None]
        self.jumps = np.zeros((count, self.states), bool)
        self.jumps[:, 2:] = (self.symbols[:, 2:] != blank) & (
            self.symbols[:, 2:] != self.symbols[:, :-2]
        )

    def emitted(self, time: int) -> Array:
        """Log-probabilities of the states' symbols at a time."""
        return np.take_along_axis(self.log_probs[time], self.symbols, 1)

    def forward(self) -> Array:
        """Return the sums over ways that reach a state at a time, (T, N, states)."""
        found = np.full((len(self.log_probs), len(self.batch), self.states), -np.inf)
        if len(found) == 0:
            return found
        found[0, :, :2] = self.emitted(0)[:, :2]  # begin with a blank or the first symbol
        found[0] = np.where(self.exists, found[0], -np.inf)
        for time in range(1, len(found)):
            before = found[time - 1]
            total = before.copy()
            total[:, 1:] = np.logaddexp(total[:, 1:], before[:, :-1])
            jumped = np.where(self.jumps[:, 2:], before[:, :-2], -np.inf)
            total[:, 2:] = np.logaddexp(total[:, 2:], jumped)
            found[time] = np.where(self.exists, total + self.emitted(time), -np.inf)
        return found

    def losses(self, forward: Array) -> Array:
        """Return minus the log-probabilities of the targets."""
        empty = np.where(self.ends == 0, 0.0, np.inf)  # without time only the empty sequence
        if len(forward) == 0:
            return empty
        last = forward[np.maximum(self.times - 1, 0), self.batch]
        total = last[self.batch, self.ends]
        before = np.where(self.ends > 0, last[self.batch, np.maximum(self.ends - 1, 0)], -np.inf)
        return np.where(self.times > 0, -np.logaddexp(total, before), empty)

    def backward(self) -> Array:
        """Return the sums over ways from a state at a time to the end, (T, N, states)."""
        found = np.full((len(self.log_probs), len(self.batch), self.states), -np.inf)
        final = np.arange(self.states) >= (self.ends - 1)[:, None]
        start = np.where(final & self.exists, 0.0, -np.inf)
        after = np.full((len(self.batch), self.states), -np.inf)
        for time in range(len(found) - 1, -1, -1):
            total = after.copy()
            total[:, :-1] = np.logaddexp(total[:, :-1], after[:, 1:])
            jumped = np.where(self.jumps[:, 2:], after[:, 2:], -np.inf)
            total[:, :-2] = np.logaddexp(total[:, :-2], jumped)
            is_last = np.equal(self.times - 1, time)[:, None]
            total = np.where(is_last, start, total)
            after = np.where(self.exists, total + self.emitted(time), -np.inf)
            found[time] = after
        return found


def _losses_meta(log_probs: TensorMeta, *rest: object) -> TensorMeta:
    del rest
    return TensorMeta((log_probs.shape[1],), log_probs.dtype, log_probs.device)


@structured(meta=_losses_meta, public=False)
def ctc_losses(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, blank: int
) -> Array:
    """The loss of each sample of (T, N, C) with padded targets (N, S); +∞ where no way fits."""
    lattice = _Lattice(log_probs, targets, input_lengths, target_lengths, blank)
    return lattice.losses(lattice.forward()).astype(log_probs.dtype)


def _derivative_meta(log_probs: TensorMeta, *rest: object) -> TensorMeta:
    del rest
    return TensorMeta(log_probs.shape, log_probs.dtype, log_probs.device)


@structured(meta=_derivative_meta, public=False)
def ctc_derivative(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, blank: int
) -> Array:
    """The derivative of each sample's loss by its own log-probabilities (T, N, C).

    Minus the probability of being at a symbol at a time, given the target. NaN where the loss is
    +∞.
    """
    lattice = _Lattice(log_probs, targets, input_lengths, target_lengths, blank)
    forward, backward = lattice.forward(), lattice.backward()
    losses = lattice.losses(forward)
    found = np.zeros(log_probs.shape, np.float64)
    for time in range(len(found)):
        ways = forward[time] + backward[time] - lattice.emitted(time) + losses[:, None]
        shares = np.where(lattice.exists, np.exp(ways), 0.0)
        np.add.at(found[time], (lattice.batch[:, None], lattice.symbols), -shares)
    late = np.arange(len(found))[:, None] >= input_lengths
    found[late] = 0.0
    found[:, np.isinf(losses)] = np.nan
    return found.astype(log_probs.dtype)


@ctc_derivative.gradient("log_probs")
def _(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
) -> Tensor:
    return curvature(log_probs, grad, targets, input_lengths, target_lengths, blank)


@ctc_derivative.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator, result
    log_probs, *rest = cast("tuple[Any, ...]", values)
    return None if tangents[0] is None else curvature(log_probs, tangents[0], *rest)


@ctc_losses.gradient("log_probs")
def _(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
) -> Tensor:
    shares = ctc_derivative(log_probs, targets, input_lengths, target_lengths, blank)
    # A sample whose gradient is masked (`zero_infinity`) has none, though its derivative is NaN.
    wanted = grad.reshape((1, -1, 1))
    return tp.where(wanted == 0, 0.0, shares * wanted)


@ctc_losses.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator, result
    tangent = tangents[0]
    return None if tangent is None else (ctc_derivative(*values) * tangent).sum((0, 2))


@composite()
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: object,
    target_lengths: object,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of target sequences under log-probabilities (T, N, C) or (T, C).

    ``targets`` are padded (N, S), or one after another (Σ target_lengths). The lengths are integers,
    sequences or tensors, one for each sample. Where the time is too short the loss is +∞, or 0 with
    ``zero_infinity``. The mean divides each loss by the length of its target (at least 1) first.

    >>> import tensorplay as tp
    >>> p = tp.full((4, 1, 3), 1 / 3).log()
    >>> tp.nn.functional.ctc_loss(p, tp.tensor([[1, 2]]), tp.tensor([4]), tp.tensor([2]))
    tensor(0.8432)
    """
    name = "ctc_loss"
    if log_probs.ndim not in {2, 3}:
        raise ShapeError(f"{name}: log_probs are (T, N, C) or (T, C), got {tuple(log_probs.shape)}")
    if not log_probs.dtype.is_floating_point:
        raise DTypeError(f"{name}: log_probs have a floating dtype, got {log_probs.dtype}")
    single = log_probs.ndim == 2
    batch = log_probs.unsqueeze(1) if single else log_probs
    steps, count, classes = batch.shape
    if not 0 <= blank < classes:
        raise ArgumentValueError(f"{name}: blank {blank} is none of {classes} classes")
    times = _lengths(name, "input_lengths", input_lengths, count)
    lengths = _lengths(name, "target_lengths", target_lengths, count)
    padded = _padded(name, targets, lengths, single, count)
    _check_lengths(name, times, steps)
    _check_lengths(name, lengths, padded.shape[1])
    losses = ctc_losses(batch.contiguous(), padded, times, lengths, blank)
    if zero_infinity:
        losses = tp.where(losses == math.inf, 0.0, losses)
    if reduction == "mean":
        losses = losses / lengths.clamp(min=1).to(losses.dtype)
    found = reduced(name, losses, reduction)
    return found.reshape(()) if single else found


def _lengths(name: str, parameter: str, given: Any, count: int) -> Tensor:  # noqa: ANN401  # integers or a tensor
    """Return the lengths as an int64 tensor of ``count`` elements."""
    if not is_tensor(given):
        sizes = (given,) if isinstance(given, int) else tuple(given)
        parts = [tp.full((1,), int(each), dtype=int64) for each in sizes]
        given = tp.cat(parts) if parts else tp.zeros((0,), dtype=int64)
    if not given.dtype.is_integral:
        raise DTypeError(f"{name}: {parameter} are integers, got {given.dtype}")
    if given.numel() != count:
        raise ShapeError(
            f"{name}: expected one of {parameter} for each of {count} samples, got {given.numel()}"
        )
    lengths: Tensor = given.reshape((count,)).to(int64)
    return lengths


def _padded(name: str, targets: Tensor, lengths: Tensor, single: bool, count: int) -> Tensor:
    """Return the targets as int64 (N, S)."""
    if not targets.dtype.is_integral:
        raise DTypeError(f"{name}: targets are integers, got {targets.dtype}")
    targets = targets.to(int64)
    if targets.ndim == 2 and targets.shape[0] == count:
        return targets
    if targets.ndim != 1:
        raise ShapeError(f"{name}: targets are (N, S) or (Σ lengths), got {tuple(targets.shape)}")
    if single or count == 1:
        return targets.unsqueeze(0)
    total = targets.shape[0]
    if lengths.array is not None and int(lengths.sum().item()) != total:
        raise ShapeError(
            f"{name}: {total} targets, but the lengths add up to {lengths.sum().item()}"
        )
    starts = (lengths.cumsum(0) - lengths).unsqueeze(1)
    if total == 0:
        return targets.new_zeros((count, 0))
    places = (starts + tp.arange(total, device=targets.device)).clamp(max=total - 1)
    return targets.index_select(0, places.reshape(-1)).reshape((count, total))


def _check_lengths(name: str, lengths: Tensor, most: int) -> None:
    """Check what only data can tell, where there is data."""
    if lengths.array is None or lengths.numel() == 0:
        return
    least, largest = int(lengths.min().item()), int(lengths.max().item())
    if least < 0 or largest > most:
        raise ArgumentValueError(
            f"{name}: lengths lie between 0 and {most}, got {largest if least >= 0 else least}"
        )


def _operands() -> tuple[Arg, Arg, Arg, Arg]:
    return (
        Arg((5, 3, 4), low=-3.0, high=-0.1),
        Arg((3, 2), int64, values=[1, 1, 3, 2, 2, 0]),
        Arg((3,), int64, values=[5, 4, 3]),
        Arg((3,), int64, values=[2, 2, 1]),
    )


@ctc_losses.sample
@ctc_derivative.sample
def _() -> Iterator[Sample]:
    yield sample(*_operands(), 0)
    probs, _, times, lengths = _operands()
    targets = Arg((3, 2), int64, values=[1, 0, 0, 1, 2, 3])
    yield sample(probs.with_dtype(float64), targets, times, lengths, 3)


@ctc_loss.sample
def _() -> Iterator[Sample]:
    probs, targets, times, lengths = _operands()
    joined = Arg((5,), int64, values=[1, 1, 3, 2, 2])
    yield sample(probs, targets, times, lengths)
    yield sample(probs, joined, (5, 4, 3), (2, 2, 1), 0, "sum")
    yield sample(probs, targets, times, lengths, reduction="none", zero_infinity=True)
    yield sample(Arg((4, 3), low=-3.0, high=-0.1), Arg((2,), int64, values=[1, 2]), 4, 2)
    yield bad(ArgumentValueError, "none of 4 classes", probs, targets, times, lengths, 4)
    yield bad(ShapeError, "for each of 3", probs, targets, (5, 5), lengths)
    yield bad(ArgumentValueError, "between 0 and 5", probs, targets, (5, 6, 5), (2, 2, 1))
    yield bad(DTypeError, "targets are integers", probs, Arg((3, 2)), times, lengths)
    yield bad(ShapeError, "log_probs are", Arg((3,)), targets, times, lengths)
