"""Complex numbers: views of the parts, writes through them, conventions of gradients, special values."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.core.errors import CompileError, GradientError
from tensorplay.ops.registry import tp as registry


def numbers(*shape, seed=0, requires_grad=False):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return tp.from_numpy(np.asarray(z)).requires_grad_(requires_grad)


@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_are_views(order):
    array = np.array(numbers(3, 4).numpy(), order=order)[1:, ::2]
    z = tp.from_numpy(array)
    assert np.array_equal(z.real.numpy(), array.real)
    assert np.array_equal(z.imag.numpy(), array.imag)
    pairs = tp.view_as_real(z)
    assert pairs.shape == (2, 2, 2)
    assert np.array_equal(pairs.numpy()[..., 1], array.imag)
    for part in (z.real, z.imag, pairs):
        assert np.shares_memory(part.numpy(), array)
        assert part.storage is z.storage
    assert np.array_equal(tp.view_as_complex(pairs).numpy(), array)


def test_writes_through_the_parts_reach_the_tensor_and_its_history():
    z = numbers(3, requires_grad=True)
    w = z * 2
    w.real.mul_(3)
    w.imag = 0
    assert np.allclose(w.detach().numpy(), z.detach().numpy().real * 6)
    w.abs().sum().backward()
    assert np.allclose(z.grad.numpy(), 6 * np.sign(z.detach().numpy().real))


def test_real_of_a_real_tensor_is_itself():
    x = tp.ones(3)
    assert tp.real(x) is x
    assert tp.conj(x) is x
    with pytest.raises(TypeError, match="expected a complex tensor"):
        tp.imag(x)


def test_gradient_descends():
    """The gradient of |z - c|² is 2 (z - c): a step against it goes straight to c."""
    c = numbers(4, seed=1)
    z = numbers(4, requires_grad=True)
    ((z - c).abs() ** 2).sum().backward()
    assert np.allclose(z.grad.numpy(), 2 * (z.detach() - c).numpy())


def test_holomorphic_gradients_have_the_conjugate_of_the_derivative():
    z = numbers(4, requires_grad=True)
    g = numbers(4, seed=2)
    for function, derivative in (
        (tp.exp, np.exp),
        (tp.sin, np.cos),
        (lambda x: x**3, lambda x: 3 * x * x),
        (tp.acosh, lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))),
    ):
        (grad,) = tp.autograd.grad(function(z), z, g)
        assert np.allclose(grad.numpy(), g.numpy() * np.conj(derivative(z.detach().numpy())))


def test_gradients_of_real_operands_are_real():
    x = tp.tensor([1.0, -2.0], dtype=tp.float64, requires_grad=True)
    z = numbers(2, requires_grad=True)
    (x * z).abs().sum().backward()
    assert x.grad.dtype is tp.float64
    assert z.grad.dtype is tp.complex128
    w = numbers(2)
    (grad,) = tp.autograd.grad(x * w, x, tp.ones(2, dtype=tp.complex128))
    assert np.allclose(grad.numpy(), w.numpy().real)


def test_a_complex_result_needs_its_gradient():
    z = numbers(1, requires_grad=True)
    with pytest.raises(GradientError, match="is complex"):
        (z * z).sum().backward()


CHECKED = {
    "abs": tp.abs,
    "angle": tp.angle,
    "sgn": tp.sgn,
    "conj": lambda z: tp.conj(z) * z,
    "parts": lambda z: z.real * z.imag + tp.view_as_real(z).sum(-1),
    "quotient": lambda z: z / (z + 2j).conj(),
    "matmul": lambda z: z @ z.mH,
    "prod": lambda z: z.prod(0),
    "var": lambda z: z.var(1),
    "where": lambda z: tp.where(z.real > 0, z * z, z.conj()),
    "index": lambda z: z[[0, 1, 0]].cumsum(0),
    "polar": lambda z: tp.polar(z.abs(), z.angle() * 2),
}


@pytest.mark.parametrize("name", CHECKED)
def test_gradcheck_takes_complex_numbers(name):
    z = numbers(3, 3, requires_grad=True)
    assert tp.autograd.gradcheck(CHECKED[name], (z,))
    assert tp.autograd.gradgradcheck(CHECKED[name], (z,))


def test_gradcheck_finds_a_missing_conjugate():
    class Wrong(tp.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, grad):
            (z,) = ctx.saved_tensors
            return grad * 2 * z

    z = numbers(2, requires_grad=True)
    assert not tp.autograd.gradcheck(Wrong.apply, (z,), raise_exception=False)


@pytest.mark.parametrize("name", CHECKED)
def test_forward_mode_is_the_directional_derivative(name):
    z, t = numbers(3, 3), numbers(3, 3, seed=5)
    with tp.autograd.forward_ad.dual_level():
        dual = tp.autograd.forward_ad.make_dual(z, t)
        tangent = tp.autograd.forward_ad.unpack_dual(CHECKED[name](dual)).tangent
    step = 1e-6
    above, below = CHECKED[name](z + t * step), CHECKED[name](z - t * step)
    assert np.allclose(tangent.numpy(), ((above - below) / (2 * step)).numpy(), atol=1e-6)


def test_complex_keeps_infinities_apart():
    z = tp.complex(tp.tensor([1.0, float("inf")]), tp.tensor([float("inf"), float("nan")]))
    assert z.real.tolist() == [1.0, float("inf")]
    assert z.imag.tolist()[0] == float("inf")
    assert np.isnan(z.imag.tolist()[1])


def test_angle_and_sgn_at_zero():
    z = tp.tensor([0j], dtype=tp.complex128, requires_grad=True)
    for function in (tp.abs, tp.angle):
        (grad,) = tp.autograd.grad(function(z).sum(), z)
        assert grad.tolist() == [0j]
    assert tp.sgn(z).tolist() == [0j]
    x = tp.tensor([-1.0, 0.0, 2.0, float("nan")])
    assert np.allclose(tp.angle(x).numpy(), np.angle(x.numpy()), equal_nan=True)


def test_compiled_functions_run_complex_operators():
    z = numbers(4, 4)

    def f(z):
        return (z * 2j).exp().t().real.sum(0) + (z @ z.mH).abs().mean()

    assert np.allclose(tp.compile(f)(z).numpy(), f(z).numpy())
    with pytest.raises(CompileError, match="complex"):
        tp.compile(lambda z: (z * 2j).exp(), strict_native=True)(z)


def test_compiled_gradients_of_complex_operators():
    z = numbers(4, requires_grad=True)

    def f(z):
        return ((z * z).sin() * z.conj()).abs().sum()

    (eager,) = tp.autograd.grad(f(z), z)
    (compiled,) = tp.autograd.grad(tp.compile(f)(z), z)
    assert np.allclose(compiled.numpy(), eager.numpy())


def test_companions_are_operators():
    """The gradient of abs reads its operand only; real and complex share one companion."""
    z = numbers(2, requires_grad=True)
    assert "AbsBackward" in repr(z.abs())
    assert registry["abs_backward"].name == "abs_backward"
