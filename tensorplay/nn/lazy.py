"""Layers that learn the size of their input from the first one: then they become ordinary layers.

>>> import tensorplay as tp
>>> layer = tp.nn.LazyLinear(3)
>>> layer.weight
<UninitializedParameter>
>>> layer(tp.ones(2, 5)).shape, layer
((2, 3), Linear(in_features=5, out_features=3, bias=True))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentValueError
from tensorplay.nn.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    ChannelNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from tensorplay.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvNd,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Each,
    PaddingMode,
)
from tensorplay.nn.hooks import remove_forward_pre_hook
from tensorplay.nn.linear import Linear
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import (
    Uninitialized,
    UninitializedBuffer,
    UninitializedParameter,
    is_lazy,
)

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class LazyModuleMixin(Module):
    """A module with parameters that have no shape until its first call.

    Subclasses say in ``initialize_parameters`` how to give them one, and in ``cls_to_become`` what they
    are then. Parameters keep their identity, but an optimizer needs their shapes: make it after a call.
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def wait_for_input(self) -> None:
        """Initialize before the first call. Subclasses call it in their constructor."""
        self.register_forward_pre_hook(_initialize, with_kwargs=True)

    def has_uninitialized_params(self) -> bool:
        """Whether there is a parameter or buffer without a shape."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # as forward
        """Give every parameter its shape, from the arguments of a call."""
        del args, kwargs
        raise NotImplementedError(f"{type(self).__name__} defines no initialize_parameters")


def _initialize(module: LazyModuleMixin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise ArgumentValueError(
            f"{type(module).__name__}.initialize_parameters left parameters without a shape"
        )
    remove_forward_pre_hook(module, _initialize)
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become  # type: ignore[assignment]  # no longer lazy


def _materialize(tensor: Tensor | None, *shape: int) -> None:
    if isinstance(tensor, Uninitialized):
        tensor.materialize(shape)


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes ``in_features`` from its first input."""

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        self.wait_for_input()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, where there are any."""
        if not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """The last dimension has the features."""
        if not self.has_uninitialized_params():
            self.in_features = self.weight.shape[1]
            return
        self.in_features = input.shape[-1]
        _materialize(self.weight, self.out_features, self.in_features)
        _materialize(self.bias, self.out_features)
        self.reset_parameters()


class _LazyConvNd(LazyModuleMixin, ConvNd):
    """A convolution that takes ``in_channels`` from its first input."""

    def _wait(self, bias: bool, device: Device | str | None, dtype: DType | None) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        self.wait_for_input()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, where there are any."""
        if not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *more: object) -> None:
        """The dimension before the spatial ones has the channels."""
        del more
        if not self.has_uninitialized_params():
            first = self.weight.shape[0 if self.transposed else 1]
            self.in_channels = first if self.transposed else first * self.groups
            return
        if input.ndim not in {self.ndim + 1, self.ndim + 2}:
            raise ArgumentValueError(
                f"{type(self).__name__} expects {self.ndim + 1} (unbatched) or {self.ndim + 2} dimensions, "
                f"got shape {tuple(input.shape)}"
            )
        self.in_channels = input.shape[-self.ndim - 1]
        if self.in_channels % self.groups:
            raise ArgumentValueError(
                f"groups={self.groups} must divide in_channels={self.in_channels}"
            )
        _materialize(self.weight, *self.weight_shape())
        _materialize(self.bias, self.out_channels)
        self.reset_parameters()


class _LazyConvolution(_LazyConvNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Each,
        stride: Each = 1,
        padding: Each | Literal["same", "valid"] = 0,
        dilation: Each = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        ConvNd.__init__(
            self, 0, out_channels, kernel_size, stride, padding, dilation, 0, groups, False,
            padding_mode, device, dtype,
        )  # fmt: skip
        self._wait(bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """A `Conv1d` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """A `Conv2d` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """A `Conv3d` that takes ``in_channels`` from its first input."""

    cls_to_become = Conv3d


class _LazyTransposed(_LazyConvNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Each,
        stride: Each = 1,
        padding: Each = 0,
        output_padding: Each = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Each = 1,
        padding_mode: PaddingMode = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        ConvNd.__init__(
            self, 0, out_channels, kernel_size, stride, padding, dilation, output_padding, groups,
            False, padding_mode, device, dtype,
        )  # fmt: skip
        self._wait(bias, device, dtype)


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A `ConvTranspose3d` that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, ChannelNorm):
    """A normalization that takes ``num_features`` from its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        ChannelNorm.__init__(self, 0, eps, momentum, affine, track_running_stats, device, dtype)
        for name in ("weight", "bias"):
            if affine and (bias or name == "weight"):
                setattr(self, name, UninitializedParameter(device=device, dtype=dtype))
            else:
                self.register_parameter(name, None)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
        self.wait_for_input()

    def reset_parameters(self) -> None:
        """Start anew, where there is anything."""
        if not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """The dimension behind that of the batch has the channels."""
        tensors = (self.weight, self.bias, self.running_mean, self.running_var)
        if not self.has_uninitialized_params():
            self.num_features = next((len(x) for x in tensors if x is not None), input.shape[1])
            return
        self.check_rank(input)
        single = self.has_single_samples and input.ndim == min(self.ranks)
        self.num_features = input.shape[0 if single else 1]
        with no_grad():
            for each in tensors:
                _materialize(each, self.num_features)
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` that takes ``num_features`` from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` that takes ``num_features`` from its first input."""

    cls_to_become = InstanceNorm3d
