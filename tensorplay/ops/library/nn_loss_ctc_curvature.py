"""The second derivative of the CTC loss, along a direction, as tensor operations.

`ctc_derivative` is the gradient of `ctc_losses`, so its derivative along a direction is a product
with a symmetric matrix, and serves both modes. The two recursions run with their tangents here; they
consist of differentiable operators, so that there are derivatives of all orders.

What is impossible has the logarithm ``-1e30`` instead of −∞: its probability is 0 all the same, and
its tangents stay finite.

>>> import tensorplay as tp
>>> symbols, exists, jumps = lattice(tp.tensor([[7, 7]]), tp.tensor([2]), 0)
>>> symbols, jumps[:, 2:].any()
(tensor([[0, 7, 0, 7, 0]]), tensor(False))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tensorplay.core.dtypes import float64
from tensorplay.ops.registry import tp

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_IMPOSSIBLE = -1e30


class _Ways(NamedTuple):
    """Logarithms of sums over ways, and their tangents, one for each state (N, states)."""

    logs: Tensor
    tangents: Tensor


def lattice(targets: Tensor, lengths: Tensor, blank: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return each state's symbol, whether it exists, and whether the blank before it may be jumped."""
    count, longest = targets.shape
    given = tp.arange(longest, device=targets.device) < lengths.unsqueeze(1)
    pairs = tp.stack([tp.full_like(targets, blank), tp.where(given, targets, blank)], 2)
    last = targets.new_full((count, 1), blank)
    symbols = tp.cat([pairs.reshape((count, 2 * longest)), last], 1)
    exists = tp.arange(symbols.shape[1], device=targets.device) <= 2 * lengths.unsqueeze(1)
    before = _shifted(symbols, 2, blank)
    return symbols, exists, (symbols != blank) & (symbols != before)


def _shifted(x: Tensor, by: int, fill: float) -> Tensor:
    """Move the states ``by`` places on (back where negative)."""
    count, states = x.shape
    edge = x.new_full((count, min(abs(by), states)), fill)
    kept = states - edge.shape[1]
    parts = [edge, x.narrow(1, 0, kept)] if by > 0 else [x.narrow(1, states - kept, kept), edge]
    return tp.cat(parts, 1)


def _sum(ways: list[_Ways]) -> _Ways:
    """Add ways in logarithms; tangents are averaged by probability."""
    total = ways[0].logs
    for each in ways[1:]:
        total = tp.logaddexp(total, each.logs)
    tangent = ways[0].tangents * (ways[0].logs - total).exp()
    for each in ways[1:]:
        tangent = tangent + each.tangents * (each.logs - total).exp()
    return _Ways(total, tangent)


def curvature(
    log_probs: Tensor,
    direction: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
) -> Tensor:
    """Return the derivative of `ctc_derivative` by ``log_probs`` along ``direction``, (T, N, C)."""
    steps = log_probs.shape[0]
    if log_probs.numel() == 0 or steps == 0:
        return tp.zeros_like(log_probs)
    symbols, exists, jumps = lattice(targets, target_lengths, blank)
    index = symbols.unsqueeze(0).expand((steps, *symbols.shape))
    emitted = log_probs.to(float64).gather(2, index)
    moved = direction.to(float64).gather(2, index)
    forward = _forward(emitted, moved, exists, jumps)
    backward = _backward(emitted, moved, exists, jumps, input_lengths, target_lengths)
    # the sum over all ways, read where they begin
    first = backward[0]
    begins = tp.arange(symbols.shape[1], device=symbols.device) < 2
    total = _sum_of_states(_Ways(tp.where(begins, first.logs, _IMPOSSIBLE), first.tangents))
    parts = []
    for time in range(steps):
        a, b = forward[time], backward[time]
        shares = (a.logs + b.logs - emitted[time] - total.logs).exp()
        tangents = a.tangents + b.tangents - moved[time] - total.tangents
        within = exists & (time < input_lengths.unsqueeze(1))
        parts.append(tp.where(within, shares * tangents, 0.0))
    zeros = tp.zeros(log_probs.shape, dtype=float64, device=log_probs.device)
    return -zeros.scatter_add(2, index, tp.stack(parts)).to(log_probs.dtype)


def _sum_of_states(ways: _Ways) -> _Ways:
    top = ways.logs.amax(1, keepdim=True).detach()
    weights = (ways.logs - top).exp()
    mass = weights.sum(1, keepdim=True)
    return _Ways(top + mass.log(), (weights * ways.tangents).sum(1, keepdim=True) / mass)


def _next(ways: _Ways, jumps: Tensor, by: int) -> _Ways:
    """Take a step in time: stay, move on by one state, or jump over a blank."""
    near = _Ways(*(_shifted(x, by, y) for x, y in zip(ways, (_IMPOSSIBLE, 0.0), strict=True)))
    far = _Ways(*(_shifted(x, 2 * by, y) for x, y in zip(ways, (_IMPOSSIBLE, 0.0), strict=True)))
    far = _Ways(tp.where(jumps, far.logs, _IMPOSSIBLE), far.tangents)
    return _sum([ways, near, far])


def _emitting(ways: _Ways, emitted: Tensor, moved: Tensor, exists: Tensor) -> _Ways:
    return _Ways(tp.where(exists, ways.logs + emitted, _IMPOSSIBLE), ways.tangents + moved)


def _forward(emitted: Tensor, moved: Tensor, exists: Tensor, jumps: Tensor) -> list[_Ways]:
    """Return the ways that reach each state, time by time."""
    begins = tp.arange(exists.shape[1], device=exists.device) < 2
    first = tp.where(begins, 0.0, _IMPOSSIBLE).to(float64).expand(exists.shape)
    found = [_emitting(_Ways(first, tp.zeros_like(first)), emitted[0], moved[0], exists)]
    for time in range(1, emitted.shape[0]):
        reached = _next(found[-1], jumps, 1)
        found.append(_emitting(reached, emitted[time], moved[time], exists))
    return found


def _backward(
    emitted: Tensor, moved: Tensor, exists: Tensor, jumps: Tensor, times: Tensor, lengths: Tensor
) -> list[_Ways]:
    """Return the ways from each state to the end, time by time."""
    ends = tp.arange(exists.shape[1], device=exists.device) >= 2 * lengths.unsqueeze(1) - 1
    last = tp.where(ends, 0.0, _IMPOSSIBLE).to(float64)
    leaping = _shifted(jumps, -2, False)
    ways = _Ways(tp.full_like(last, _IMPOSSIBLE), tp.zeros_like(last))
    found: list[_Ways] = []
    for time in range(emitted.shape[0] - 1, -1, -1):
        onward = _next(ways, leaping, -1)
        is_last = (times - 1 == time).unsqueeze(1)
        logs = tp.where(is_last, last, onward.logs)
        tangents = tp.where(is_last, 0.0, onward.tangents)
        ways = _emitting(_Ways(logs, tangents), emitted[time], moved[time], exists)
        found.append(ways)
    return found[::-1]
