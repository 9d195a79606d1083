"""A rate that falls when progress stops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.optim.lr_scheduler.base import LRScheduler, spread
from tensorplay.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.tensor import Tensor


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor`` when a figure has not become better for more than ``patience`` steps.

    ``step(metrics)`` takes the figure, which should fall (``mode="min"``) or rise (``"max"``). It is better if it passes
    the best so far by ``threshold``: a share of it (``threshold_mode="rel"``) or an amount (``"abs"``). After a change,
    ``cooldown`` steps do not count. Rates do not fall below ``min_lr``, nor by less than ``eps``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        """Take the settings above."""
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(
                f"ReduceLROnPlateau: expected an optimizer, found {type(optimizer).__name__}"
            )
        if factor >= 1.0:
            raise ArgumentValueError(f"ReduceLROnPlateau: factor is below 1, got {factor}")
        if mode not in {"min", "max"} or threshold_mode not in {"rel", "abs"}:
            raise ArgumentValueError(
                "ReduceLROnPlateau: mode is 'min' or 'max', threshold_mode 'rel' or 'abs', "
                f"got {mode!r} and {threshold_mode!r}"
            )
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.min_lrs = spread("ReduceLROnPlateau", "min_lr", min_lr, len(optimizer.param_groups))
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self.rates()
        self._reset()

    def _reset(self) -> None:
        """Forget the figures seen so far."""
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether the last change is so near that steps do not count."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Say whether a figure is better than the best so far."""
        sign = 1.0 if self.mode == "min" else -1.0
        if self.threshold_mode == "rel":
            return sign * a < sign * best * (1.0 - sign * self.threshold)
        return sign * a < sign * best - self.threshold

    def step(self, metrics: float | Tensor, epoch: int | None = None) -> None:  # type: ignore[override]  # it is the figure that counts
        """Take the figure of a step."""
        figure = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(figure, self.best):
            self.best = figure
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        rates = self.rates()
        if self.num_bad_epochs > self.patience:
            pairs = zip(rates, self.min_lrs, strict=True)
            lower = [max(rate * self.factor, least) for rate, least in pairs]
            pairs = zip(rates, lower, strict=True)
            rates = [new if old - new > self.eps else old for old, new in pairs]
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._set(rates)

    def state_dict(self) -> dict[str, Any]:
        """Return all but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}
