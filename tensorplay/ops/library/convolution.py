"""Convolution of images of any number of dimensions, and its two adjoints.

``y = C(x, w)`` is linear in the images and in the weight. Its adjoints ``T(g, w)`` (in the images) and
``G(g, x)`` (in the weight) are linear in both arguments again, and the three are closed under
differentiation: ``⟨g, C(x, w)⟩ = ⟨T(g, w), x⟩ = ⟨G(g, x), w⟩``. The array functions are in `convolving`;
the functions that people call are in `nn_conv`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tensorplay.core.dtypes import bool_, complex128, float64, int64
from tensorplay.core.errors import ArgumentError, ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.batching import has_batch, with_batch
from tensorplay.ops.declare import structured
from tensorplay.ops.library.convolving import (
    convolve,
    convolve_images_adjoint,
    convolve_weight_adjoint,
)
from tensorplay.ops.library.windows import Array, Windows, make_windows, meta_of, narrow, wide
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Each, Role, Size

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

Shape: TypeAlias = tuple[int, ...]


def _windows(
    images: Shape, weight: Shape, stride: Each, padding: Each, dilation: Each, groups: int
) -> Windows:
    """Check shapes and return the windows of a convolution."""
    if len(images) != len(weight) or len(weight) < 3:
        raise ShapeError(
            "convolution: expected images (N, C, …) and a weight (O, C / groups, …) with as many "
            f"dimensions, at least 3, got shapes {tuple(images)} and {tuple(weight)}"
        )
    if groups < 1 or images[1] != weight[1] * groups or weight[0] % groups != 0 or weight[0] == 0:
        raise ShapeError(
            f"convolution: images of shape {tuple(images)} do not fit a weight of shape "
            f"{tuple(weight)} with groups={groups}: the weight reads {weight[1]} channels in each "
            f"group, and groups must divide its {weight[0]} output channels"
        )
    return make_windows("convolution", images[2:], weight[2:], stride, padding, dilation)


def _common(a: TensorMeta, b: TensorMeta, shape: Shape) -> TensorMeta:
    """Return the metadata of a result, of the one dtype of both operands."""
    if a.dtype is not b.dtype or a.dtype is bool_:
        raise DTypeError(
            "convolution: expected two tensors of one numeric dtype, "
            f"got {a.dtype} and {b.dtype}; convert one with .to(dtype)"
        )
    return TensorMeta(shape, a.dtype, a.device)


def _convolution_meta(
    input: TensorMeta, weight: TensorMeta, stride: Each, padding: Each, dilation: Each, groups: int
) -> TensorMeta:
    windows = _windows(input.shape, weight.shape, stride, padding, dilation, groups)
    return _common(input, weight, (input.shape[0], weight.shape[0], *windows.output))


@structured(meta=_convolution_meta, public=False)
def convolution(
    input: Array, weight: Array, stride: Each, padding: Each, dilation: Each, groups: int
) -> Array:
    """Cross-correlate images of any number of dimensions with kernels, without a bias.

    ``y[n, o, p] = Σ_c,k x[n, c, p·stride + k·dilation − padding] · w[o, c, k]``, where ``p`` and ``k`` have one
    index a spatial dimension, ``x`` is (N, C, …), ``w`` (O, C / groups, …), and each group of output
    channels reads its own group of input channels. Computed as a matrix product over the windows'
    columns (im2col).
    """
    windows = _windows(input.shape, weight.shape, stride, padding, dilation, groups)
    _common(meta_of(input), meta_of(weight), ())
    return narrow(convolve(wide(input), wide(weight), windows, groups), input)


@convolution.gradient("input")
def _(
    grad: Tensor,
    input: TensorMeta,
    weight: Tensor,
    stride: Each,
    padding: Each,
    dilation: Each,
    groups: int,
) -> Tensor:
    return convolution_input_grad(grad, weight, input.shape, stride, padding, dilation, groups)


@convolution.gradient("weight")
def _(
    grad: Tensor,
    input: Tensor,
    weight: TensorMeta,
    stride: Each,
    padding: Each,
    dilation: Each,
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
    yield sample(Arg((2, 0, 4, 4)), Arg((3, 0, 3, 3)), one, one, one, 1)
    yield sample(Arg((2, 4, 9)), Arg((6, 2, 3)), 2, 1, 2, 2)
    yield sample(Arg((1, 2, 4, 5, 4)), Arg((3, 2, 2, 3, 2)), (1, 2, 1), 1, (2, 1, 1), 1)
    yield sample(Arg((2, 3, 4, 4)), Arg((4, 3, 1, 1)), 1, 0, 1, 1)
    yield sample(Arg((1, 2, 4, 4), int64), Arg((3, 2, 3, 3), int64), 1, 0, 1, 1)
    yield sample(Arg((1, 2, 4), complex128), Arg((3, 2, 3), complex128), 1, 1, 1, 1)
    yield bad(ShapeError, "do not fit", Arg((1, 3, 5, 5)), Arg((4, 2, 3, 3)), one, none, one, 1)
    yield bad(ShapeError, "does not fit", Arg((1, 3, 2, 2)), Arg((4, 3, 3, 3)), one, none, one, 1)
    yield bad(
        DTypeError,
        "one numeric dtype",
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
    yield bad(
        ArgumentError,
        "1 integer|2, found",
        Arg((1, 1, 2, 2)),
        Arg((1, 1, 1, 1)),
        (1, 1, 1),
        0,
        1,
        1,
    )
    yield bad(ShapeError, "as many", Arg((1, 1, 2)), Arg((1, 1, 1, 1)), 1, 0, 1, 1)
    yield bad(ShapeError, "0 output channels", Arg((1, 1, 2)), Arg((0, 1, 1)), 1, 0, 1, 1)


def _input_grad_meta(
    grad_output: TensorMeta,
    weight: TensorMeta,
    input_size: Shape,
    stride: Each,
    padding: Each,
    dilation: Each,
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
    stride: Each,
    padding: Each,
    dilation: Each,
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
    grad: Tensor, weight: Tensor, stride: Each, padding: Each, dilation: Each, groups: int
) -> Tensor:
    return convolution(grad, weight, stride, padding, dilation, groups)


@convolution_input_grad.gradient("weight")
def _(
    grad: Tensor,
    grad_output: Tensor,
    weight: TensorMeta,
    stride: Each,
    padding: Each,
    dilation: Each,
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
    yield sample(Arg((2, 4, 3)), Arg((4, 2, 1)), (2, 2, 3), 1, 0, 1, 1)
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
    stride: Each,
    padding: Each,
    dilation: Each,
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
    stride: Each,
    padding: Each,
    dilation: Each,
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
    grad: Tensor, input: Tensor, stride: Each, padding: Each, dilation: Each, groups: int
) -> Tensor:
    return convolution(input, grad, stride, padding, dilation, groups)


@convolution_weight_grad.gradient("input")
def _(
    grad: Tensor,
    grad_output: Tensor,
    input: TensorMeta,
    stride: Each,
    padding: Each,
    dilation: Each,
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


def _batching(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """A batch of weights is more groups, a batch of images alone is more images."""
    first, second, first_meta, second_meta, groups = (
        cast("Any", each) for each in (*values[:2], *metas[:2], values[-1])
    )
    sizes: list[Any] = [
        v
        for v, p in zip(values[2:], operator.signature.parameters[2:], strict=True)
        if p.role is Role.SIZE
    ]
    rest = values[2 + len(sizes) : -1]
    is_weight_grad = operator is convolution_weight_grad
    if not is_weight_grad and not has_batch(second, second_meta):
        more = [(size * each[0], *each[1:]) for each in sizes]
        found = operator(first.flatten(0, 1), second, *more, *rest, groups)
        return found.unflatten(0, (size, -1))
    first = _channels(with_batch(first, first_meta, size))
    second = with_batch(second, second_meta, size)
    second = _channels(second) if is_weight_grad else second.flatten(0, 1)
    if is_weight_grad:
        more = [(size * each[0], *each[1:]) for each in sizes]
    else:
        more = [(each[0], size * each[1], *each[2:]) for each in sizes]
    found = operator(first, second, *more, *rest, size * groups)
    return (
        found.unflatten(0, (size, -1))
        if is_weight_grad
        else found.unflatten(1, (size, -1)).movedim(1, 0)
    )


def _channels(images: Tensor) -> Tensor:
    """``(B, N, C, …)`` as ``(N, B·C, …)``."""
    return images.movedim(0, 1).flatten(1, 2)


for _operator in (convolution, convolution_input_grad, convolution_weight_grad):
    _operator.tangent(_bilinear_tangent)
    _operator.batching(_batching)
