"""Convolution, pooling, normalization, losses, attention against their formulas written out in NumPy."""

import itertools
import math

import numpy as np
import pytest
from checks import LAYOUTS, expect, laid_out, tensor_of, to_array

import tensorplay as tp
from tensorplay.autograd import gradcheck
from tensorplay.nn import functional

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape)


def pair(value):
    return (value, value) if isinstance(value, int) else value


# ---- convolution


def conv2d(x, w, stride, padding, dilation, groups):
    (sh, sw), (ph, pw), (dh, dw) = pair(stride), pair(padding), pair(dilation)
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    n, _, height, width = x.shape
    o, per_group, kh, kw = w.shape
    oh, ow = (height - dh * (kh - 1) - 1) // sh + 1, (width - dw * (kw - 1) - 1) // sw + 1
    y = np.zeros((n, o, oh, ow))
    for b, k, i, j in itertools.product(range(n), range(o), range(oh), range(ow)):
        first = k // (o // groups) * per_group
        rows = slice(i * sh, i * sh + dh * (kh - 1) + 1, dh)
        columns = slice(j * sw, j * sw + dw * (kw - 1) + 1, dw)
        y[b, k, i, j] = (x[b, first : first + per_group, rows, columns] * w[k]).sum()
    return y


CONVOLUTIONS = [
    ((2, 3, 6, 7), (4, 3, 3, 2), 1, 0, 1, 1),
    ((2, 3, 6, 7), (4, 3, 3, 3), (2, 1), (1, 2), 1, 1),
    ((1, 4, 8, 8), (6, 2, 3, 3), 2, 2, (2, 1), 2),
    ((2, 4, 5, 5), (4, 1, 3, 3), 1, 1, 1, 4),
    ((3, 2, 4, 4), (5, 2, 1, 1), 1, 0, 1, 1),
    ((1, 1, 3, 3), (1, 1, 3, 3), 1, 0, 1, 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution(case):
    image, kernel, *settings = case
    x, w, b = normal(*image), normal(*kernel), normal(kernel[0])
    right = conv2d(x, w, *settings)
    found = functional.conv2d(*map(tp.from_numpy, (x, w, b)), *settings)
    np.testing.assert_allclose(to_array(found), right + b[:, None, None], rtol=1e-12, atol=1e-12)
    found = functional.conv2d(tp.from_numpy(x[0]), tp.from_numpy(w), None, *settings)
    np.testing.assert_allclose(to_array(found), right[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_convolution_of_every_layout(layout):
    x, w = normal(2, 3, 5, 5), normal(4, 3, 3, 3)
    right = conv2d(x, w, 1, 1, 1, 1)
    found = functional.conv2d(laid_out(x, layout), laid_out(w, layout), padding=1)
    np.testing.assert_allclose(to_array(found), right, rtol=1e-12, atol=1e-12)
    assert found.is_contiguous()


def test_named_padding():
    x, w = normal(1, 2, 6, 5), normal(3, 2, 4, 2)
    same = functional.conv2d(tp.from_numpy(x), tp.from_numpy(w), padding="same")
    wide = np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)))
    np.testing.assert_allclose(to_array(same), conv2d(wide, w, 1, 0, 1, 1), rtol=1e-12, atol=1e-12)
    valid = functional.conv2d(tp.from_numpy(x), tp.from_numpy(w), padding="valid")
    np.testing.assert_allclose(to_array(valid), conv2d(x, w, 1, 0, 1, 1), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="stride 1"):
        functional.conv2d(tp.from_numpy(x), tp.from_numpy(w), stride=2, padding="same")


def test_large_batches_are_computed_in_chunks():
    x, w = normal(40, 8, 34, 34).astype(np.float32), normal(4, 8, 3, 3).astype(np.float32)
    whole = to_array(functional.conv2d(tp.from_numpy(x), tp.from_numpy(w)))
    part = to_array(functional.conv2d(tp.from_numpy(x[37:38]), tp.from_numpy(w)))
    np.testing.assert_allclose(whole[37:38], part, rtol=1e-4, atol=1e-4)


def test_half_precision_convolution_rounds_once():
    x, w = normal(1, 64, 3, 3), normal(1, 64, 3, 3)
    half = functional.conv2d(tensor_of(x, "bfloat16"), tensor_of(w, "bfloat16"))
    wide = functional.conv2d(tensor_of(x, "bfloat16").float(), tensor_of(w, "bfloat16").float())
    expect(half, to_array(wide), "bfloat16")


# ---- pooling


def windows_of(x, kernel, stride, padding):
    """Yield the output's place and the part of the image in its window."""
    (kh, kw), (sh, sw), (ph, pw) = pair(kernel), pair(stride), pair(padding)
    height, width = x.shape[-2:]
    for i in range((height + 2 * ph - kh) // sh + 1):
        for j in range((width + 2 * pw - kw) // sw + 1):
            top, left = i * sh - ph, j * sw - pw
            yield (
                (i, j),
                x[..., max(top, 0) : max(top + kh, 0), max(left, 0) : max(left + kw, 0)],
            )


@pytest.mark.parametrize("settings", [(2, 2, 0), (3, 1, 1), ((3, 2), (2, 3), (1, 0)), (1, 2, 0)])
def test_pools(settings):
    x = normal(2, 3, 7, 8)
    largest = to_array(functional.max_pool2d(tp.from_numpy(x), *settings))
    mean = to_array(functional.avg_pool2d(tp.from_numpy(x), *settings))
    bare = to_array(functional.avg_pool2d(tp.from_numpy(x), *settings, count_include_pad=False))
    area = math.prod(pair(settings[0]))
    for (i, j), part in windows_of(x, *settings):
        np.testing.assert_array_equal(largest[..., i, j], part.max((-2, -1)))
        np.testing.assert_allclose(mean[..., i, j], part.sum((-2, -1)) / area)
        np.testing.assert_allclose(bare[..., i, j], part.mean((-2, -1)))


def test_indices_of_the_largest_are_the_first_ones():
    x = tensor_of([[[[1.0, 1.0, 0.0], [1.0, 5.0, 5.0]]]])
    values, places = functional.max_pool2d(x, (2, 2), 1, return_indices=True)
    expect(values, [[[[5, 5]]]], "float32")
    expect(places, [[[[4, 4]]]], "int64")
    x = tensor_of([[[[math.nan, 1.0], [math.nan, 5.0]]]])
    _, places = functional.max_pool2d(x, 2, return_indices=True)
    expect(places, [[[[0]]]], "int64")


def test_max_pool_of_minus_infinity_and_integers():
    x = tensor_of(np.full((1, 1, 2, 2), -math.inf))
    values, places = functional.max_pool2d(x, 2, padding=1, return_indices=True)
    expect(values, np.full((1, 1, 2, 2), -math.inf), "float32")
    expect(places, [[[[0, 1], [2, 3]]]], "int64")
    lowest = tensor_of(np.full((1, 1, 2, 2), -(2**31)), "int32")
    expect(functional.max_pool2d(lowest, 2), [[[[-(2**31)]]]], "int32")


def test_overlapping_windows_gather_their_gradients():
    x = tensor_of(np.arange(9.0).reshape(1, 1, 3, 3)).requires_grad_()
    functional.max_pool2d(x, 2, 1).sum().backward()
    expect(x.grad, [[[[0, 0, 0], [0, 1, 1], [0, 1, 1]]]], "float32")


@pytest.mark.parametrize("size", [1, 2, 3, (5, 2), (None, 4)])
def test_adaptive_means(size):
    x = normal(2, 3, 5, 6)
    rows, columns = (n if s is None else s for s, n in zip(pair(size), (5, 6), strict=True))
    found = to_array(functional.adaptive_avg_pool2d(tp.from_numpy(x), size))
    assert found.shape == (2, 3, rows, columns)
    for i, j in itertools.product(range(rows), range(columns)):
        part = x[
            ...,
            i * 5 // rows : -(-(i + 1) * 5 // rows),
            j * 6 // columns : -(-(j + 1) * 6 // columns),
        ]
        np.testing.assert_allclose(found[..., i, j], part.mean((-2, -1)))


# ---- normalization


def test_layer_norm():
    x, w, b = normal(4, 3, 5), normal(3, 5), normal(3, 5)
    found = functional.layer_norm(tp.from_numpy(x), (3, 5), tp.from_numpy(w), tp.from_numpy(b))
    mean, var = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    np.testing.assert_allclose(to_array(found), (x - mean) / np.sqrt(var + 1e-5) * w + b)


def test_layer_norm_of_half_types_is_computed_wide():
    x = tensor_of(normal(4, 300) * 50 + 100, "bfloat16")
    right = functional.layer_norm(x.float(), (300,))
    expect(functional.layer_norm(x, (300,)), to_array(right), "bfloat16")


def test_batch_norm_in_training_updates_the_running_statistics():
    x, w, b = normal(4, 3, 2, 5), normal(3), normal(3)
    mean, var = tp.zeros(3, dtype=tp.float64), tp.ones(3, dtype=tp.float64)
    found = functional.batch_norm(
        tp.from_numpy(x), mean, var, tp.from_numpy(w), tp.from_numpy(b), True, 0.1
    )
    m, v = x.mean((0, 2, 3)), x.var((0, 2, 3))
    shape = (1, 3, 1, 1)
    right = (x - m.reshape(shape)) / np.sqrt(v.reshape(shape) + 1e-5)
    np.testing.assert_allclose(to_array(found), right * w.reshape(shape) + b.reshape(shape))
    np.testing.assert_allclose(to_array(mean), 0.1 * m)
    np.testing.assert_allclose(to_array(var), 0.9 + 0.1 * v * 40 / 39)
    found = functional.batch_norm(tp.from_numpy(x), mean, var)
    right = (x - to_array(mean).reshape(shape)) / np.sqrt(to_array(var).reshape(shape) + 1e-5)
    np.testing.assert_allclose(to_array(found), right)


def test_the_running_statistics_have_no_history():
    x = tensor_of(normal(4, 3)).requires_grad_()
    mean, var = tp.zeros(3), tp.ones(3)
    functional.batch_norm(x, mean, var, training=True).sum().backward()
    assert not mean.requires_grad
    assert not var.requires_grad


# ---- losses


def log_softmax(x, axis=1):
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def test_cross_entropy_of_classes():
    x, t, w = normal(5, 3), np.array([0, 2, 1, 2, 0]), np.array([0.5, 1.0, 2.0])
    picked = -log_softmax(x)[np.arange(5), t]
    args = tp.from_numpy(x), tp.from_numpy(t)
    np.testing.assert_allclose(to_array(functional.cross_entropy(*args)), picked.mean())
    none = functional.cross_entropy(*args, reduction="none")
    np.testing.assert_allclose(to_array(none), picked)
    weighted = functional.cross_entropy(*args, tp.from_numpy(w))
    np.testing.assert_allclose(to_array(weighted), (picked * w[t]).sum() / w[t].sum())
    ignored = functional.cross_entropy(*args, tp.from_numpy(w), ignore_index=2)
    kept = t != 2
    np.testing.assert_allclose(to_array(ignored), (picked * w[t])[kept].sum() / w[t][kept].sum())


def test_label_smoothing_is_a_mixture_of_targets():
    x, t = normal(5, 3), np.array([0, 2, 1, 2, 0])
    smooth = 0.7 * np.eye(3)[t] + 0.3 / 3
    args = tp.from_numpy(x), tp.from_numpy(t)
    found = functional.cross_entropy(*args, label_smoothing=0.3)
    np.testing.assert_allclose(to_array(found), -(log_softmax(x) * smooth).sum(1).mean())
    soft = functional.cross_entropy(tp.from_numpy(x), tp.from_numpy(smooth))
    np.testing.assert_allclose(to_array(soft), to_array(found))


def test_cross_entropy_of_images():
    x, t = normal(2, 3, 4, 5), rng.integers(0, 3, (2, 4, 5))
    found = functional.cross_entropy(tp.from_numpy(x), tp.from_numpy(t))
    picked = np.take_along_axis(log_softmax(x), t[:, None], 1)
    np.testing.assert_allclose(to_array(found), -picked.mean())


def test_ignored_targets_may_be_anything_and_nothing_is_nan():
    x = tensor_of(normal(2, 3)).requires_grad_()
    t = tensor_of([1, -100], "int64")
    loss = functional.cross_entropy(x, t)
    loss.backward()
    assert (x.grad[1] == 0).all()
    assert math.isnan(functional.cross_entropy(x, tensor_of([-100, -100], "int64")).item())
    for wrong in (3, -1):
        with pytest.raises(IndexError):
            functional.cross_entropy(x, tensor_of([0, wrong], "int64"))


def test_other_losses():
    x, t = normal(3, 4), normal(3, 4)
    args, d = (tp.from_numpy(x), tp.from_numpy(t)), np.abs(x - t)
    np.testing.assert_allclose(to_array(functional.mse_loss(*args)), (d * d).mean())
    np.testing.assert_allclose(to_array(functional.l1_loss(*args, reduction="sum")), d.sum())
    huber = np.where(d < 0.5, d * d, d - 0.25)
    np.testing.assert_allclose(to_array(functional.smooth_l1_loss(*args, beta=0.5)), huber.mean())
    p, y = 1 / (1 + np.exp(-x)), rng.random((3, 4))
    right = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    probabilities = functional.binary_cross_entropy(tp.from_numpy(p), tp.from_numpy(y))
    logits = functional.binary_cross_entropy_with_logits(tp.from_numpy(x), tp.from_numpy(y))
    np.testing.assert_allclose(to_array(probabilities), right)
    np.testing.assert_allclose(to_array(logits), right)


def test_binary_cross_entropy_stays_finite():
    certain = tensor_of([0.0, 1.0])
    expect(functional.binary_cross_entropy(certain, tensor_of([1.0, 0.0])), 100.0, "float32")
    expect(functional.binary_cross_entropy(certain, certain), 0.0, "float32")
    x = tensor_of([1000.0, -1000.0]).requires_grad_()
    loss = functional.binary_cross_entropy_with_logits(x, tensor_of([0.0, 1.0]))
    loss.backward()
    assert loss.item() == 1000.0
    expect(x.grad, [0.5, -0.5], "float32")


# ---- tables and chance


def test_embedding_rows_and_their_gradients():
    w = tensor_of(normal(4, 2)).requires_grad_()
    found = functional.embedding(tensor_of([[1, 3], [1, 0]], "int64"), w, padding_idx=0)
    assert found.shape == (2, 2, 2)
    found.sum().backward()
    expect(w.grad, [[0, 0], [2, 2], [0, 0], [1, 1]], "float32")


def test_dropout_drops_and_scales():
    x = tp.ones(1000).requires_grad_()
    y = functional.dropout(x, 0.25)
    y.sum().backward()
    values = to_array(y)
    assert set(np.unique(values)) == {np.float32(0), np.float32(1 / 0.75)}
    assert 650 < (values > 0).sum() < 850
    np.testing.assert_array_equal(to_array(x.grad), values)
    assert functional.dropout(x, 0.25, training=False) is x
    expect(functional.dropout(tp.full((2,), math.inf), 1.0), [0, 0], "float32")


# ---- attention


def attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -math.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def test_attention():
    q, k, v = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6)
    args = tuple(map(tp.from_numpy, (q, k, v)))
    attend = functional.scaled_dot_product_attention
    np.testing.assert_allclose(to_array(attend(*args)), attention(q, k, v))
    mask = rng.random((3, 5)) < 0.6
    mask[:, 0] = True
    found = attend(*args, tp.from_numpy(mask))
    np.testing.assert_allclose(to_array(found), attention(q, k, v, mask))
    found = attend(*args, is_causal=True)
    np.testing.assert_allclose(to_array(found), attention(q, k, v, np.tri(3, 5, dtype=bool)))


def test_rows_without_a_key_are_zero_with_finite_gradients():
    q, k, v = (tp.ones(1, 1, 2, 4).requires_grad_() for _ in range(3))
    mask = tensor_of([[True, False], [False, False]], "bool")
    y = functional.scaled_dot_product_attention(q, k, v, mask)
    expect(y.detach(), [[[[1] * 4, [0] * 4]]], "float32")
    y.sum().backward()
    assert all(np.isfinite(to_array(t.grad)).all() for t in (q, k, v))


def test_shared_heads_are_repeated():
    q, k, v = normal(1, 4, 3, 2), normal(1, 2, 3, 2), normal(1, 2, 3, 2)
    found = functional.scaled_dot_product_attention(*map(tp.from_numpy, (q, k, v)), enable_gqa=True)
    right = attention(q, k.repeat(2, 1), v.repeat(2, 1))
    np.testing.assert_allclose(to_array(found), right)


# ---- padding


@pytest.mark.parametrize(
    ("mode", "numpy_mode"),
    [("constant", "constant"), ("replicate", "edge"), ("reflect", "reflect"), ("circular", "wrap")],
)
def test_pad(mode, numpy_mode):
    x = normal(3, 4)
    found = functional.pad(tp.from_numpy(x), (2, 1, 0, 2), mode)
    np.testing.assert_array_equal(to_array(found), np.pad(x, ((0, 2), (2, 1)), numpy_mode))
    variable = tp.from_numpy(x).requires_grad_()
    assert gradcheck(lambda x: functional.pad(x, (2, 1, 0, 2), mode), (variable,))


# ---- forward mode of composites with gradients of their own


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("softmax", (1,)),
        ("log_softmax", (0,)),
        ("logsumexp", ((1,), False)),
        ("softmax_or_zeros", (-1,)),
    ],
)
def test_tangents_are_the_transposed_gradients(name, arguments):
    operator = tp.ops.tp[name]
    x, t = tp.from_numpy(normal(3, 4)).requires_grad_(), tp.from_numpy(normal(3, 4))
    y = operator(x, *arguments)
    weights = tp.from_numpy(normal(*y.shape))
    values = operator.signature.bind((x.detach(), *arguments), {})
    forward = operator.jvp(values, y.detach(), [t])
    (backward,) = tp.autograd.grad(y, x, weights)
    np.testing.assert_allclose((forward * weights).sum().item(), (backward * t).sum().item())


