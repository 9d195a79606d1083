"""`x.unsqueeze_(0)` and its relatives: the object takes the view's shape, its memory and history stay right."""

import pytest

import tensorplay as tp
from tensorplay.core.errors import CaptureError, GradientError


def test_the_object_takes_the_shape_and_shares_its_memory():
    x = tp.arange(6.0).reshape(2, 3).clone()
    other = x[0]
    assert x.t_() is x
    assert (x.shape, x.stride()) == ((3, 2), (1, 3))
    x.unsqueeze_(0)
    assert x.shape == (1, 3, 2)
    x.squeeze_(0).transpose_(0, 1)
    x[0, 0] = 9.0
    assert other[0].item() == 9.0
    x.as_strided_((2,), (1,))
    assert x.tolist() == [9.0, 1.0]


def test_gradients_flow_through_the_changed_object():
    a = tp.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    b = a * 2
    b.t_()
    b.mul_(tp.tensor([[1.0], [10.0], [100.0]]))
    (b * tp.tensor([[1.0], [2.0], [3.0]])).sum().backward()
    assert a.grad.tolist() == [[2.0, 40.0, 600.0]]


def test_writes_reach_the_tensor_that_a_changed_view_is_of():
    a = tp.ones(2, 3, requires_grad=True)
    base = a * 1
    view = base[0]
    view.unsqueeze_(0)
    view.mul_(5.0)
    base.sum().backward()
    assert a.grad.tolist() == [[5.0] * 3, [1.0] * 3]


def test_a_leaf_that_requires_a_gradient_is_refused():
    x = tp.ones(2, 3, requires_grad=True)
    with pytest.raises(GradientError, match="keeps its shape"):
        x.t_()
    assert x.shape == (2, 3)


def test_capture_is_refused_with_what_to_write():
    def f(x):
        y = x * 2
        y.unsqueeze_(0)
        return y

    with pytest.raises(CaptureError, match=r"x = x\.unsqueeze"):
        tp.compile(f)(tp.ones(3))


def test_resize_keeps_the_memory_while_it_suffices():
    base = tp.arange(6).reshape(3, 2).clone()
    x = base[1:]
    assert x.resize_(3).tolist() == [2, 3, 4]
    x[0] = 9
    assert base[1, 0].item() == 9
    assert x.resize_(5)[:4].tolist() == [9, 3, 4, 5]
    x[0] = 7
    assert base[1, 0].item() == 9
    assert x.resize_as_(base).shape == (3, 2)


def test_a_tensor_resized_to_nothing_keeps_its_memory():
    base = tp.arange(6)
    x = base.view(2, 3).resize_(0)
    assert x.resize_(4).tolist() == [0, 1, 2, 3]
    x[0] = 9
    assert base[0].item() == 9
    assert tp.empty(0).resize_(2).shape == (2,)


def test_set_shows_other_memory():
    source = tp.arange(6.0)
    x = tp.zeros(1).set_(source, 1, (2, 2), (1, 2))
    assert x.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    x.zero_()
    assert source.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 5.0]
    assert tp.zeros(2).set_(source).is_set_to(source)
    assert tp.zeros(2).set_().shape == (0,)


def test_memory_of_what_gradients_need_stays():
    with pytest.raises(GradientError, match="keeps its memory"):
        tp.ones(2, requires_grad=True).resize_(3)
    with pytest.raises(CaptureError, match="resize_"):
        tp.compile(lambda x: (x * 2).resize_(3))(tp.ones(2))
