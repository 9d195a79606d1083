"""Check gradients against finite differences, entry by entry of the Jacobian.

>>> import tensorplay as tp
>>> x = tp.tensor([0.3, -1.2], dtype=tp.float64, requires_grad=True)
>>> tp.autograd.gradcheck(lambda x: (x * x).sin(), (x,))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tensorplay.autograd.grad_mode import enable_grad, no_grad
from tensorplay.autograd.gradients import grad
from tensorplay.core import dtypes
from tensorplay.core.errors import DTypeError, GradientError
from tensorplay.tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[np.float64]"
Outcome: TypeAlias = "Tensor | Sequence[Tensor]"


class GradcheckError(GradientError):
    """A gradient differs from finite differences."""


def gradcheck(
    function: Callable[..., Outcome],
    inputs: Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Compare ``function``'s Jacobian by reverse mode with central differences of step ``eps``.

    Inputs that are float64 or complex128 tensors with ``requires_grad`` are varied; others are passed on.
    A complex number counts as two real ones, its parts, in inputs and outputs, so that functions need
    not be holomorphic. Every element of an input needs its own memory. Return True, or raise a `GradcheckError` that shows
    the first differing entry (or return False).
    """
    varied = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    _check_inputs(varied)
    with enable_grad():
        outputs = differentiable(function(*inputs))
    try:
        for number, output in enumerate(outputs):
            analytic = _reverse_jacobians(output, varied)
            numeric = _difference_jacobians(function, inputs, varied, number, eps)
            for i, (a, n) in enumerate(zip(analytic, numeric, strict=True)):
                _compare(a, n, f"output {number} by input {i}", atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    function: Callable[..., Outcome],
    inputs: Sequence[Any],
    grad_outputs: Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Run `gradcheck` on the gradients of ``function``, as functions of inputs and output gradients.

    ``grad_outputs`` are drawn at random, always the same, unless given.
    """
    count = len(inputs)
    varied = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    with enable_grad():
        outputs = differentiable(function(*inputs))
    if grad_outputs is None:
        random = np.random.default_rng(0)
        grad_outputs = [_drawn(random, y) for y in outputs]
    seeds = [seed.detach().requires_grad_() for seed in grad_outputs]

    def gradients(*arguments: Any) -> list[Tensor]:  # noqa: ANN401 - whatever function takes
        results = differentiable(function(*arguments[:count]))
        wanted = [arguments[i] for i in varied]
        grads = grad(results, wanted, arguments[count:], create_graph=True, allow_unused=True)
        return [g for g in grads if g is not None and g.requires_grad]

    return gradcheck(
        gradients,
        (*inputs, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
    )


def differentiable(outcome: Outcome) -> list[Tensor]:
    """List the results of a function that have a gradient."""
    outputs: list[object] = [outcome] if isinstance(outcome, Tensor) else list(outcome)
    return [y for y in outputs if isinstance(y, Tensor) and y.requires_grad]


def _drawn(random: np.random.Generator, y: Tensor) -> Tensor:
    drawn = random.standard_normal(y.shape)
    if y.is_complex():
        drawn = np.asarray(drawn + 1j * random.standard_normal(y.shape))
    return from_numpy(drawn)


def _check_inputs(varied: list[Tensor]) -> None:
    if not varied:
        raise GradientError("gradcheck needs at least one tensor input that requires a gradient")
    for x in varied:
        if x.dtype not in {dtypes.float64, dtypes.complex128}:
            raise DTypeError(
                f"gradcheck varies inputs of dtype float64 or complex128, found {x.dtype}"
            )
        steps = [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1]
        if 0 in steps and 0 not in x.shape:
            raise GradientError("gradcheck cannot vary an expanded input; pass a clone() of it")


def _reverse_jacobians(output: Tensor, varied: list[Tensor]) -> list[Matrix]:
    """Row by row: the gradient of each element of ``output``, of each part of a complex one."""
    rows: list[list[Matrix]] = [[] for _ in varied]
    for k in range(_count(output)):
        seed = np.zeros(output.shape, output.dtype.numpy)
        _parts(seed)[k] = 1.0  # contiguous, so a view
        grads = grad([output], varied, [from_numpy(seed)], retain_graph=True, allow_unused=True)
        for row, x, g in zip(rows, varied, grads, strict=True):
            row.append(np.zeros(_count(x)) if g is None else _parts(g.detach().numpy()))
    return [
        np.stack(row) if row else np.zeros((0, _count(x)))
        for row, x in zip(rows, varied, strict=True)
    ]


def _count(x: Tensor) -> int:
    """The number of real numbers in a tensor."""
    return x.numel() * (2 if x.is_complex() else 1)


def _parts(array: Any) -> Matrix:  # noqa: ANN401 - an array of real or complex numbers
    """All elements in row-major order, complex ones as their parts: a view of contiguous arrays."""
    wide = np.ascontiguousarray(array, np.complex128 if array.dtype.kind == "c" else np.float64)
    return wide.reshape(-1).view(np.float64)


def _difference_jacobians(
    function: Callable[..., Outcome],
    inputs: Sequence[Any],
    varied: list[Tensor],
    number: int,
    eps: float,
) -> list[Matrix]:
    """Column by column: central differences over each element of each varied input."""

    def value() -> Matrix:
        with enable_grad():
            output = differentiable(function(*inputs))[number]
        return _parts(np.array(output.detach().numpy()))

    jacobians = []
    for x in varied:
        columns = []
        with no_grad():
            memory = x.detach().numpy()
        for place in np.ndindex(memory.shape):
            kept = memory[place]
            for step in (eps, 1j * eps) if x.is_complex() else (eps,):
                memory[place] = kept + step
                above = value()
                memory[place] = kept - step
                below = value()
                memory[place] = kept
                columns.append((above - below) / (2.0 * eps))
        size = value().size
        jacobians.append(np.stack(columns, axis=1) if columns else np.zeros((size, 0)))
    return jacobians


def _compare(analytic: Matrix, numeric: Matrix, what: str, atol: float, rtol: float) -> None:
    close = np.isclose(analytic, numeric, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return
    row, column = np.argwhere(~close)[0]
    raise GradcheckError(
        f"the Jacobian of {what} differs at output element {row}, input element {column}: "
        f"reverse mode gives {analytic[row, column]!r}, finite differences {numeric[row, column]!r} "
        f"({int((~close).sum())} of {close.size} entries differ by more than {atol} + {rtol}·|value|)"
    )
