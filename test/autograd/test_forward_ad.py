"""Dual tensors: the tangents of every operator, of views and of writes; levels; forward over reverse."""

import numpy as np
import pytest
from contract import build_call, float64_sample, good_samples, operators, replaced, tensors_in

import tensorplay as tp
from tensorplay.autograd import forward_ad
from tensorplay.autograd.forward_ad import dual_level, make_dual, unpack_dual
from tensorplay.core.errors import (
    ArgumentError,
    DTypeError,
    GradientError,
    NotDifferentiableError,
    ShapeError,
)
from tensorplay.ops.samples import Arg

STEP = 1e-6
# Their derivative is not that of rounding, or of nothing, or the values are told apart, not computed; or statistics
# that have no gradient stand beside the result.
NO_DIFFERENCE = {
    "nextafter",
    "empty_like",
    "unique",
    "native_batch_norm",
    "native_layer_norm",
}
DIFFERENTIABLE = [
    each
    for each in operators()
    if each.not_differentiable is None
    and not each.effect
    and "random" not in each.family
    and each.name not in NO_DIFFERENCE
]


def has_given_floats(value):
    """Exact values hold ties, NaN and infinities, where a difference says nothing."""
    if isinstance(value, Arg):
        return value.values is not None and value.dtype.is_floating_point
    if isinstance(value, dict):
        return has_given_floats(tuple(value.values()))
    return isinstance(value, (tuple, list)) and any(has_given_floats(each) for each in value)


def floats_in(value):
    return [each for each in tensors_in(value) if each.dtype is tp.float64]


def numbers(shape, seed):
    return tp.from_numpy(np.random.default_rng(seed).uniform(-1, 1, shape))


def calls(operator):
    for sample in good_samples(operator):
        if not has_given_floats((sample.args, sample.kwargs)):
            args, kwargs = build_call(operator, float64_sample(sample))
            floats = floats_in((args, kwargs))
            if floats:
                yield args, kwargs, floats


@pytest.mark.parametrize("operator", DIFFERENTIABLE, ids=lambda each: each.name)
def test_forward_mode_is_the_difference_and_the_transpose_of_reverse(operator):
    for args, kwargs, floats in calls(operator):
        directions = [numbers(each.shape, i) for i, each in enumerate(floats)]

        def run(points, args=args, kwargs=kwargs, floats=floats):
            swap = {id(a): b for a, b in zip(floats, points, strict=True)}
            return floats_in(operator(*replaced(args, swap), **replaced(kwargs, swap)))

        with dual_level():
            duals = [make_dual(x, t) for x, t in zip(floats, directions, strict=True)]
            pairs = [unpack_dual(each) for each in run(duals)]
        moved = [
            [
                each.numpy()
                for each in run([x + t * s for x, t in zip(floats, directions, strict=True)])
            ]
            for s in (STEP, -STEP)
        ]
        leaves = [each.detach().clone().requires_grad_() for each in floats]
        outputs = run(leaves)
        for number, (pair, above, below) in enumerate(zip(pairs, *moved, strict=True)):
            found = np.zeros(above.shape) if pair.tangent is None else pair.tangent.numpy()
            assert found.shape == above.shape
            if np.isfinite(above).all() and np.isfinite(below).all():
                difference = (above - below) / (2 * STEP)
                np.testing.assert_allclose(found, difference, 1e-4, 1e-5)
            output = outputs[number]
            if not output.requires_grad or not np.isfinite(found).all():
                continue
            weight = numbers(output.shape, 7)
            grads = tp.autograd.grad(output, leaves, weight, retain_graph=True, allow_unused=True)
            reverse = sum(
                float((g * t).sum())
                for g, t in zip(grads, directions, strict=True)
                if g is not None
            )
            assert reverse == pytest.approx(float((found * weight.numpy()).sum()), 1e-8, 1e-9)


def tangent(tensor):
    found = unpack_dual(tensor).tangent
    return None if found is None else found.detach().numpy().tolist()


