"""Averages of a model over training: stochastic weight averaging, exponential moving averages.

>>> import tensorplay as tp
>>> from tensorplay.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
>>> model = tp.nn.Linear(1, 1, bias=False)
>>> ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
>>> for value in (1.0, 2.0):
...     _ = tp.nn.init.constant_(model.weight, value)
...     ema.update_parameters(model)
>>> round(ema.module.weight.item(), 6)
1.1
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tensorplay.autograd import no_grad
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.functions import tensor
from tensorplay.nn.module import Module
from tensorplay.optim.lr_scheduler import LRScheduler
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tensorplay.core.device import Device
    from tensorplay.optim.optimizer import Optimizer

Average: TypeAlias = "Callable[[Tensor, Tensor, Tensor | int], Tensor]"
"""(average so far, model's value, how many were averaged) to the new average."""
Averages: TypeAlias = "Callable[[list[Tensor], list[Tensor], Tensor | int], None]"
"""The same for lists, in place."""


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """``a ← decay·a + (1 − decay)·p``: an exponential moving average; integers are truncated."""
    _check_decay(decay)

    def update(averages: list[Tensor], current: list[Tensor], count: Tensor | int) -> None:
        del count
        with no_grad():
            for average, value in zip(averages, current, strict=True):
                average.copy_((average * decay + value * (1.0 - decay)).to(average.dtype))

    return update


def get_swa_multi_avg_fn() -> Averages:
    """``a ← a + (p − a)/(n + 1)``: the mean of all; integers are truncated."""

    def update(averages: list[Tensor], current: list[Tensor], count: Tensor | int) -> None:
        with no_grad():
            for average, value in zip(averages, current, strict=True):
                average.copy_((average + (value - average) / (count + 1)).to(average.dtype))

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """``decay·a + (1 − decay)·p``."""
    _check_decay(decay)

    def average(so_far: Tensor, current: Tensor, count: Tensor | int) -> Tensor:
        del count
        return decay * so_far + (1.0 - decay) * current

    return average


def get_swa_avg_fn() -> Average:
    """``a + (p − a)/(n + 1)``."""

    def average(so_far: Tensor, current: Tensor, count: Tensor | int) -> Tensor:
        return so_far + (current - so_far) / (count + 1)

    return average


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ArgumentValueError(f"the decay of a moving average lies in [0, 1], got {decay}")


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's (Izmailov et al., UAI 2018).

    ``avg_fn`` averages one tensor, ``multi_avg_fn`` all in place; the default is the mean of all. The first
    `update_parameters` copies. ``use_buffers`` averages buffers too, otherwise they are copied. The state has the count
    ``n_averaged`` and the copy under ``module``.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device | str | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("AveragedModel: give avg_fn or multi_avg_fn, not both")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=dtypes.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the model
        """Compute with the averages."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Average the model's present parameters in."""
        averages: list[Tensor] = [p.detach() for p in self.module.parameters()]
        current: list[Tensor] = [p.detach() for p in model.parameters()]
        if self.use_buffers:
            averages += list(self.module.buffers())
            current += list(model.buffers())
        with no_grad():
            if self.n_averaged.item() == 0:
                for average, value in zip(averages, current, strict=True):
                    average.copy_(value)
            elif self.avg_fn is not None:
                for average, value in zip(averages, current, strict=True):
                    average.copy_(self.avg_fn(average, value, self.n_averaged))
            else:
                (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, current, self.n_averaged)
            if not self.use_buffers:
                for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                    own.copy_(other)
            self.n_averaged.add_(1)


def update_bn(loader: Iterable[Any], model: Module, device: Device | str | None = None) -> None:
    """Compute the running statistics of all batch normalizations anew, over the inputs of a loader.

    A batch is an input, or a tuple or list that starts with it.
    """
    norms = [
        module
        for module in model.modules()
        if {"running_mean", "num_batches_tracked", "momentum"} <= set(dir(module))
    ]
    momenta = [module.momentum for module in norms]
    if not norms:
        return
    was_training = model.training
    model.train()
    for module in norms:
        module.momentum = None
        if module.running_mean is not None:
            module.running_mean.fill_(0.0)
            module.running_var.fill_(1.0)
            module.num_batches_tracked.fill_(0)
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (tuple, list)) else batch
            model(x if device is None else x.to(device))
    for module, momentum in zip(norms, momenta, strict=True):
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Go from the present rate to ``swa_lr`` in ``anneal_epochs`` steps, by a cosine or linearly, and stay there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        """Take the last rate, one for all groups or one for each, and the way there."""
        if anneal_strategy not in {"cos", "linear"}:
            raise ArgumentValueError(
                f"SWALR: anneal_strategy is 'cos' or 'linear', got {anneal_strategy!r}"
            )
        if anneal_epochs < 0:
            raise ArgumentValueError(f"SWALR: anneal_epochs is at least 0, got {anneal_epochs}")
        count = len(optimizer.param_groups)
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * count
        if len(rates) != count:
            raise ArgumentValueError(
                f"SWALR: {count} groups need as many rates, found {len(rates)}"
            )
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        self.anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How far the way is gone, from 0 to 1."""
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1.0 - math.cos(math.pi * part)) / 2.0 if self.anneal_strategy == "cos" else part

    def get_lr(self) -> list[float]:
        """Find from the present rate where the way started, and go on.

        With a the share that was gone, ``rate = a·swa_lr + (1 − a)·start``.
        """
        step = self.last_epoch if self.anneal_epochs else max(1, self.last_epoch)
        before, now = self._share(max(0, step - 1)), self._share(step)
        found = []
        for rate, group in zip(self.rates(), self.optimizer.param_groups, strict=True):
            last = group["swa_lr"]
            start = last if before == 1.0 else (rate - before * last) / (1.0 - before)
            found.append(last * now + start * (1.0 - now))
        return found


__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]
