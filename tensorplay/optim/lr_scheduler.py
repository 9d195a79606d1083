"""Learning rates that change from step to step.

A scheduler sets ``lr`` of the optimizer's groups when it is made, and anew at each `step`: after
each epoch, or after each step of the optimizer. The rate is a function of the number of steps, of
the group's rate before, so rates may also be changed by hand in between.

>>> import tensorplay as tp
>>> opt = tp.optim.SGD([tp.nn.Parameter(tp.ones(1))], lr=1.0)
>>> scheduler = tp.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
>>> rates = []
>>> for _ in range(5):
...     rates.append(scheduler.get_last_lr()[0])
...     opt.step()
...     scheduler.step()
>>> rates
[1.0, 1.0, 0.5, 0.5, 0.25]
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tensorplay.autograd import no_grad
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.functions import tensor
from tensorplay.optim.optimizer import Optimizer
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class LRScheduler:
    """The base class: a subclass says by `get_lr` what the rates are at step ``last_epoch``."""

    def __init__(self, optimizer: Optimizer) -> None:
        """Take the optimizer's rates as the base rates, and set those of step 0."""
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(
                f"{type(self).__name__}: expected an optimizer, found {type(optimizer).__name__}"
            )
        self.optimizer = optimizer
        self.base_lrs = [_number(group["lr"]) for group in optimizer.param_groups]
        self.last_epoch = -1
        self.step()

    def get_lr(self) -> list[float]:
        """Compute the rates of the groups at step ``last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr()")

    def get_last_lr(self) -> list[float]:
        """Return the rates that were set last."""
        return self._last_lr

    def step(self) -> None:
        """Go on to the next step."""
        self.last_epoch += 1
        self._last_lr = self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            if isinstance(group["lr"], Tensor):
                with no_grad():
                    group["lr"].copy_(tensor(rate, dtype=dtypes.float64))
            else:
                group["lr"] = rate

    def state_dict(self) -> dict[str, Any]:
        """Return all but the optimizer and functions."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("optimizer", "lr_lambdas")
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned; the optimizer keeps its rates in its own."""
        self.__dict__.update(state_dict)

    def _scaled(self, factor: float) -> list[float]:
        """Return the present rates times `factor`."""
        return [_number(group["lr"]) * factor for group in self.optimizer.param_groups]


class LambdaLR(LRScheduler):
    """The base rate times ``lr_lambda(step)``: one function, or one a group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
    ) -> None:
        """Take the functions."""
        count = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * count if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != count:
            raise ArgumentValueError(
                f"LambdaLR: {count} groups need as many functions, found {len(self.lr_lambdas)}"
            )
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        """Call the functions."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class StepLR(LRScheduler):
    """The rate times ``gamma`` every ``step_size`` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        """Take the period and the factor."""
        if step_size < 1:
            raise ArgumentValueError(f"StepLR: step_size is at least 1, got {step_size}")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        """Scale at multiples of the period."""
        turn = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma if turn else 1.0)


class MultiStepLR(LRScheduler):
    """The rate times ``gamma`` at each of the ``milestones``."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1) -> None:
        """Take step numbers, which may repeat, and the factor."""
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        """Scale at milestones."""
        times: int = self.milestones[self.last_epoch]
        return self._scaled(math.pow(self.gamma, times))


class ExponentialLR(LRScheduler):
    """The rate times ``gamma`` at every step."""

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        """Take the factor."""
        self.gamma = gamma
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        """Scale from step 1 on."""
        return self._scaled(self.gamma if self.last_epoch > 0 else 1.0)


class LinearLR(LRScheduler):
    """A factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` equal steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3.0,
        end_factor: float = 1.0,
        total_iters: int = 5,
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
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        """Scale by the ratio of the factor to the one before."""
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self.last_epoch > self.total_iters:
            return self._scaled(1.0)
        return self._scaled(self._factor(self.last_epoch) / self._factor(self.last_epoch - 1))

    def _factor(self, step: int) -> float:
        share = step / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the base rate to ``eta_min`` in ``T_max`` steps, and back again.

    ``eta_min + (base - eta_min) * (1 + cos(pi * step / T_max)) / 2``, from Loshchilov and Hutter,
    "SGDR: Stochastic Gradient Descent with Warm Restarts" (ICLR 2017), without the restarts.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        """Take half the period and the lowest rate."""
        if T_max < 1:
            raise ArgumentValueError(f"CosineAnnealingLR: T_max is at least 1, got {T_max}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        """Evaluate the formula."""
        share = (1.0 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2.0
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


def _number(rate: float | Tensor) -> float:
    return float(rate.item()) if isinstance(rate, Tensor) else float(rate)


__all__ = [
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "StepLR",
]