# ---- older arguments, and what was found against PyTorch's operator database


@pytest.mark.parametrize(
    ("size_average", "reduce", "reduction"),
    [(True, None, "mean"), (False, None, "sum"), (None, True, "mean"), (True, False, "none")],
)
def test_size_average_and_reduce_are_older_names_of_reduction(size_average, reduce, reduction):
    x, t = tensor_of([1.0, 3.0]), tensor_of([0.0, 1.0])
    with pytest.warns(UserWarning, match=f"pass reduction='{reduction}'"):
        found = functional.mse_loss(x, t, size_average, reduce)
    right = functional.mse_loss(x, t, reduction=reduction)
    np.testing.assert_array_equal(to_array(found), to_array(right))
    with pytest.warns(UserWarning, match="pass reduction="):
        assert tp.nn.CrossEntropyLoss(None, size_average, -100, reduce).reduction == reduction


def test_a_reduction_in_the_place_of_size_average_is_refused():
    with pytest.raises(TypeError, match="pass reduction= by name"):
        functional.mse_loss(tp.ones(2), tp.ones(2), "sum")


@pytest.mark.parametrize("padding_mode", ["border", "reflection"])
def test_places_on_the_border_of_an_image_have_no_gradient(padding_mode):
    images = tensor_of([[[[1.0, 5.0, 7.0]]]])
    places = tensor_of([[[[-1.0, 0.0], [1.0, 0.0], [-0.5, 0.0]]]]).requires_grad_()
    found = functional.grid_sample(images, places, padding_mode=padding_mode, align_corners=True)
    (grad,) = tp.autograd.grad(found.sum(), places)
    expect(grad[0, 0, :, 0], [0.0, 0.0, 4.0], "float32")


