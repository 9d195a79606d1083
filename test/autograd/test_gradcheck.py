"""gradcheck finds wrong gradients, and says where."""

import pytest
from checks import tensor_of

import tensorplay as tp
from tensorplay.autograd import Function, GradcheckError, gradcheck, gradgradcheck
from tensorplay.core.errors import DTypeError, GradientError


class WrongSquare(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class WrongSecond(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0].detach()


def leaf(values):
    return tensor_of(values, "float64").requires_grad_()


def test_right_gradients_pass():
    x, y = leaf([[0.5, -1.0], [2.0, 0.1]]), leaf([0.7, 0.3])
    assert gradcheck(lambda x, y: (x @ y).sin(), (x, y))
    assert gradgradcheck(lambda x, y: (x @ y).sin(), (x, y))
    assert gradcheck(lambda x, n: (x * n, x.exp()), (x, 3))


def test_wrong_gradients_fail_with_the_place():
    x = leaf([1.0, 2.0])
    with pytest.raises(GradcheckError, match="output element 0, input element 0"):
        gradcheck(WrongSquare.apply, (x,))
    assert not gradcheck(WrongSquare.apply, (x,), raise_exception=False)
    assert gradcheck(WrongSecond.apply, (x,))
    assert not gradgradcheck(WrongSecond.apply, (x,), raise_exception=False)


def test_the_inputs_are_as_before():
    x = leaf([1.0, 2.0])
    gradcheck(lambda x: x.exp(), (x,))
    assert x.tolist() == [1.0, 2.0]


def test_inputs_it_cannot_vary_are_refused():
    with pytest.raises(DTypeError, match="float64"):
        gradcheck(lambda x: x * 2, (tp.ones(2, requires_grad=True),))
    with pytest.raises(GradientError, match="at least one"):
        gradcheck(lambda x: x * 2, (tp.ones(2),))
    with pytest.raises(GradientError, match="expanded"):
        gradcheck(lambda x: x * 2, (leaf([1.0]).detach().expand(3).requires_grad_(),))
