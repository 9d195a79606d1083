"""Check gradients against finite differences, entry by entry of the Jacobian.

>>> import tensorplay as tp
>>> x = tp.tensor([0.3, -1.2], dtype=tp.float64, requires_grad=True)
>>> tp.autograd.gradcheck(lambda x: (x * x).sin(), (x,))
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tensorplay.autograd.batching import BatchLevel
from tensorplay.autograd.grad_mode import enable_grad, no_grad
from tensorplay.autograd.gradients import grad
from tensorplay.core import dtypes
from tensorplay.core.errors import DTypeError, GradientError
from tensorplay.functions import zeros_like
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
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare ``function``'s Jacobian with central differences of step ``eps``.

    Inputs that are float64 or complex128 tensors with ``requires_grad`` are varied; others are passed
    on. A complex number counts as two real ones, its parts, in inputs and outputs, so that functions
    need not be holomorphic. Every element of an input needs its own memory. Return True, or raise a `GradcheckError` that shows
    the first differing entry (or return False).

    - ``check_backward_ad``, ``check_forward_ad``: which modes compute the Jacobian;
    - ``check_batched_grad``, ``check_batched_forward_grad``: that all rows (columns) at once, as by
      `func.vmap`, are those one by one;
    - ``nondet_tol``: how far two backward passes may differ;
    - ``check_undefined_grad``: that an output whose gradient is not given counts as zero;
    - ``check_grad_dtypes``: that gradients have the dtypes of their inputs;
    - ``fast_mode``: compare one random combination of the entries instead of each;
    - ``masked``: PyTorch's, about elements that sparse tensors leave out. Tensors here have all theirs.
    """
    del masked
    given: Sequence[Any] = (inputs,) if isinstance(inputs, Tensor) else inputs
    varied = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
    _check_inputs(varied)
    check = _Check(function, given, varied, eps, atol, rtol)
    try:
        if check_backward_ad:
            if fast_mode:
                check.combination_backward()
            else:
                check.backward(nondet_tol)
            if check_undefined_grad:
                check.undefined()
            if check_grad_dtypes:
                check.dtypes()
        if check_batched_grad:
            check.batch_of_rows()
        if check_forward_ad:
            if fast_mode:
                check.combination_forward()
            else:
                check.forward()
        if check_batched_forward_grad:
            check.batch_of_columns()
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
    gen_non_contig_grad_outputs: bool = False,
    **options: Any,  # noqa: ANN401 - those of gradcheck
) -> bool:
    """Run `gradcheck` on the gradients of ``function``, as functions of inputs and output gradients.

    ``grad_outputs`` are drawn at random, always the same, unless given;
    ``gen_non_contig_grad_outputs`` lays them out with gaps. The other options are those of
    `gradcheck`; ``check_fwd_over_rev`` and ``check_rev_over_rev`` are PyTorch's names for
    ``check_forward_ad`` and ``check_backward_ad`` here.
    """
    for name, own in (
        ("check_fwd_over_rev", "check_forward_ad"),
        ("check_rev_over_rev", "check_backward_ad"),
    ):
        if name in options:
            options[own] = options.pop(name)
    given: Sequence[Any] = (inputs,) if isinstance(inputs, Tensor) else inputs
    count = len(given)
    varied = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
    with enable_grad():
        outputs = differentiable(function(*given))
    if grad_outputs is None:
        random = np.random.default_rng(0)
        drawn = [_drawn(random, y) for y in outputs]
        grad_outputs = [_gapped(each) for each in drawn] if gen_non_contig_grad_outputs else drawn
    seeds = [seed.detach().requires_grad_() for seed in grad_outputs]

    def gradients(*arguments: Any) -> list[Tensor]:  # noqa: ANN401 - whatever function takes
        results = differentiable(function(*arguments[:count]))
        wanted = [arguments[i] for i in varied]
        grads = grad(results, wanted, arguments[count:], create_graph=True, allow_unused=True)
        return [g for g in grads if g is not None and g.requires_grad]

    return gradcheck(gradients, (*given, *seeds), **options)


def _gapped(tensor: Tensor) -> Tensor:
    """The values of a tensor in memory with gaps."""
    array = tensor.numpy()
    if not array.ndim:
        return tensor
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return from_numpy(wide[..., ::2])