def test_a_dual_is_a_view_and_the_tensor_itself_has_no_tangent():
    x, t = tp.tensor([1.0, 2.0]), tp.tensor([1.0, 0.5])
    with dual_level():
        dual = make_dual(x, t)
        assert unpack_dual(dual).tangent is t
        assert tangent(x) is None
        assert tangent(x * dual) == [1.0, 1.0]
        assert tangent(unpack_dual(dual).primal) is None
        assert tangent(dual.detach()) is None
        x.add_(1)
        assert dual.tolist() == [2.0, 3.0]
    assert unpack_dual(dual) == (dual, None)


def test_views_share_the_tangent_of_their_memory():
    with dual_level():
        x = make_dual(tp.ones(2, 3), tp.arange(6.0).reshape(2, 3))
        assert tangent(x[1]) == [3.0, 4.0, 5.0]
        assert tangent(x.t()) == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
        row = x[0]
        x.mul_(2)
        assert tangent(row) == [0.0, 2.0, 4.0]
        row.zero_()
        assert tangent(x) == [[0.0, 0.0, 0.0], [6.0, 8.0, 10.0]]


def test_writes_give_and_take_tangents():
    with dual_level():
        x = make_dual(tp.tensor([1.0, 2.0]), tp.tensor([1.0, 1.0]))
        base = tp.zeros(2, 2)
        turned = base.t()
        base[1].copy_(x)
        assert tangent(base) == [[0.0, 0.0], [1.0, 1.0]]
        assert tangent(turned) == [[0.0, 1.0], [0.0, 1.0]]
        copy = x + 0
        copy[0] = 5.0
        assert tangent(copy) == [0.0, 1.0]
        assert tangent(x) == [1.0, 1.0]
        copy.fill_(3.0)
        assert tangent(copy) == [0.0, 0.0]


def test_a_tangent_that_was_handed_out_never_changes():
    t = tp.tensor([1.0, 1.0])
    with dual_level():
        x = make_dual(tp.tensor([1.0, 2.0]), t)
        before = unpack_dual(x).tangent
        x.mul_(3)
        x[0] = 0.0
        assert tangent(x) == [0.0, 3.0]
    assert before.tolist() == t.tolist() == [1.0, 1.0]


