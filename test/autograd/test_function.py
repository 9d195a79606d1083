"""`autograd.Function`: what the context offers, and what goes wrong clearly."""

import gc
import weakref

import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay.autograd import Function, grad, gradcheck, gradgradcheck, once_differentiable
from tensorplay.core.errors import (
    ArgumentError,
    BatchError,
    GradientError,
    NotDifferentiableError,
    VersionError,
)
from tensorplay.func import grad as func_grad
from tensorplay.func import hessian, jacrev, jvp, vmap


def leaf(values, dtype="float32"):
    return tensor_of(values, dtype).requires_grad_()


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * g


def test_first_and_second_derivatives():
    x = leaf([0.5, -1.5], "float64")
    assert gradcheck(Cube.apply, (x,))
    assert gradgradcheck(Cube.apply, (x,))


def test_saved_outputs_are_differentiable_and_make_no_cycle():
    x = leaf([0.5, -1.5], "float64")
    assert gradcheck(Exp.apply, (x,))
    assert gradgradcheck(Exp.apply, (x,))
    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(x)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_the_node_is_named_after_the_function():
    assert repr(Cube.apply(leaf(1.0)).grad_fn) == "<CubeBackward>"


def test_without_gradients_nothing_is_recorded():
    assert not Cube.apply(tp.ones(2)).requires_grad
    with tp.no_grad():
        assert not Cube.apply(leaf([1.0])).requires_grad


def test_several_inputs_and_outputs_with_needs_input_grad():
    seen = []

    class Both(Function):
        @staticmethod
        def forward(ctx, a, b, n):
            ctx.n = n
            ctx.save_for_backward(a, b)
            return a * b, a + b

        @staticmethod
        def backward(ctx, gp, gs):
            seen.append(ctx.needs_input_grad)
            a, b = ctx.saved_tensors
            return gp * b + gs, gp * a + gs if ctx.needs_input_grad[1] else None, None

    a, b = leaf(2.0), tensor_of(3.0)
    product, total = Both.apply(a, b, 5)
    (product + total).backward()
    assert seen == [(True, False, False)]
    assert a.grad.item() == 4.0


def test_unused_outputs_are_zeros_or_none():
    got = []

    def make(materialize):
        class Two(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(materialize)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, g, h):
                got.append(h)
                return g

        return Two

    x = leaf([1.0, 2.0])
    make(True).apply(x)[0].sum().backward()
    make(False).apply(x)[0].sum().backward()
    expect(got[0], [0, 0], "float32")
    assert got[1] is None


def test_outputs_without_gradient():
    class WithIndex(Function):
        @staticmethod
        def forward(ctx, x):
            places, doubled = x.argmax(0), x * 2
            ctx.mark_non_differentiable(doubled)
            return x * 1, places, doubled, "text"

        @staticmethod
        def backward(ctx, g, *others):
            return g

    value, places, doubled, text = WithIndex.apply(leaf([1.0, 2.0]))
    assert value.requires_grad
    assert not places.requires_grad
    assert not doubled.requires_grad
    assert text == "text"


def test_setup_context():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    Square.apply(x).backward()
    assert x.grad.item() == 6.0


def test_an_input_returned_as_it_is_keeps_its_own_history():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf([1.0])
    y = Same.apply(x)
    assert y is not x
    assert x.grad_fn is None
    y.sum().backward()
    expect(x.grad, [2], "float32")


def test_mark_dirty_changes_an_input_in_place():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf([1.0])
    y = x * 3
    z = Double.apply(y)
    assert z is y
    z.sum().backward()
    expect(x.grad, [6], "float32")


def test_changed_saved_tensors_are_noticed():
    x = leaf([1.0])
    y = x * 1
    z = Cube.apply(y)
    y.add_(1)
    with pytest.raises(VersionError, match="CubeBackward"):
        z.sum().backward()


def test_a_second_pass_is_refused():
    y = Cube.apply(leaf(1.0))
    y.backward()
    with pytest.raises(GradientError, match="retain_graph"):
        y.backward()


def test_once_differentiable_gives_right_first_gradients_and_a_clear_error():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    (first,) = grad(Once.apply(x) * x, x, create_graph=True)
    assert first.item() == 27.0
    with pytest.raises(NotDifferentiableError, match="once_differentiable"):
        grad(first, x)


