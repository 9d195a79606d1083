"""Every operator that takes complex numbers, on complex twins of its samples: gradients, tangents, second gradients.

A complex number counts as two real ones. The gradient of a real function must then be its slope along
every direction, whether or not the operator is holomorphic.
"""

from dataclasses import replace

import numpy as np
import pytest
from contract import build_call, good_samples, operators, replaced, tensors_in

import tensorplay as tp
from tensorplay.core import dtypes
from tensorplay.ops.kinds import Composite
from tensorplay.ops.samples import Arg

STEP = 1e-6
_WIDER = {dtypes.float32: dtypes.complex128, dtypes.float64: dtypes.complex128}


UP_TO_A_CHOICE = frozenset(
    {
        "linalg_svd", "linalg_svd_reduced", "svd", "linalg_eig", "eigen_parts", "linalg_eigh", "linalg_eigvalsh",
        "eigh_of_triangle", "cholesky", "cholesky_factor", "linalg_cholesky", "linalg_cholesky_ex", "linalg_pinv", "pinv_above",
        "linalg_cond", "linalg_inv_ex",
    }
)  # fmt: skip
"""Vectors up to a complex factor, Hermitian matrices, samples that turning makes regular: see test_linalg."""


def in_complex128(value):
    """A description with float32 and float64 widened to complex128; given values turned in the plane."""
    if isinstance(value, Arg):
        dtype = _WIDER.get(value.dtype)
        if dtype is None:
            wide = dtypes.complex128 if value.dtype.is_complex else value.dtype
            return replace(value, dtype=wide)
        if value.values is None:
            return replace(value, dtype=dtype)
        given = np.array(value.values, np.complex128).reshape(-1)
        with np.errstate(invalid="ignore"):
            turned = given * np.exp(0.2j * np.arange(given.size))
        return replace(value, dtype=dtype, values=list(turned))
    if isinstance(value, (tuple, list)):
        return type(value)(in_complex128(each) for each in value)
    if isinstance(value, dict):
        return {k: in_complex128(v) for k, v in value.items()}
    return _WIDER.get(value, value) if isinstance(value, dtypes.DType) else value


def complex_calls(operator):
    """Calls with complex128 operands that the operator accepts, and those operands."""
    for sample in good_samples(operator):
        twin = replace(
            sample, args=in_complex128(sample.args), kwargs=in_complex128(dict(sample.kwargs))
        )
        if "Generator" in repr(operator.signature):
            continue
        args, kwargs = build_call(operator, twin)
        wide = [each for each in tensors_in((args, kwargs)) if each.dtype is tp.complex128]
        smooth = all(np.isfinite(x).all() and (abs(x) > 1e-3).all() for x in map(np.asarray, wide))
        if not wide or not smooth:  # at zeros there are kinks
            continue
        try:
            operator(*args, **kwargs)
        except (TypeError, ValueError, np.exceptions.ComplexWarning):  # it takes no complex numbers
            continue
        yield args, kwargs, wide


def accepted():
    """The differentiable operators with at least one complex call."""
    return [
        each
        for each in operators()
        if each.not_differentiable is None
        and "random" not in each.family
        and not each.name.endswith("_input_grad")  # of pools, which refuse complex numbers
        and next(iter(complex_calls(each)), None) is not None
    ]


ACCEPTED = accepted()
every = pytest.mark.parametrize(
    "operator",
    [each for each in ACCEPTED if each.name not in UP_TO_A_CHOICE],
    ids=lambda each: each.name,
)


def inner(a, b):
    """The inner product of real vectors that two tensors are."""
    return float((a.conj() * b).sum().real) if a.numel() else 0.0


def results(operator, args, kwargs):
    found = operator(*args, **kwargs)
    return [each for each in tensors_in(found) if each.dtype in {tp.float64, tp.complex128}]


def drawn(rng, like):
    x = rng.uniform(-1, 1, like.shape)
    if like.dtype.is_complex:
        x = x + 1j * rng.uniform(-1, 1, like.shape)
    return tp.from_numpy(np.asarray(x))


def moved(points, directions, step):
    return [
        (p + d * step).detach().requires_grad_() for p, d in zip(points, directions, strict=True)
    ]


def call(operator, args, kwargs, old, new):
    swap = {id(a): b for a, b in zip(old, new, strict=True)}
    found = results(operator, replaced(args, swap), replaced(kwargs, swap))
    return [each for each in found if each.requires_grad]


