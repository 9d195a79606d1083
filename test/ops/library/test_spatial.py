"""What the contract suite can't see of convolutions, pools and resized images: exact values, and native lowering."""

import math

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.nn import functional

rng = np.random.default_rng(0)


def normal(*shape):
    return tp.from_numpy(rng.standard_normal(shape))


def test_conv1d_and_conv3d_are_conv2d_with_flat_images():
    x, w = normal(2, 4, 9), normal(6, 2, 3)
    flat = functional.conv2d(x.unsqueeze(2), w.unsqueeze(2), None, (1, 2), (0, 1), (1, 2), 2)
    found = functional.conv1d(x, w, None, 2, 1, 2, 2)
    assert tp.allclose(found, flat.squeeze(2))
    x, w = normal(1, 2, 5, 6), normal(3, 2, 2, 3)
    deep = functional.conv3d(x.unsqueeze(2), w.unsqueeze(2), None, 1, (0, 1, 2))
    assert tp.allclose(functional.conv2d(x, w, None, 1, (1, 2)), deep.squeeze(2))


@pytest.mark.parametrize("output_padding", [0, 1, 2])
def test_a_transposed_convolution_is_the_adjoint(output_padding):
    """<T(g), x> = <g, C(x)>, also where the result is longer than what the convolution reads."""
    g, w = normal(2, 3, 4), normal(3, 2, 3)
    found = functional.conv_transpose1d(g, w, None, 2, 1, output_padding, 1, 3)
    x = normal(*found.shape)
    result = functional.conv1d(x, w, None, 2, 1, 3)[..., :4]
    assert tp.allclose((found * x).sum(), (g * result).sum())


def test_integers_and_complex_numbers_are_convolved():
    x, w = tp.arange(5).reshape(1, 1, 5), tp.tensor([[[1, -1]]])
    assert functional.conv1d(x, w).tolist() == [[[-1, -1, -1, -1]]]
    z = tp.complex(x.double(), tp.ones(1, 1, 5, dtype=tp.float64))
    assert functional.conv1d(z, w.to(z.dtype)).flatten().tolist() == [-1] * 4


def test_max_pool_takes_the_first_of_equals_and_never_the_padding():
    x = tp.full((1, 4, 4), -math.inf)
    values, places = functional.max_pool2d(x, 3, 2, 1, return_indices=True)
    assert values.flatten().tolist() == [-math.inf] * 4
    assert places.flatten().tolist() == [0, 1, 4, 5]
    x.requires_grad_()
    functional.max_pool2d(x, 3, 2, 1).sum().backward()
    assert x.grad.flatten().nonzero().flatten().tolist() == [0, 1, 4, 5]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: functional.max_pool2d(x, 3, 2, 1),
        lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x: functional.max_pool2d(x, 9, 3, 4),
        lambda x: functional.adaptive_avg_pool2d(x, (5, 3)),
        lambda x: functional.unfold(x, 3, padding=1),
        lambda x: functional.pad(x, (1, 2, 2, 1), "reflect"),
        lambda x: functional.pixel_shuffle(x, 2),
        lambda x: functional.interpolate(x, (7, 20), mode="bilinear"),
    ],
)
def test_they_lower_natively(function):
    """No call of an eager kernel: one or a few loops, with the result and the gradient of eager execution."""
    x = tp.from_numpy(rng.standard_normal((2, 4, 12, 13)).astype(np.float32)).requires_grad_()
    compiled = tp.compile(function, strict_native=True)
    found, right = compiled(x), function(x)
    assert tp.allclose(found, right, rtol=1e-5, atol=1e-5)
    weight = tp.rand(*right.shape)
    (a,) = tp.autograd.grad((found * weight).sum(), x)
    (b,) = tp.autograd.grad((right * weight).sum(), x)
    assert tp.allclose(a, b, rtol=1e-4, atol=1e-5)
    assert "extern" not in compiled.explain(x.detach()).schedule.text()


def test_means_of_adaptive_cells():
    x = tp.arange(5.0).reshape(1, 5)
    assert functional.adaptive_avg_pool1d(x, 3).tolist() == [[0.5, 2.0, 3.5]]
    values, places = functional.adaptive_max_pool1d(x, 3, return_indices=True)
    assert (values.tolist(), places.tolist()) == ([[1, 3, 4]], [[1, 3, 4]])


def test_fold_undoes_unfold_where_windows_do_not_overlap():
    x = normal(2, 3, 6, 4)
    columns = functional.unfold(x, 2, stride=2)
    assert tp.equal(functional.fold(columns, (6, 4), 2, stride=2), x)


def test_interpolated_values():
    x = tp.tensor([[[0.0, 1.0, 2.0]]])

    def resized(size, mode, align=None):
        return functional.interpolate(x, size, mode=mode, align_corners=align).flatten().tolist()

    assert resized(6, "nearest") == [0, 0, 1, 1, 2, 2]
    assert resized(2, "nearest-exact") == [0, 2]
    assert resized(5, "linear", True) == [0, 0.5, 1, 1.5, 2]
    assert resized(2, "linear", False) == [0.25, 1.75]


def test_grid_samples_at_the_elements_are_the_elements():
    x = normal(1, 2, 3, 4)
    for align in (True, False):
        grid = functional.affine_grid(tp.eye(3, dtype=tp.float64)[:2].unsqueeze(0), x.shape, align)
        for mode in ("bilinear", "nearest", "bicubic"):
            found = functional.grid_sample(x, grid, mode, "border", align)
            assert tp.allclose(found, x, rtol=1e-9, atol=1e-9)