def test_mistakes_have_clear_errors():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="WrongBackward returned 1 gradients for 2 inputs"):
        Wrong.apply(leaf(1.0), leaf(1.0)).backward()

    class BadShape(Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            return tp.ones(3)

    with pytest.raises(RuntimeError, match=r"shape \(3,\) for a value of shape \(2,\)"):
        BadShape.apply(leaf([1.0, 2.0])).sum().backward()

    class BadSave(Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(3)
            return a * 1

    with pytest.raises(ArgumentError, match="save_for_backward"):
        BadSave.apply(leaf(1.0))


def test_gradients_of_broadcast_shapes_are_summed():
    class Spread(Function):
        @staticmethod
        def forward(ctx, a):
            return a * tp.ones(3)

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(2.0)
    Spread.apply(x).sum().backward()
    expect(x.grad, 3.0, "float32")


# ---- forward mode and batches ---------------------------------------------------------------------------


class Scaled(Function):
    """x³w, with everything written by hand, times `factor`, so that it can be told from operators."""

    factor = 1.0

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        ctx.save_for_forward(w, x)
        return x * x * x * w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        first = 3 * x * x * w * grad * Scaled.factor if ctx.needs_input_grad[0] else None
        return first, x**3 * grad * Scaled.factor

    @staticmethod
    def jvp(ctx, x_tangent, w_tangent):
        w, x = ctx.saved_tensors
        return (3 * x * x * w * x_tangent + x**3 * w_tangent) * Scaled.factor


def test_jvp_and_vmap_of_a_function(monkeypatch):
    x = tp.arange(12.0, dtype=tp.float64).reshape(4, 3) / 10 - 0.4
    w = tp.tensor([1.0, -2.0, 0.5], dtype=tp.float64)
    for transform in (
        lambda f: jvp(f, (x, w), (x, w))[1],
        lambda f: jvp(lambda x: f(x, w), (x,), (x,))[1],
        lambda f: vmap(f, (0, None))(x, w),
        lambda f: vmap(func_grad(lambda x: f(x, w).sum()))(x),
        lambda f: func_grad(lambda w: vmap(f, (0, None))(x, w).sum())(w),
        lambda f: jvp(lambda w: vmap(f, (0, None))(x, w), (w,), (w,))[1],
        lambda f: vmap(lambda x: jvp(lambda x: f(x, w), (x,), (x,))[1])(x),
        lambda f: vmap(jacrev(lambda x: f(x, w)))(x),
        lambda f: vmap(hessian(lambda x: f(x, w).sum()))(x),
        lambda f: func_grad(lambda w: vmap(func_grad(lambda x: f(x, w).sum()))(x).pow(2).sum())(w),
    ):
        found, expected = transform(Scaled.apply), transform(lambda x, w: x * x * x * w)
        assert found.shape == expected.shape
        assert tp.allclose(found, expected)
    monkeypatch.setattr(Scaled, "factor", 2.0)
    assert tp.allclose(vmap(func_grad(lambda x: Scaled.apply(x, w).sum()))(x), 6 * x * x * w)
    assert tp.allclose(jvp(Scaled.apply, (x, w), (x, w))[1], 8 * x**3 * w)


def test_a_function_with_a_vmap_of_its_own():
    seen = []

    class Doubled(Function):
        @staticmethod
        def forward(x):
            return tp.from_numpy(x.numpy() * 2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def vmap(info, in_dims, x):
            seen.append((info.batch_size, info.randomness, in_dims))
            return Doubled.apply(x), 0

    x = tp.ones(4, 3)
    assert tp.equal(vmap(Doubled.apply)(x), x * 2)
    assert tp.equal(vmap(func_grad(lambda x: Doubled.apply(x).pow(2).sum()))(x), x * 8)
    assert seen == [(4, "error", (0,))] * 2
    y = x.clone().requires_grad_()
    vmap(Doubled.apply)(y).sum().backward()
    assert tp.equal(y.grad, x * 2)


def test_a_function_that_leaves_the_batch_is_refused():
    class Leaves(Function):
        @staticmethod
        def forward(ctx, x):
            return tp.from_numpy(x.numpy())

    with pytest.raises(BatchError, match=r"numpy\(\)"):
        vmap(Leaves.apply)(tp.ones(2, 3))
