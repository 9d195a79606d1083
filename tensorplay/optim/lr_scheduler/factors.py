"""Rates that are the base rate times a factor of the step."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from tensorplay.core.errors import ArgumentValueError
from tensorplay.optim.lr_scheduler.base import LRScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tensorplay.optim.optimizer import Optimizer

    Function: TypeAlias = Callable[[int], float]


def _functions(owner: str, given: Function | Sequence[Function], count: int) -> list[Function]:
    found = [given] * count if callable(given) else list(given)
    if len(found) != count:
        raise ArgumentValueError(
            f"{owner}: {count} groups need as many functions, found {len(found)}"
        )
    return found


class LambdaLR(LRScheduler):
    """The base rate times ``lr_lambda(step)``: one function, or one a group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Function | Sequence[Function],
        last_epoch: int = -1,
    ) -> None:
        """Take the functions."""
        count = len(optimizer.param_groups)
        self.lr_lambdas = _functions("LambdaLR", lr_lambda, count)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Call the functions."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class MultiplicativeLR(LRScheduler):
    """The rate times ``lr_lambda(step)`` at every step: one function, or one a group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Function | Sequence[Function],
        last_epoch: int = -1,
    ) -> None:
        """Take the functions."""
        count = len(optimizer.param_groups)
        self.lr_lambdas = _functions("MultiplicativeLR", lr_lambda, count)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Scale at every step but the one of the start."""
        if self._is_initial:
            return self.rates()
        pairs = zip(self.rates(), self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in pairs]


class StepLR(LRScheduler):
    """The rate times ``gamma`` every ``step_size`` steps."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        """Take the period and the factor."""
        if step_size < 1:
            raise ArgumentValueError(f"StepLR: step_size is at least 1, got {step_size}")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Scale at multiples of the period."""
        turn = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma if turn else 1.0)

    def closed_form(self) -> list[float]:
        """Scale as often as periods have passed."""
        power = self.gamma ** (self.last_epoch // self.step_size)
        return [base * power for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times ``gamma`` at each of the ``milestones``."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        """Take step numbers, which may repeat, and the factor."""
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Scale at milestones."""
        times: int = self.milestones[self.last_epoch]
        return self._scaled(math.pow(self.gamma, times))

    def closed_form(self) -> list[float]:
        """Scale as often as milestones have passed."""
        passed = sum(n for at, n in self.milestones.items() if at <= self.last_epoch)
        return [base * math.pow(self.gamma, passed) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times ``gamma`` at every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        """Take the factor."""
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Scale from step 1 on."""
        return self._scaled(self.gamma if self.last_epoch > 0 else 1.0)

    def closed_form(self) -> list[float]:
        """A power of the factor."""
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times ``factor`` for ``total_iters`` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        """Take the factor and the number of steps."""
        if not 0.0 < factor <= 1.0:
            raise ArgumentValueError(f"ConstantLR: factor is in (0, 1], got {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Scale at step 0, and back at the end."""
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor if self.last_epoch == self.total_iters else 1.0)

    def closed_form(self) -> list[float]:
        """The factor until the end."""
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """A factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` equal steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3.0,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        """Take the two factors and the number of steps between them."""
        if not 0.0 < start_factor <= 1.0:
            raise ArgumentValueError(f"LinearLR: start_factor is in (0, 1], got {start_factor}")
        if not 0.0 <= end_factor <= 1.0:
            raise ArgumentValueError(f"LinearLR: end_factor is in [0, 1], got {end_factor}")
        if total_iters < 1:
            raise ArgumentValueError(f"LinearLR: total_iters is at least 1, got {total_iters}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Scale by the ratio of the factor to the one before."""
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self.last_epoch > self.total_iters:
            return self._scaled(1.0)
        return self._scaled(self._factor(self.last_epoch) / self._factor(self.last_epoch - 1))

    def closed_form(self) -> list[float]:
        """The factor of the step."""
        factor = self._factor(min(self.last_epoch, self.total_iters))
        return [base * factor for base in self.base_lrs]

    def _factor(self, step: int) -> float:
        share = step / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share


class PolynomialLR(LRScheduler):
    """The base rate times ``(1 − step / total_iters) ** power``, zero from ``total_iters`` on."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        """Take the number of steps and the power."""
        if total_iters < 1:
            raise ArgumentValueError(f"PolynomialLR: total_iters is at least 1, got {total_iters}")
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Scale by the ratio of the factor to the one before."""
        step, total = self.last_epoch, self.total_iters
        if step == 0 or step > total:
            return self.rates()
        ratio = (1.0 - step / total) / (1.0 - (step - 1) / total)
        return self._scaled(ratio**self.power)

    def closed_form(self) -> list[float]:
        """The factor of the step."""
        factor = (1.0 - min(self.last_epoch, self.total_iters) / self.total_iters) ** self.power
        return [base * factor for base in self.base_lrs]
