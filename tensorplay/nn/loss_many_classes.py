"""Losses of many classes as modules that have their own last layer: whole, or in clusters by frequency.

>>> import tensorplay as tp
>>> tp.nn.LinearCrossEntropyLoss(4, 10)(tp.zeros(2, 4), tp.tensor([3, 7]))
tensor(2.3026, grad_fn=<DivBackward>)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tensorplay.core.errors import ArgumentValueError, IndexRangeError, ShapeError
from tensorplay.functions import cat, where
from tensorplay.nn import functional
from tensorplay.nn.container import ModuleList, Sequential
from tensorplay.nn.linear import Linear
from tensorplay.nn.loss import Loss
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.nn.functional import LinearCrossEntropyOptions, Reduction
    from tensorplay.tensor import Tensor


class LinearCrossEntropyLoss(Loss):
    """`CrossEntropyLoss` of a `Linear` layer ``linear`` from ``in_features`` to classes: see `nn.functional.linear_cross_entropy`.

    With ``out_features`` there are that many predictions for each row: ``(N, in_features)`` and classes
    ``(N, *out_features)``.
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        reduction: Reduction = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(reduction=reduction)
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.register_buffer("weight", weight)
        count = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, count, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Take inputs ``(N, in_features)`` and classes ``(N)`` or probabilities ``(N, num_classes)``."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """The sizes and settings."""
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class AdaptiveLogSoftmaxOutput(NamedTuple):
    """What `AdaptiveLogSoftmaxWithLoss` returns."""

    output: Tensor
    """The log-probability of each target."""
    loss: Tensor
    """The mean of their negatives."""


class AdaptiveLogSoftmaxWithLoss(Module):
    """An approximate softmax over many classes, those numbered first being frequent (Grave et al. 2017).

    Classes below ``cutoffs[0]`` are decided by the ``head``, with the clusters ``cutoffs[i] … cutoffs[i + 1]`` of
    the others; then the ``tail`` of a cluster decides by ``in_features // div_value^(i + 1)`` features. Only the
    tails of clusters that targets belong to are computed, so calls depend on data: `tp.compile` refuses them.

    >>> import tensorplay as tp
    >>> loss = tp.nn.AdaptiveLogSoftmaxWithLoss(16, 100, cutoffs=[10, 40])
    >>> loss(tp.zeros(3, 16), tp.tensor([1, 20, 99])).output.shape
    (3,)
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        ends = [*cutoffs, n_classes]
        if not cutoffs or any(
            int(a) != a or not 0 < a < b for a, b in zip(cutoffs, ends[1:], strict=True)
        ):
            raise ArgumentValueError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs are whole numbers from 1 to n_classes - 1 in ascending "
                f"order, got {list(cutoffs)} for {n_classes} classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = ends
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = ends[0]
        self.n_clusters = len(ends) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(self._clusters()):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, False, device, dtype),
                    Linear(hidden, high - low, False, device, dtype),
                )
            )

    def _clusters(self) -> list[tuple[int, int]]:
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> AdaptiveLogSoftmaxOutput:
        """Take inputs ``(N, in_features)`` and classes ``(N)``, or one of each."""
        if target.ndim not in {0, 1} or tuple(input.shape) != (*target.shape, self.in_features):
            raise ShapeError(
                f"AdaptiveLogSoftmaxWithLoss: expected inputs (N, {self.in_features}) and classes (N), or one of "
                f"each, got shapes {tuple(input.shape)} and {tuple(target.shape)}"
            )
        rows, classes = (
            (input, target) if target.ndim else (input.unsqueeze(0), target.unsqueeze(0))
        )
        if bool(((classes < 0) | (classes >= self.n_classes)).any()):
            raise IndexRangeError(
                f"AdaptiveLogSoftmaxWithLoss: classes lie in [0, {self.n_classes - 1}], got values from "
                f"{classes.min().item()} to {classes.max().item()}"
            )
        place = classes
        for i, (low, high) in enumerate(self._clusters()):
            place = where((classes >= low) & (classes < high), self.shortlist_size + i, place)
        output = functional.log_softmax(self.head(rows), 1).gather(1, place.unsqueeze(1)).squeeze(1)
        for i, (low, high) in enumerate(self._clusters()):
            inside = ((classes >= low) & (classes < high)).nonzero().squeeze(1)
            if len(inside):
                logs = functional.log_softmax(self.tail[i](rows[inside]), 1)
                found = logs.gather(1, (classes[inside] - low).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, inside, found)
        loss = -output.mean()
        return AdaptiveLogSoftmaxOutput(output if target.ndim else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, ``(N, in_features) → (N, n_classes)``."""
        head = functional.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(functional.log_softmax(tail(input), 1) + cluster)
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The class of the highest probability in each row; tails are computed only for rows that need them."""
        found: Tensor = self.head(input).argmax(1)
        unsure = (found >= self.shortlist_size).nonzero().squeeze(1)
        if len(unsure):
            found = found.index_copy(0, unsure, self.log_prob(input[unsure]).argmax(1))
        return found
