"""The convolutions that people call, over images of one, two and three dimensions, and the transposed ones.

All are compositions of `convolution` or of its adjoint in the images, a bias, and padding. The three of a family differ in the
number of spatial dimensions only, so one declaration makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import float64, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.convolution import convolution, convolution_input_grad
from tensorplay.ops.library.windows import each
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Each

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

Padding = int | tuple[int, ...]

CONV = """Cross-correlate images ``(N, C, {sizes})`` or ``(C, {sizes})`` with kernels, and add a bias.

    ``y[n, o, p] = bias[o] + Σ_c,k x[n, c, p·stride + k·dilation − padding] · weight[o, c, k]``, where ``p`` and ``k``
    have {ndim} spatial index(es). ``weight`` is ``(O, C / groups, {kernel})``, and each group of output channels
    reads its own group of input channels. ``padding`` is numbers (zeros on both sides), ``"valid"``
    (none) or ``"same"`` (the result has the images' size; the stride must be 1, and an odd total is
    padded more at the end). ``stride``, ``padding`` and ``dilation`` are one number or one a dimension. A spatial size
    ``n`` becomes ``⌊(n + 2·padding − dilation·(kernel − 1) − 1) / stride⌋ + 1``. Half types compute in float32.

    >>> tp.nn.functional.conv{ndim}d(tp.ones(1, 2, {ones}), tp.ones(1, 2, {twos})).flatten()
    tensor([{found}])
    """


def _declare_conv(ndim: int) -> Operator:
    name = f"conv{ndim}d"

    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Each = 1,
        padding: object = 0,
        dilation: Each = 1,
        groups: int = 1,
    ) -> Tensor:
        images = _batched(name, input, weight, ndim)
        _check_bias(name, bias, weight.shape[0])
        if bias is not None and bias.dtype is not input.dtype:
            raise DTypeError(
                f"{name}: expected a bias of the images' dtype {input.dtype}, got {bias.dtype}"
            )
        if isinstance(padding, str):
            images, padding = _named_padding(name, images, weight, stride, padding, dilation)
        result = convolution(images, weight, stride, padding, dilation, groups)
        return _finished(result, bias, input)

    conv.__doc__ = _documented(CONV, ndim, ", ".join([f"{2 ** (ndim + 1)}."] * 2**ndim))
    return composite(name=name)(conv)


CONV_TRANSPOSE = """The adjoint of `conv{ndim}d` in its images, applied to images ``(N, C, {sizes})`` or ``(C, {sizes})``, plus a bias.

    Each element of the images adds a multiple of the kernel to the result, ``stride`` apart. ``weight`` is
    ``(C, O / groups, {kernel})``. A spatial size ``n`` becomes
    ``(n − 1)·stride − 2·padding + dilation·(kernel − 1) + output_padding + 1``: ``output_padding``, less than the
    stride or the dilation, chooses among the sizes that the convolution would reduce to ``n``.

    >>> tp.nn.functional.conv_transpose{ndim}d(tp.ones(1, 1, {ones}), tp.ones(1, 1, {twos}), stride=2).shape
    (1, 1, {grown})
    """


def _declare_conv_transpose(ndim: int) -> Operator:
    name = f"conv_transpose{ndim}d"

    def conv_transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Each = 1,
        padding: Each = 0,
        output_padding: Each = 0,
        groups: int = 1,
        dilation: Each = 1,
    ) -> Tensor:
        images = _batched(name, input, weight, ndim)
        if groups < 1 or images.shape[1] != weight.shape[0] or weight.shape[0] % groups != 0:
            raise ShapeError(
                f"{name}: images of shape {tuple(input.shape)} do not fit a weight of shape "
                f"{tuple(weight.shape)} with groups={groups}: the weight reads {weight.shape[0]} "
                "channels, which groups must divide"
            )
        _check_bias(name, bias, weight.shape[1] * groups)
        s, p = each(name, "stride", stride, ndim), each(name, "padding", padding, ndim)
        d, more = (
            each(name, "dilation", dilation, ndim),
            each(name, "output_padding", output_padding, ndim),
        )
        if any(m < 0 or m >= max(a, b) for m, a, b in zip(more, s, d, strict=True)):
            raise ArgumentValueError(
                f"{name}: output_padding is at least 0 and less than stride or dilation, got "
                f"{more} with stride {s} and dilation {d}"
            )
        full = tuple(
            (n - 1) * a + b * (k - 1) + 1
            for n, a, b, k in zip(images.shape[2:], s, d, weight.shape[2:], strict=True)
        )
        size = tuple(f - 2 * q + m for f, q, m in zip(full, p, more, strict=True))
        if any(each < 1 for each in size):
            raise ShapeError(
                f"{name}: padding {p} leaves nothing of images of shape {tuple(input.shape)}: "
                f"the result would have the size {size}"
            )
        lead = (images.shape[0], weight.shape[1] * groups)
        if all(m < a for m, a in zip(more, s, strict=True)):
            result = convolution_input_grad(images, weight, (*lead, *size), s, p, d, groups)
        else:  # a longer result than any that the convolution reads
            result = convolution_input_grad(images, weight, (*lead, *full), s, 0, d, groups)
            ends = [(-q, m - q) for q, m in zip(p, more, strict=True)]
            result = tp.pad(result, [end for pair in reversed(ends) for end in pair])
        return _finished(result, bias, input)

    conv_transpose.__doc__ = _documented(CONV_TRANSPOSE, ndim, "")
    return composite(name=name)(conv_transpose)


def _documented(text: str, ndim: int, found: str) -> str:
    sizes, kernel = ("D", "H", "W")[-ndim:] if ndim > 1 else ("L",), ("kd", "kh", "kw")[-ndim:]
    return text.format(
        ndim=ndim, sizes=", ".join(sizes), kernel=", ".join(kernel), ones=", ".join("3" * ndim),
        twos=", ".join("2" * ndim), grown=", ".join("6" * ndim), found=found,
    )  # fmt: skip


def _batched(name: str, input: Tensor, weight: Tensor, ndim: int) -> Tensor:
    """The images with a batch dimension."""
    if input.ndim not in {ndim + 1, ndim + 2} or weight.ndim != ndim + 2:
        raise ShapeError(
            f"{name}: expected images of {ndim + 1} (unbatched) or {ndim + 2} dimensions and a weight of "
            f"{ndim + 2}, got shapes {tuple(input.shape)} and {tuple(weight.shape)}"
        )
    return input if input.ndim == ndim + 2 else input.unsqueeze(0)


def _check_bias(name: str, bias: Tensor | None, channels: int) -> None:
    if bias is not None and tuple(bias.shape) != (channels,):
        raise ShapeError(
            f"{name}: expected a bias of shape ({channels},), one number an output channel, "
            f"got {tuple(bias.shape)}"
        )


def _finished(result: Tensor, bias: Tensor | None, input: Tensor) -> Tensor:
    """Add the bias; without a batch dimension where the images had none."""
    if bias is not None:
        result = result + bias.reshape((-1, *[1] * (result.ndim - 2)))
    return result if input.ndim == result.ndim else result.squeeze(0)


def _named_padding(
    name: str, images: Tensor, weight: Tensor, stride: Each, padding: str, dilation: Each
) -> tuple[Tensor, Padding]:
    """Turn a named padding into numbers; what is not the same on both sides is added to the images."""
    ndim = images.ndim - 2
    if padding == "valid":
        return images, 0
    if padding != "same":
        raise ArgumentValueError(f"{name}: padding is 'same', 'valid' or numbers, not {padding!r}")
    if any(step != 1 for step in each(name, "stride", stride, ndim)):
        raise ArgumentValueError(f"{name}: padding='same' needs stride 1, got {stride}")
    steps = each(name, "dilation", dilation, ndim)
    total = [d * (k - 1) for d, k in zip(steps, weight.shape[2:], strict=True)]
    if any(count % 2 for count in total):
        images = tp.pad(images, [end for count in reversed(total) for end in (0, count % 2)])
    return images, tuple(count // 2 for count in total)


conv1d, conv2d, conv3d = (_declare_conv(ndim) for ndim in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (
    _declare_conv_transpose(ndim) for ndim in (1, 2, 3)
)


# ---- samples --------------------------------------------------------------------------------------


def _conv_samples(ndim: int) -> Callable[[], Iterator[Sample]]:
    images, kernel = (5, 6, 4)[-ndim:], (3, 3, 2)[-ndim:]

    def samples() -> Iterator[Sample]:
        yield sample(Arg((2, 3, *images)), Arg((4, 3, *kernel)), Arg((4,)), 1, 1)
        yield sample(Arg((3, *images)), Arg((4, 3, *kernel)), None, 2)
        yield sample(Arg((1, 4, *images)), Arg((4, 2, *kernel)), Arg((4,)), 1, "same", 2, 2)
        yield sample(Arg((2, 2, *images)), Arg((2, 1, *kernel)), padding="valid", groups=2)
        yield bad(
            ArgumentValueError,
            "stride 1",
            Arg((1, 1, *images)),
            Arg((1, 1, *kernel)),
            None,
            2,
            "same",
        )
        yield bad(
            ArgumentValueError,
            "'full'",
            Arg((1, 1, *images)),
            Arg((1, 1, *kernel)),
            None,
            1,
            "full",
        )
        yield bad(DTypeError, "numeric", Arg((1, 1, *images), int64), Arg((1, 1, *kernel)))
        yield bad(ShapeError, "expected images of", Arg((*images,)), Arg((1, 1, *kernel)))
        yield bad(
            ShapeError, "bias of shape", Arg((1, 1, *images)), Arg((2, 1, *kernel)), Arg((3,))
        )
        yield bad(
            DTypeError,
            "bias of the images' dtype",
            Arg((1, 1, *images)),
            Arg((2, 1, *kernel)),
            Arg((2,), float64),
        )

    return samples


def _conv_transpose_samples(ndim: int) -> Callable[[], Iterator[Sample]]:
    images, kernel = (3, 4, 2)[-ndim:], (2, 3, 3)[-ndim:]

    def samples() -> Iterator[Sample]:
        yield sample(Arg((2, 3, *images)), Arg((3, 2, *kernel)), Arg((2,)), 2, 1, 1)
        yield sample(Arg((4, *images)), Arg((4, 2, *kernel)), Arg((4,)), 1, 0, 0, 2, 2)
        yield sample(Arg((1, 2, *images)), Arg((2, 1, *kernel)), None, 1, 1, 1, dilation=2)
        yield bad(
            ArgumentValueError,
            "output_padding",
            Arg((1, 1, *images)),
            Arg((1, 1, *kernel)),
            None,
            2,
            0,
            2,
        )
        yield bad(ShapeError, "do not fit", Arg((1, 2, *images)), Arg((3, 1, *kernel)))
        yield bad(
            ShapeError, "leaves nothing", Arg((1, 1, *images)), Arg((1, 1, *kernel)), None, 1, 9
        )
        yield bad(
            ShapeError, "bias of shape", Arg((1, 2, *images)), Arg((2, 1, *kernel)), Arg((2,))
        )

    return samples


for _ndim, _conv, _transposed in (
    (1, conv1d, conv_transpose1d),
    (2, conv2d, conv_transpose2d),
    (3, conv3d, conv_transpose3d),
):
    _conv.sample(_conv_samples(_ndim))
    _transposed.sample(_conv_transpose_samples(_ndim))
