"""Native convolution of planes: products over blocks of columns, and sums over windows in registers."""

import itertools

import numpy as np
import pytest

from tensorplay import _C

RNG = np.random.default_rng(0)


def arrays(dtype, *shapes):
    return [RNG.standard_normal(shape).astype(dtype) for shape in shapes]


def reference(x, w, stride, padding, dilation, groups):
    """The sum over kernel points of products with shifted images, in float64."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((p, p) for p in padding)])
    size = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    split = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    kernels = w.astype(np.float64).reshape(groups, -1, *w.shape[1:])
    y = np.zeros((x.shape[0], groups, kernels.shape[1], *size))
    for i, j in itertools.product(*map(range, w.shape[2:])):
        rows = slice(i * dilation[0], i * dilation[0] + (size[0] - 1) * stride[0] + 1, stride[0])
        columns = slice(j * dilation[1], j * dilation[1] + (size[1] - 1) * stride[1] + 1, stride[1])
        y += np.einsum("ngchw,goc->ngohw", split[..., rows, columns], kernels[..., i, j])
    return y.reshape(y.shape[0], -1, *size)


def convolved(x, w, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    size = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    ]
    out = np.full((x.shape[0], w.shape[0], *size), 9, x.dtype)
    assert _C.convolve(x, w, out, *stride, *padding, *dilation, groups)
    return out


def check(x, w, *numbers):
    want = reference(x, w, *numbers)
    tolerance = 1e-4 if x.dtype == np.float32 else 1e-11
    np.testing.assert_allclose(convolved(x, w, *numbers), want, rtol=tolerance, atol=tolerance)


NUMBERS = [
    ((1, 1), (0, 0), (1, 1)),
    ((1, 1), (1, 1), (1, 1)),
    ((2, 2), (1, 1), (1, 1)),
    ((2, 3), (0, 2), (1, 1)),
    ((1, 2), (4, 3), (2, 3)),
    ((3, 1), (2, 0), (1, 2)),
    ((5, 5), (1, 4), (1, 1)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize(
    ("channels", "results", "groups"),
    [(3, 4, 1), (4, 6, 2), (1, 9, 1), (3, 3, 3), (2, 6, 2), (2, 20, 2)],
)
def test_convolution(channels, results, groups, numbers, dtype):
    for kernel, size in (((3, 3), (11, 14)), ((1, 5), (9, 21)), ((2, 1), (40, 3))):
        x, w = arrays(dtype, (2, channels, *size), (results, channels // groups, *kernel))
        if all(
            n + 2 * p >= d * (k - 1) + 1
            for n, p, d, k in zip(size, numbers[1], numbers[2], kernel, strict=True)
        ):
            check(x, w, *numbers, groups)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100])
@pytest.mark.parametrize("height", [1, 2, 5, 9])
def test_rows_of_windows_of_any_length(width, height):
    x, w = arrays(np.float32, (2, 3, height, width), (6, 1, 3, 3))
    check(x, w, (1, 1), (1, 1), (1, 1), 3)
    check(x, w, (2, 2), (1, 1), (1, 1), 3)


def test_many_blocks():
    x, w = arrays(np.float32, (1, 40, 70, 60), (24, 40, 3, 3))
    check(x, w, (1, 1), (1, 1), (1, 1), 1)


def test_threads_change_no_bit_of_windows_and_nearly_none_of_products():
    x, w = arrays(np.float32, (3, 16, 30, 30), (16, 16, 3, 3))
    before = _C.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            _C.set_num_threads(count)
            results.append((convolved(x, w[:, :1].copy(), groups=16), convolved(x, w)))
    finally:
        _C.set_num_threads(before)
    for windows, products in results[1:]:
        assert np.array_equal(windows, results[0][0])
        np.testing.assert_allclose(products, results[0][1], rtol=1e-4, atol=1e-4)


def test_every_instruction_set():
    x, w = arrays(np.float32, (2, 5, 13, 37), (5, 1, 3, 3))
    chosen = _C.elementwise_isa()
    try:
        for isa in ("generic", chosen):
            _C.elementwise_isa(isa)
            check(x, w, (1, 1), (1, 1), (1, 1), 5)
    finally:
        _C.elementwise_isa(chosen)


def test_what_it_leaves_to_others():
    x, w, out = np.ones((1, 1, 3, 3), int), np.ones((1, 1, 2, 2), int), np.ones((1, 1, 2, 2), int)
    assert not _C.convolve(x, w, out, 1, 1, 0, 0, 1, 1, 1)
    none = np.ones((1, 0, 3, 3)), np.ones((1, 0, 2, 2)), np.ones((1, 1, 2, 2))
    assert not _C.convolve(*none, 1, 1, 0, 0, 1, 1, 1)
    empty = convolved(*arrays(np.float32, (0, 2, 3, 3), (2, 2, 2, 2)))
    assert empty.shape == (0, 2, 2, 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda x, w, y, n: (x[0], w, y, *n),
        lambda x, w, y, n: (x[..., ::2], w, y, *n),
        lambda x, w, y, n: (x.astype(np.float64), w, y, *n),
        lambda x, w, y, n: (x, w, y[:1].copy(), *n),
        lambda x, w, y, n: (x, w, y, *n[:-1]),
        lambda x, w, y, n: (x, w, y, 0, *n[1:]),
        lambda x, w, y, n: (x, w, y, 1, 1, -1, *n[3:]),
        lambda x, w, y, n: (x, w, y, *n[:-1], 2),
        lambda x, w, y, n: (x, w, y, *n[:4], 9, 9, 1),
    ],
)
def test_what_is_refused(change):
    x, w, y = arrays(np.float32, (2, 4, 6, 6), (4, 4, 3, 3), (2, 4, 4, 4))
    assert _C.convolve(x, w, y, 1, 1, 0, 0, 1, 1, 1)
    with pytest.raises(ValueError, match="takes contiguous arrays"):
        _C.convolve(*change(x, w, y, (1, 1, 0, 0, 1, 1, 1)))


@pytest.mark.parametrize("padding", [0, 1 << 40])
def test_steps_far_over_an_image_take_no_memory(padding):
    x, w = arrays(np.float32, (1, 2, 3, 3), (2, 1, 3, 3))
    found = convolved(x, w, (1 << 40,) * 2, (padding,) * 2, (1, 1), 2)
    assert found.shape[2:] == ((3, 3) if padding else (1, 1))
    np.testing.assert_allclose(found.sum((2, 3)), (x * w[:, 0]).sum((2, 3)), rtol=1e-5)


def test_windows_of_very_many_elements():
    x, w = arrays(np.float64, (1, 2, 1, 300_020), (3, 2, 1, 300_000))
    found = convolved(x, w)
    for place in (0, 7, 8, 20):
        window = x[0, :, 0, place : place + 300_000]
        np.testing.assert_allclose(
            found[0, :, 0, place], np.einsum("cj,ocj->o", window, w[:, :, 0])
        )


@pytest.mark.parametrize("shape", [(1, 8, 1, 9000), (2, 3, 2, 5000)])
def test_long_rows_are_cut(shape):
    x, w = arrays(np.float32, shape, (5, shape[1], 1, 7))
    check(x, w, (1, 1), (0, 3), (1, 1), 1)
    check(x, w, (1, 3), (0, 2), (1, 2), 1)