def test_layouts_that_differ():
    with dual_level():
        x = make_dual(tp.ones(2, 3), tp.arange(6.0).reshape(3, 2).t())
        assert tangent(x.view(6)) == [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
        x.view(6)[1] = 9.0
        assert tangent(x) == [[0.0, 0.0, 4.0], [1.0, 3.0, 5.0]]
        wide = make_dual(tp.ones(2, 1), tp.ones(2, 1)).expand(2, 3)
        assert tangent(wide) == [[1.0] * 3] * 2


def test_no_grad_does_not_stop_tangents_and_integers_have_none():
    with dual_level(), tp.no_grad():
        x = make_dual(tp.tensor([1.0, 2.0]), tp.ones(2))
        assert tangent(x * x) == [2.0, 4.0]
        assert tangent(x > 1) is None
        assert tangent(x.argmax()) is None
        assert tangent(x.to(tp.int64)) is None
        assert tangent(x.to(tp.float64)) == [1.0, 1.0]


def test_levels_nest():
    with dual_level() as first:
        x = make_dual(tp.tensor(2.0), tp.tensor(1.0))
        with dual_level() as second:
            y = make_dual(x, tp.tensor(1.0))
            assert tangent(x) is None
            slope = unpack_dual(y * y * y).tangent
            assert unpack_dual(x * y, level=first).tangent.item() == 4.0
            assert unpack_dual(x * y, level=second).tangent.item() == 2.0
        assert slope.item() == 12.0
        assert tangent(slope) == 12.0


def test_enter_and_exit():
    number = forward_ad.enter_dual_level()
    x = make_dual(tp.tensor(2.0), tp.tensor(1.0), level=number)
    assert tangent(x * x) == 4.0
    with pytest.raises(GradientError, match="innermost is 0, not 3"):
        forward_ad.exit_dual_level(level=3)
    forward_ad.exit_dual_level(level=number)
    with pytest.raises(GradientError, match="no dual level"):
        forward_ad.exit_dual_level()


def test_errors():
    x = tp.ones(2)
    with pytest.raises(GradientError, match="no dual level is entered"):
        make_dual(x, x)
    with dual_level():
        with pytest.raises(ShapeError, match=r"\(2,\), found \(1,\)"):
            make_dual(x, tp.ones(1))
        with pytest.raises(DTypeError, match="tangent of its dtype"):
            make_dual(x, x.to(tp.float64))
        with pytest.raises(DTypeError, match="floating-point"):
            make_dual(x.to(tp.int64), x.to(tp.int64))
        with pytest.raises(ArgumentError, match="tangent must be a tensor"):
            make_dual(x, 1.0)
        with pytest.raises(GradientError, match="already"):
            make_dual(make_dual(x, x), x)
        with pytest.raises(GradientError, match="no dual level 2"):
            make_dual(x, x, level=2)
    assert not tp.dispatch.current_modes()


def test_functions_with_a_written_backward_refuse_tangents():
    class Double(tp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with dual_level():
        assert Double.apply(tp.ones(2)).tolist() == [2.0, 2.0]
        with pytest.raises(NotDifferentiableError, match="Double is a Function"):
            Double.apply(make_dual(tp.ones(2), tp.ones(2)))


def test_backward_passes_have_tangents_and_tangents_have_gradients():
    x = tp.tensor([0.5, 1.5], dtype=tp.float64, requires_grad=True)
    t = tp.tensor([1.0, -2.0], dtype=tp.float64)

    def function(x, *, writing=True):
        y = x.exp() * 1
        if writing:
            y.mul_(x)
            y[0].mul_(y[1].clone())
        else:
            y = y * x
            y = tp.stack((y[0] * y[1], y[1]))
        return y.softmax(0)[0] + (y * y).sum()

    with dual_level():
        dual = make_dual(x, t)
        (gradient,) = tp.autograd.grad(function(dual), dual, create_graph=True)
        product = unpack_dual(gradient).tangent
        slope = unpack_dual(function(dual, writing=False)).tangent
        np.testing.assert_allclose(tangent(function(dual)), slope.item(), 1e-12)
    (first,) = tp.autograd.grad(function(x), x, create_graph=True)
    (expected,) = tp.autograd.grad((first * t).sum(), x)
    (found,) = tp.autograd.grad(slope, x)
    np.testing.assert_allclose(product.detach().numpy(), expected.numpy(), 1e-12)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-12)


def test_compiled_functions_have_tangents():
    compiled = tp.compile(lambda x: (x.sin() * x).sum())
    x = tp.tensor([1.0, 2.0])
    compiled(x)
    with dual_level():
        dual = make_dual(x, tp.ones(2))
        expected = tangent((dual.sin() * dual).sum())
        assert tangent(compiled(dual)) == pytest.approx(expected)


def test_versions_of_a_dual_and_its_tensor_count_together():
    x = tp.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with dual_level():
        dual = make_dual(y, tp.ones(2))
        z = (y * y).sum()
        with tp.no_grad():
            dual.mul_(2)
        with pytest.raises(GradientError, match="changed by an in-place"):
            z.backward()


def test_a_tangent_has_no_elements_outside_of_its_tensor():
    """`as_strided` may reach other elements of the storage; they do not move."""
    base = tp.arange(8.0)
    for offset, expected in ((0, [0.0, 0.0, 0.0]), (3, [0.0, 1.0, 2.0]), (None, [1.0, 2.0, 3.0])):
        x = base[4:].detach()
        with dual_level():
            dual = make_dual(x, tp.tensor([1.0, 2.0, 3.0, 4.0]))
            found = unpack_dual(dual.as_strided((3,), (1,), offset))
        assert found.tangent.tolist() == expected
        x.requires_grad_()
        second = tp.autograd.gradgradcheck(
            lambda x, offset=offset: x.as_strided((3,), (1,), offset) ** 2,
            (base.double()[4:].detach().requires_grad_(),),
        )
        assert second
