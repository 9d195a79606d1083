"""Fake quantization: numbers of the grid, the straight-through gradient, eager and compiled; hashes of elements."""

import pytest

import tensorplay as tp

X = [-9.0, -0.3, 0.1, 0.25, 0.9, 30.0]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("zero_point", [0, 2])
def test_numbers_lie_on_the_grid_and_gradients_pass_inside(zero_point, compiled):
    def f(x):
        return tp.fake_quantize_per_tensor_affine(x, 0.5, zero_point, 0, 7)

    x = tp.tensor(X, requires_grad=True)
    found = (tp.compile(f, strict_native=True) if compiled else f)(x)
    places = [round(each / 0.5) + zero_point for each in X]
    assert found.tolist() == [(min(max(each, 0), 7) - zero_point) * 0.5 for each in places]
    (grad,) = tp.autograd.grad(found.sum(), x)
    assert grad.tolist() == [float(0 <= each <= 7) for each in places]


def test_each_channel_has_its_own_grid():
    x = tp.tensor([X, X])
    scale, zero = tp.tensor([0.5, 0.1]), tp.tensor([0, 3])
    found = tp.fake_quantize_per_channel_affine(x, scale, zero, 0, -8, 7)
    for k in range(2):
        row = tp.fake_quantize_per_tensor_affine(x[k], scale[k], zero[k], -8, 7)
        assert found[k].tolist() == row.tolist()


def test_a_hash_is_the_exclusive_or_of_the_bits():
    x = tp.tensor([[3, 5], [6, -1]], dtype=tp.int32)
    assert tp.hash_tensor(x).item() == 3 ^ 5 ^ 6 ^ (2**64 - 1)
    assert tp.hash_tensor(x, 0).tolist() == [3 ^ 6, 5 ^ (2**64 - 1)]
    assert tp.hash_tensor(tp.tensor(1.0)).item() == 0x3FF0 << 48
