"""The options of `gradcheck`: each notices what it is for."""

import pytest

import tensorplay as tp
from tensorplay.autograd import Function, GradcheckError, gradcheck, gradgradcheck

X = tp.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=tp.float64, requires_grad=True)
Y = tp.tensor([1.0, -2.0], dtype=tp.float64, requires_grad=True)
ALL = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}


def several(x, y):
    return (x * y).sin(), (x @ y).exp(), x.sum()


@pytest.mark.parametrize("fast_mode", [False, True])
def test_all_checks_pass_where_all_is_right(fast_mode):
    assert gradcheck(several, (X, Y), fast_mode=fast_mode, **ALL)
    assert gradcheck(tp.sin, X, fast_mode=fast_mode)
    assert gradgradcheck(several, (X, Y), fast_mode=fast_mode)
    assert gradgradcheck(several, (X, Y), gen_non_contig_grad_outputs=True, check_fwd_over_rev=True)


class Wrong(Function):
    """x², whose parts can be made wrong."""

    backward_factor = jvp_factor = 1.0
    drift = 0.0
    undefined = 0.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.set_materialize_grads(value=False)
        return x * x, x * 3

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        Wrong.backward_factor += Wrong.drift
        total = Wrong.undefined if second is None else second * 3
        if first is not None:
            total = total + first * x * 2 * Wrong.backward_factor
        return total

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 2 * x * tangent * Wrong.jvp_factor, 3 * tangent


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_derivatives_are_noticed(monkeypatch, fast_mode):
    options = {"fast_mode": fast_mode, "check_forward_ad": True}
    assert gradcheck(Wrong.apply, (X,), **options)
    monkeypatch.setattr(Wrong, "jvp_factor", 2.0)
    assert gradcheck(Wrong.apply, (X,), fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="forward mode gives"):
        gradcheck(Wrong.apply, (X,), **options)
    assert not gradcheck(Wrong.apply, (X,), raise_exception=False, **options)
    monkeypatch.setattr(Wrong, "jvp_factor", 1.0)
    monkeypatch.setattr(Wrong, "backward_factor", 2.0)
    with pytest.raises(GradcheckError, match="reverse mode gives"):
        gradcheck(Wrong.apply, (X,), **options)
    assert gradcheck(Wrong.apply, (X,), check_backward_ad=False, **options)


def test_passes_that_differ_are_noticed(monkeypatch):
    monkeypatch.setattr(Wrong, "drift", 1e-6)
    monkeypatch.setattr(Wrong, "backward_factor", 1.0)
    with pytest.raises(GradcheckError, match="two backward passes"):
        gradcheck(Wrong.apply, (X,), check_undefined_grad=False)
    assert gradcheck(Wrong.apply, (X,), nondet_tol=1e-3, check_undefined_grad=False)


def test_undefined_gradients_are_zero(monkeypatch):
    monkeypatch.setattr(Wrong, "undefined", 1e-7)
    with pytest.raises(GradcheckError, match="no gradients"):
        gradcheck(Wrong.apply, (X,))
    assert gradcheck(Wrong.apply, (X,), check_undefined_grad=False)


def test_complex_numbers_count_as_their_parts():
    z = tp.tensor([0.5 + 1j, -1.0 + 0.25j], dtype=tp.complex128, requires_grad=True)
    for fast_mode in (False, True):
        assert gradcheck(lambda z: (z * z, z.abs()), (z,), fast_mode=fast_mode, **ALL)
        assert gradgradcheck(lambda z: z * z.abs(), (z,), fast_mode=fast_mode)