def gradients(operator, args, kwargs, old, points, weights, *, create_graph=False):
    outputs = call(operator, args, kwargs, old, points)
    return tp.autograd.grad(
        outputs, points, weights[: len(outputs)], create_graph=create_graph, allow_unused=True
    )


def test_many_operators_take_complex_numbers():
    assert len(ACCEPTED) > 150


@every
def test_gradient_is_the_slope(operator):
    for args, kwargs, wide in complex_calls(operator):
        points = [each.detach().clone().requires_grad_() for each in wide]
        outputs = call(operator, args, kwargs, wide, points)
        if not outputs:
            continue
        rng = np.random.default_rng(1)
        weights = [drawn(rng, each) for each in outputs]
        directions = [drawn(rng, each) for each in wide]
        grads = gradients(operator, args, kwargs, wide, points, weights)
        slope = 0.0
        for grad, point, direction in zip(grads, points, directions, strict=True):
            if grad is not None:
                assert grad.dtype is point.dtype
                assert grad.shape == point.shape
                slope += inner(grad, direction)
        values = []
        for step in (STEP, -STEP):
            found = call(operator, args, kwargs, wide, moved(points, directions, step))
            values.append(sum(inner(w, y.detach()) for w, y in zip(weights, found, strict=True)))
        if not np.isfinite(values).all():
            continue
        difference = (values[0] - values[1]) / (2 * STEP)
        assert abs(slope - difference) < 2e-6 * max(1.0, abs(difference)), (args, kwargs)


@every
def test_second_gradient_is_the_slope_of_the_first(operator):
    for args, kwargs, wide in complex_calls(operator):
        points = [each.detach().clone().requires_grad_() for each in wide]
        outputs = call(operator, args, kwargs, wide, points)
        if not outputs:
            continue
        rng = np.random.default_rng(2)
        weights = [drawn(rng, each) for each in outputs]
        directions = [drawn(rng, each) for each in wide]
        grads = gradients(operator, args, kwargs, wide, points, weights, create_graph=True)
        probes = [drawn(rng, each) for each in wide]
        kept = [k for k, g in enumerate(grads) if g is not None and g.requires_grad]
        if not kept:
            continue
        seconds = tp.autograd.grad(
            [grads[k] for k in kept], points, [probes[k] for k in kept], allow_unused=True
        )
        slope = sum(inner(s, d) for s, d in zip(seconds, directions, strict=True) if s is not None)
        values = []
        for step in (STEP, -STEP):
            found = gradients(
                operator, args, kwargs, wide, moved(points, directions, step), weights
            )
            values.append(sum(inner(probes[k], found[k]) for k in kept))
        if not np.isfinite(values).all():
            continue
        difference = (values[0] - values[1]) / (2 * STEP)
        assert abs(slope - difference) < 2e-5 * max(1.0, abs(difference)), (args, kwargs)


@pytest.mark.parametrize(
    "operator",
    [each for each in ACCEPTED if not isinstance(each.kind, Composite)],
    ids=lambda each: each.name,
)
def test_tangent_is_the_transpose_of_the_gradient(operator):
    for args, kwargs, wide in complex_calls(operator):
        values = operator.signature.bind(args, kwargs)
        tensors = operator.tensors(values)
        result = operator(*args, **kwargs)
        outputs = list(tensors_in(result))
        if not any(each.dtype in {tp.float64, tp.complex128} for each in outputs):
            continue
        rng = np.random.default_rng(3)
        is_wide = [any(each is w for w in wide) for each in tensors]
        tangents = [
            drawn(rng, each) if given else None
            for each, given in zip(tensors, is_wide, strict=True)
        ]
        weights = [drawn(rng, each) if each.dtype.is_differentiable else None for each in outputs]
        forward = operator.jvp(values, result, tangents)
        if forward is None:
            continue
        forwards = [forward] if isinstance(forward, tp.Tensor) else list(forward)
        left = 0.0
        for weight, each, output in zip(weights, forwards, outputs, strict=True):
            if weight is not None and each is not None:
                assert each.dtype is output.dtype
                assert each.shape == output.shape
                left += inner(weight, each)
        pullback = operator.vjp(values, result, is_wide)
        right = 0.0
        if pullback is not None:
            found = pullback.pull(tuple(weights), pullback.saved, is_wide)
            right = sum(
                inner(g, t)
                for g, t in zip(found, tangents, strict=True)
                if g is not None and t is not None
            )
        if np.isfinite([left, right]).all():
            assert abs(left - right) < 1e-8 * max(1.0, abs(left)), (args, kwargs)