def test_cubic_second_derivatives_at_the_elements_are_those_from_the_right():
    images = tensor_of([[[[0.0, 0.0, 1.0, 0.0, 0.0]]]], "float64")

    def slope(place):
        where = tensor_of([[[[place, 0.0]]]], "float64").requires_grad_()
        found = functional.grid_sample(images, where, mode="bicubic", align_corners=True)
        (first,) = tp.autograd.grad(found.sum(), where, create_graph=True)
        (second,) = tp.autograd.grad(first[..., 0].sum(), where)
        return second[..., 0].item()

    for element in (-0.5, 0.0, 0.5):
        assert abs(slope(element) - slope(element + 1e-9)) < 1e-5


def test_quotients_of_integer_pools_are_truncated():
    images = tensor_of([[[[1, 2], [3, -1]]]], "int64")
    for divisor, right in ((-2, -2), (2, 2), (3, 1), (-3, -1)):
        found = functional.avg_pool2d(images, 2, divisor_override=divisor)
        assert found.item() == right


def test_a_bias_of_another_dtype_is_refused():
    with pytest.raises(TypeError, match="bias of the images' dtype"):
        functional.conv1d(tp.ones(1, 1, 4), tp.ones(1, 1, 2), tp.ones(1, dtype=tp.float64))


