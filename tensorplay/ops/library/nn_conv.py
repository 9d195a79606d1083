"""Convolution of images, and its two adjoints.

``y = C(x, w)`` is linear in the images and in the weight. Its adjoints ``T(g, w)`` (in the images) and
``G(g, x)`` (in the weight) are linear in both arguments again, and the three are closed under
differentiation: ``⟨g, C(x, w)⟩ = ⟨T(g, w), x⟩ = ⟨G(g, x), w⟩``. The array functions are in `windows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tensorplay.core.dtypes import float64, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.windows import (
    Array,
    Windows,
    convolve,
    convolve_images_adjoint,
    convolve_weight_adjoint,
    make_windows,
    meta_of,
    narrow,
    wide,
)
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Pair, Size, to_pair

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

Two: TypeAlias = tuple[int, int]
Shape: TypeAlias = tuple[int, ...]


def _windows(
    images: Shape, weight: Shape, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Windows:
    """Check shapes and return the windows of a convolution."""
    if len(images) != 4 or len(weight) != 4:
        raise ShapeError(
            "convolution: expected images (N, C, H, W) and a weight (O, C / groups, kh, kw), "
            f"got shapes {tuple(images)} and {tuple(weight)}"
        )
    if groups < 1 or images[1] != weight[1] * groups or weight[0] % groups != 0:
        raise ShapeError(
            f"convolution: images of shape {tuple(images)} do not fit a weight of shape "
            f"{tuple(weight)} with groups={groups}: the weight reads {weight[1]} channels in each "
            f"group, and groups must divide its {weight[0]} output channels"
        )
    kernel = (weight[2], weight[3])
    return make_windows("convolution", images, kernel, stride, padding, dilation)


def _common(a: TensorMeta, b: TensorMeta, shape: Shape) -> TensorMeta:
    """Return the metadata of a result, of the one floating dtype of both operands."""
    if a.dtype is not b.dtype or a.dtype.kind != "f":
        raise DTypeError(
            "convolution: expected two tensors of one floating dtype, "
            f"got {a.dtype} and {b.dtype}; convert one with .to(dtype)"
        )
    return TensorMeta(shape, a.dtype, a.device)


def _convolution_meta(
    input: TensorMeta, weight: TensorMeta, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> TensorMeta:
    windows = _windows(input.shape, weight.shape, stride, padding, dilation, groups)
    return _common(input, weight, (input.shape[0], weight.shape[0], *windows.output))


@structured(meta=_convolution_meta)
def convolution(
    input: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """Cross-correlate images with kernels, without a bias.

    ``y[n, o, p, q] = Σ_c,i,j x[n, c, p·s + i·d − pad, q·s + j·d − pad] · w[o, c, i, j]``, where ``x`` is
    (N, C, H, W), ``w`` (O, C / groups, kh, kw), and each group of output channels reads its own
    group of input channels. Computed as a matrix product over the windows' columns (im2col).
    """
    _convolution_meta(meta_of(input), meta_of(weight), stride, padding, dilation, groups)
    windows = _windows(input.shape, weight.shape, stride, padding, dilation, groups)
    return narrow(convolve(wide(input), wide(weight), windows, groups), input)


@convolution.gradient("input")
def _(
    grad: Tensor,
    input: TensorMeta,
    weight: Tensor,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Tensor:
    return convolution_input_grad(grad, weight, input.shape, stride, padding, dilation, groups)


@convolution.gradient("weight")
def _(
    grad: Tensor,
    input: Tensor,
    weight: TensorMeta,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Tensor:
    return convolution_weight_grad(grad, input, weight.shape, stride, padding, dilation, groups)


@convolution.sample
def _() -> Iterator[Sample]:
    one, none = (1, 1), (0, 0)
    yield sample(Arg((2, 3, 5, 6)), Arg((4, 3, 3, 2)), one, none, one, 1)
    yield sample(Arg((1, 4, 6, 5)), Arg((2, 2, 3, 3)), (2, 1), (1, 2), (1, 2), 2)
    yield sample(Arg((2, 2, 4, 4), layout="transposed"), Arg((2, 1, 1, 1)), 2, 0, 1, 2)
    yield sample(Arg((0, 2, 4, 4)), Arg((3, 2, 3, 3)), one, one, one, 1)
    yield bad(ShapeError, "do not fit", Arg((1, 3, 5, 5)), Arg((4, 2, 3, 3)), one, none, one, 1)
    yield bad(ShapeError, "does not fit", Arg((1, 3, 2, 2)), Arg((4, 3, 3, 3)), one, none, one, 1)
    yield bad(
        DTypeError,
        "one floating dtype",
        Arg((1, 1, 2, 2), float64),
        Arg((1, 1, 1, 1)),
        one,
        none,
        one,
        1,
    )
    yield bad(
        ArgumentValueError, "stride", Arg((1, 1, 2, 2)), Arg((1, 1, 1, 1)), (0, 1), none, one, 1
    )


def _input_grad_meta(
    grad_output: TensorMeta,
    weight: TensorMeta,
    input_size: Shape,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> TensorMeta:
    windows = _windows(input_size, weight.shape, stride, padding, dilation, groups)
    _check_grad(grad_output, (input_size[0], weight.shape[0], *windows.output))
    return _common(grad_output, weight, input_size)


def _check_grad(grad_output: TensorMeta, shape: Shape) -> None:
    if grad_output.shape != shape:
        raise ShapeError(
            f"convolution: a gradient has the shape of the result, {tuple(shape)}, not {tuple(grad_output.shape)}"
        )


@structured(meta=_input_grad_meta, public=False)
def convolution_input_grad(
    grad_output: Array,
    weight: Array,
    input_size: Size,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Array:
    """The adjoint of `convolution` in the images: every term is added where it was read (col2im)."""
    size = tuple(input_size)
    _input_grad_meta(meta_of(grad_output), meta_of(weight), size, stride, padding, dilation, groups)
    windows = _windows(size, weight.shape, stride, padding, dilation, groups)
    return narrow(
        convolve_images_adjoint(wide(grad_output), wide(weight), windows, groups), grad_output
    )


@convolution_input_grad.gradient("grad_output")
def _(
    grad: Tensor, weight: Tensor, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    return convolution(grad, weight, stride, padding, dilation, groups)


@convolution_input_grad.gradient("weight")
def _(
    grad: Tensor,
    grad_output: Tensor,
    weight: TensorMeta,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Tensor:
    return convolution_weight_grad(
        grad_output, grad, weight.shape, stride, padding, dilation, groups
    )


@convolution_input_grad.sample
def _() -> Iterator[Sample]:
    one = (1, 1)
    yield sample(Arg((2, 4, 3, 5)), Arg((4, 3, 3, 2)), (2, 3, 5, 6), one, (0, 0), one, 1)
    yield sample(Arg((1, 2, 3, 5)), Arg((2, 2, 3, 3)), (1, 4, 6, 5), (2, 1), (1, 2), (1, 2), 2)
    yield bad(
        ShapeError,
        "shape of the result",
        Arg((1, 1, 2, 2)),
        Arg((1, 1, 1, 1)),
        (1, 1, 3, 3),
        one,
        (0, 0),
        one,
        1,
    )


def _weight_grad_meta(
    grad_output: TensorMeta,
    input: TensorMeta,
    weight_size: Shape,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> TensorMeta:
    windows = _windows(input.shape, weight_size, stride, padding, dilation, groups)
    _check_grad(grad_output, (input.shape[0], weight_size[0], *windows.output))
    return _common(grad_output, input, weight_size)


@structured(meta=_weight_grad_meta, public=False)
def convolution_weight_grad(
    grad_output: Array,
    input: Array,
    weight_size: Size,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Array:
    """The adjoint of `convolution` in the weight: products of gradients and the columns they met."""
    size = tuple(weight_size)
    _weight_grad_meta(meta_of(grad_output), meta_of(input), size, stride, padding, dilation, groups)
    windows = _windows(input.shape, size, stride, padding, dilation, groups)
    return narrow(
        convolve_weight_adjoint(wide(grad_output), wide(input), windows, groups), grad_output
    )


@convolution_weight_grad.gradient("grad_output")
def _(
    grad: Tensor, input: Tensor, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    return convolution(input, grad, stride, padding, dilation, groups)


@convolution_weight_grad.gradient("input")
def _(
    grad: Tensor,
    grad_output: Tensor,
    input: TensorMeta,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Tensor:
    return convolution_input_grad(grad_output, grad, input.shape, stride, padding, dilation, groups)


@convolution_weight_grad.sample
def _() -> Iterator[Sample]:
    one = (1, 1)
    yield sample(Arg((2, 4, 3, 5)), Arg((2, 3, 5, 6)), (4, 3, 3, 2), one, (0, 0), one, 1)
    yield sample(Arg((1, 2, 3, 5)), Arg((1, 4, 6, 5)), (2, 2, 3, 3), (2, 1), (1, 2), (1, 2), 2)


def _bilinear_tangent(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    """The product rule of all three: each operand's tangent in the operand's place."""
    del result
    total: Tensor | None = None
    for place, tangent in enumerate(tangents):
        if tangent is not None:
            part: Tensor = operator(*values[:place], tangent, *values[place + 1 :])
            total = part if total is None else total + part
    return total


for _operator in (convolution, convolution_input_grad, convolution_weight_grad):
    _operator.tangent(_bilinear_tangent)


@composite()
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: object = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """`convolution` of images (N, C, H, W) or (C, H, W), plus a bias for each output channel.

    ``padding`` is a number, a pair, ``"valid"`` (none) or ``"same"`` (the result has the images' size;
    the stride must be 1, and an odd total is padded more at the end).
    """
    if input.ndim == 3:
        unbatched = conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups)
        return unbatched.squeeze(0)
    if isinstance(padding, str):
        input, padding = _padded(input, weight, stride, padding, dilation)
    result = convolution(input, weight, stride, padding, dilation, groups)
    return result if bias is None else result + bias.reshape((-1, 1, 1))


def _padded(
    input: Tensor, weight: Tensor, stride: Pair, padding: str, dilation: Pair
) -> tuple[Tensor, Two]:
    """Turn a named padding into numbers; what is not the same on both sides is added to the images."""
    if padding == "valid":
        return input, (0, 0)
    if padding != "same":
        raise ArgumentValueError(f"conv2d: padding is 'same', 'valid' or numbers, not {padding!r}")
    if to_pair(stride) != (1, 1):
        raise ArgumentValueError(f"conv2d: padding='same' needs stride 1, got {stride}")
    total = [d * (k - 1) for d, k in zip(to_pair(dilation), weight.shape[2:], strict=True)]
    more = [each % 2 for each in total]
    if more != [0, 0]:
        input = tp.pad(input, (0, more[1], 0, more[0]))
    return input, (total[0] // 2, total[1] // 2)


@conv2d.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 5, 6)), Arg((4, 3, 3, 3)), Arg((4,)), 1, 1)
    yield sample(Arg((3, 5, 6)), Arg((4, 3, 3, 3)), None, 2)
    yield sample(Arg((1, 3, 5, 6)), Arg((4, 3, 2, 3)), Arg((4,)), padding="same")
    yield bad(ArgumentValueError, "stride 1", Arg((1, 1, 4, 4)), Arg((1, 1, 3, 3)), None, 2, "same")
    yield bad(DTypeError, "floating", Arg((1, 1, 4, 4), int64), Arg((1, 1, 3, 3), int64))