class _Check:
    """A function at one point, differentiated in several ways."""

    def __init__(
        self,
        function: Callable[..., Outcome],
        inputs: Sequence[Any],
        varied: list[Tensor],
        eps: float,
        atol: float,
        rtol: float,
    ) -> None:
        self.function, self.inputs, self.varied = function, inputs, varied
        self.eps, self.atol, self.rtol = eps, atol, rtol
        with enable_grad():
            self.outputs = differentiable(function(*inputs))
        self._numeric: list[list[Matrix]] | None = None

    def numeric(self) -> list[list[Matrix]]:
        """The Jacobians by differences: of each output by each input."""
        if self._numeric is None:
            self._numeric = [
                _difference_jacobians(self.function, self.inputs, self.varied, number, self.eps)
                for number in range(len(self.outputs))
            ]
        return self._numeric

    def compare(self, found: Matrix, number: int, i: int, how: str) -> None:
        """Compare a Jacobian with the one by differences."""
        what = f"output {number} by input {i}"
        _compare(found, self.numeric()[number][i], what, self.atol, self.rtol, how)

    def backward(self, nondet_tol: float) -> None:
        """Rows by reverse mode."""
        for number, output in enumerate(self.outputs):
            rows = _reverse_jacobians(output, self.varied)
            again = _reverse_jacobians(output, self.varied)
            for i, (found, other) in enumerate(zip(rows, again, strict=True)):
                self.compare(found, number, i, "reverse mode")
                if not np.allclose(found, other, rtol=0, atol=nondet_tol, equal_nan=True):
                    raise GradcheckError(
                        f"two backward passes of output {number} by input {i} differ by up to "
                        f"{np.max(np.abs(found - other))}; nondet_tol is {nondet_tol}"
                    )

    def forward(self) -> None:
        """Columns by forward mode."""
        for i in range(len(self.varied)):
            columns = self.columns(i)
            for number in range(len(self.outputs)):
                found = np.stack([each[number] for each in columns], 1) if columns else None
                if found is not None:
                    self.compare(found, number, i, "forward mode")

    def columns(self, i: int) -> list[list[Matrix]]:
        """For each element of an input, the tangents of all outputs."""
        return [
            [
                _parts(each.detach().numpy())
                for each in self.tangents({i: from_numpy(np.asarray(seed))})
            ]
            for seed in _directions(self.varied[i])
        ]

    def tangents(self, directions: dict[int, Tensor]) -> list[Tensor]:
        """The tangents of the outputs for directions of some inputs."""
        forward_ad = importlib.import_module("tensorplay.autograd.forward_ad")  # seldom needed
        with forward_ad.dual_level(), enable_grad():
            swap = {
                id(x): forward_ad.make_dual(x, directions[i])
                for i, x in enumerate(self.varied)
                if i in directions
            }
            outputs = differentiable(self.function(*(swap.get(id(x), x) for x in self.inputs)))
            pairs = [forward_ad.unpack_dual(each) for each in outputs]
        return [
            zeros_like(pair.primal.detach()) if pair.tangent is None else pair.tangent
            for pair in pairs
        ]

    def combination_backward(self) -> None:
        """One combination of rows and columns by reverse mode."""
        for number, output in enumerate(self.outputs):
            weights, directions = self.draw(number)
            grads = grad([output], self.varied, [from_numpy(weights)], retain_graph=True,
                         allow_unused=True)  # fmt: skip
            for i, found in enumerate(grads):
                value = 0.0 if found is None else _dot(found.detach().numpy(), directions[i])
                self.compare_combination(value, number, i, weights, directions[i], "reverse mode")

    def combination_forward(self) -> None:
        """One combination of rows and columns by forward mode."""
        for i in range(len(self.varied)):
            _, directions = self.draw(0)
            tangents = self.tangents({i: from_numpy(directions[i])})
            for number, found in enumerate(tangents):
                weights, _ = self.draw(number)
                value = _dot(found.detach().numpy(), weights)
                self.compare_combination(value, number, i, weights, directions[i], "forward mode")

    def draw(self, number: int) -> tuple[Any, list[Any]]:
        """Random weights of an output and directions of all inputs, always the same."""
        random = np.random.default_rng(number)
        weights = _drawn(random, self.outputs[number]).numpy()
        random = np.random.default_rng(1000)
        return weights, [_drawn(random, x).numpy() for x in self.varied]

    def compare_combination(
        self,
        value: float,
        number: int,
        i: int,
        weights: Any,  # noqa: ANN401 - an array
        direction: Any,  # noqa: ANN401 - an array
        how: str,
    ) -> None:
        """Compare a combination with the difference along the direction."""
        with no_grad():
            memory = self.varied[i].detach().numpy()
        kept = memory.copy()
        values = []
        for sign in (1.0, -1.0):
            memory[...] = kept + sign * self.eps * direction
            with enable_grad():
                output = differentiable(self.function(*self.inputs))[number]
            values.append(_dot(output.detach().numpy(), weights))
        memory[...] = kept
        slope = np.asarray([[(values[0] - values[1]) / (2.0 * self.eps)]])
        scale = max(1.0, float(np.sqrt(weights.size * direction.size)))
        what = f"output {number} by input {i} (a combination)"
        _compare(np.asarray([[value]]), slope, what, self.atol * scale, self.rtol, how)

    def undefined(self) -> None:
        """An output whose gradient is not given counts as zero."""
        if len(self.outputs) < 2:
            return
        for number, output in enumerate(self.outputs):
            seeds = [zeros_like(each.detach()) for each in self.outputs]
            seeds[number] = seeds[number] + 1
            alone = grad([output], self.varied, [seeds[number]], retain_graph=True,
                         allow_unused=True)  # fmt: skip
            together = grad(self.outputs, self.varied, seeds, retain_graph=True, allow_unused=True)
            for i, (a, b) in enumerate(zip(alone, together, strict=True)):
                first = 0.0 if a is None else a.detach().numpy()
                second = 0.0 if b is None else b.detach().numpy()
                if not np.allclose(first, second, rtol=1e-9, atol=1e-12, equal_nan=True):
                    raise GradcheckError(
                        f"the gradient of output {number} by input {i} differs between no gradients "
                        "of the other outputs and zeros"
                    )

    def dtypes(self) -> None:
        """Gradients have the dtypes of their inputs."""
        for number, output in enumerate(self.outputs):
            seed = zeros_like(output.detach()) + 1
            found = grad([output], self.varied, [seed], retain_graph=True, allow_unused=True)
            for i, (each, x) in enumerate(zip(found, self.varied, strict=True)):
                if each is not None and each.dtype is not x.dtype:
                    raise GradcheckError(
                        f"the gradient of output {number} by input {i} has dtype {each.dtype}, the "
                        f"input {x.dtype}"
                    )

    def batch_of_rows(self) -> None:
        """All rows in one backward pass."""
        for number, output in enumerate(self.outputs):
            seeds = from_numpy(_directions(output))
            found = grad([output], self.varied, [seeds], retain_graph=True, allow_unused=True,
                         is_grads_batched=True)  # fmt: skip
            rows = _reverse_jacobians(output, self.varied)
            for i, (each, expected) in enumerate(zip(found, rows, strict=True)):
                batch = np.zeros(expected.shape) if each is None else each.detach().numpy()
                what = f"output {number} by input {i}"
                _compare(_parts(batch).reshape(expected.shape), expected, what, self.atol, self.rtol,
                         "a batch of gradients", "one by one")  # fmt: skip

    def batch_of_columns(self) -> None:
        """All columns in one run in forward mode."""
        for i, x in enumerate(self.varied):
            seeds = _directions(x)
            level = BatchLevel(len(seeds), "same")
            with level:
                tangents = self.tangents({i: level.sample(from_numpy(seeds))})
            columns = self.columns(i)
            for number, each in enumerate(tangents):
                found = _parts(level.whole(each).detach().numpy()).reshape((len(seeds), -1)).T
                expected = np.stack([column[number] for column in columns], 1)
                what = f"output {number} by input {i}"
                _compare(found, expected, what, self.atol, self.rtol,
                         "a batch of tangents", "one by one")  # fmt: skip


def _directions(x: Tensor) -> Any:  # noqa: ANN401 - an array
    """The directions in which one element changes (a part of it, if it is complex), in front of each other."""
    found = np.zeros((_count(x), *x.shape), x.dtype.numpy)
    for k in range(len(found)):
        _parts(found[k : k + 1])[k] = 1.0  # contiguous, so a view
    return found


def _dot(a: Any, b: Any) -> float:  # noqa: ANN401 - arrays
    return float(_parts(np.asarray(a)) @ _parts(np.asarray(b)))


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


def _compare(
    analytic: Matrix,
    numeric: Matrix,
    what: str,
    atol: float,
    rtol: float,
    how: str,
    other: str = "finite differences",
) -> None:
    close = np.isclose(analytic, numeric, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return
    row, column = np.argwhere(~close)[0]
    raise GradcheckError(
        f"the Jacobian of {what} differs at output element {row}, input element {column}: "
        f"{how} gives {analytic[row, column]!r}, {other} {numeric[row, column]!r} "
        f"({int((~close).sum())} of {close.size} entries differ by more than {atol} + {rtol}·|value|)"
    )