def test_fractional_pools_draw_anew():
    x = tp.arange(400.0).reshape(1, 1, 20, 20)
    first, second = (functional.fractional_max_pool2d(x, 2, output_ratio=0.6) for _ in range(2))
    assert first.shape == (1, 1, 12, 12)
    assert not tp.equal(first, second)
    largest, places = functional.fractional_max_pool2d(x, 2, 7, return_indices=True)
    np.testing.assert_array_equal(to_array(largest), to_array(places).astype("float32"))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("soft", [False, True])
def test_linear_cross_entropy_in_chunks_is_that_of_the_batch(reduction, soft):
    x, weight = tp.randn(7, 3).requires_grad_(), tp.randn(5, 3).requires_grad_()
    target = tp.softmax(tp.randn(7, 5), 1) if soft else tensor_of([0, 4, 2, 1, 1, 3, 0], "int64")
    settings = {"weight": tp.rand(5) + 0.5, "reduction": reduction, "label_smoothing": 0.1}
    if not soft:
        settings["ignore_index"] = 1
    options = tp.nn.LinearCrossEntropyOptions(batch_chunk_size=3)
    plain = functional.linear_cross_entropy(x, weight, target, **settings)
    chunked = functional.linear_cross_entropy(x, weight, target, **settings, options=options)
    np.testing.assert_allclose(to_array(chunked), to_array(plain), rtol=1e-5, atol=1e-6)
    for a, b in zip(
        tp.autograd.grad(chunked.sum(), (x, weight)),
        tp.autograd.grad(plain.sum(), (x, weight)),
        strict=True,
    ):
        np.testing.assert_allclose(to_array(a), to_array(b), rtol=1e-4, atol=1e-5)
