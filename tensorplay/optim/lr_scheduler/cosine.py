"""Rates along a cosine (Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentValueError
from tensorplay.optim.lr_scheduler.base import LRScheduler

if TYPE_CHECKING:
    from tensorplay.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the base rate to ``eta_min`` in ``T_max`` steps, and back again: no restarts.

    ``eta_min + (base - eta_min) * (1 + cos(pi * step / T_max)) / 2``.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        """Take half the period and the lowest rate."""
        if T_max < 1:
            raise ArgumentValueError(f"CosineAnnealingLR: T_max is at least 1, got {T_max}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Go on from the present rates by the ratio of the cosine to the one before."""
        step, half = self.last_epoch, self.T_max
        if step == 0:
            return self.rates()
        if (step - 1 - half) % (
            2 * half
        ) == 0:  # the ratio would divide by zero: start anew from eta_min
            rise = (1.0 - math.cos(math.pi / half)) / 2.0
            pairs = zip(self.rates(), self.base_lrs, strict=True)
            return [rate + (base - self.eta_min) * rise for rate, base in pairs]
        now, before = (1.0 + math.cos(math.pi * k / half) for k in (step, step - 1))
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self.rates()]

    def closed_form(self) -> list[float]:
        """Evaluate the formula."""
        share = (1.0 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2.0
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the base rate to ``eta_min`` in ``T_0`` steps, then from the base rate anew in ``T_mult`` times as many.

    `step` also takes the number of the epoch, which may have a fraction: then rates change within epochs.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        """Take the first period, its growth and the lowest rate."""
        if T_0 < 1 or T_mult < 1:
            raise ArgumentValueError(
                f"CosineAnnealingWarmRestarts: T_0 and T_mult are at least 1, got {T_0} and {T_mult}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Evaluate the formula at ``T_cur`` steps after the last restart."""
        share = (1.0 + math.cos(math.pi * self.T_cur / self.T_i)) / 2.0
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next step, or to an epoch."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ArgumentValueError(
                    f"CosineAnnealingWarmRestarts: an epoch is at least 0, got {epoch}"
                )
            self.T_cur, self.T_i = epoch, self.T_0
            if self.T_mult == 1:
                self.T_cur = epoch % self.T_0
            else:
                while self.T_cur >= self.T_i:
                    self.T_cur -= self.T_i
                    self.T_i *= self.T_mult
            self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())
