"""`LRScheduler`: counting, setting the rates, state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorplay.autograd import no_grad
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.functions import tensor
from tensorplay.optim.optimizer import Optimizer
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class LRScheduler:
    """The base class: a subclass says by `get_lr` what the rates are at step ``last_epoch``.

    A group's rate before any scheduler is its ``initial_lr``. ``last_epoch`` other than −1 resumes after that many steps;
    then the groups have ``initial_lr`` already, from a loaded state.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        """Take the optimizer's initial rates as the base rates, and set those of the next step."""
        name = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{name}: expected an optimizer, found {type(optimizer).__name__}")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", as_number(group["lr"]))
            elif "initial_lr" not in group:
                raise ArgumentValueError(
                    f"{name}: to resume after step {last_epoch} every group needs 'initial_lr'; "
                    "load the optimizer's state, or start with last_epoch=-1"
                )
        self.base_lrs = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.start()

    def start(self) -> None:
        """Take the first step, at which rates are not yet multiplied by what comes with each step."""
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[float]:
        """Compute the rates of the groups at step ``last_epoch``, most often from the present ones."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr()")

    def closed_form(self) -> list[float] | None:
        """Compute the rates from the base rates and the step alone; None where that can't be."""
        return None

    def get_last_lr(self) -> list[float]:
        """Return the rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next step, or to a step of which only the number is known."""
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            known = self.closed_form()
            rates = self.get_lr() if known is None else known
        self._set(rates)

    def rates(self) -> list[float]:
        """Return the present rates."""
        return [as_number(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Return all but the optimizer and functions."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name != "optimizer" and not _holds_functions(value)
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned; the optimizer keeps its rates in its own."""
        self.__dict__.update(state_dict)

    def _set(self, rates: Sequence[float]) -> None:
        self._last_lr = list(rates)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)

    def _scaled(self, factor: float) -> list[float]:
        """Return the present rates times `factor`."""
        return [rate * factor for rate in self.rates()]

    def _spread(self, name: str, value: float | Sequence[float]) -> list[float]:
        """Return a number for each group."""
        count = len(self.optimizer.param_groups)
        return spread(type(self).__name__, name, value, count)


def spread(owner: str, name: str, value: float | Sequence[float], count: int) -> list[float]:
    """Return one number for each of `count` groups, from one for all or a list."""
    if isinstance(value, (int, float)):
        return [float(value)] * count
    found = [float(each) for each in value]
    if len(found) != count:
        raise ArgumentValueError(
            f"{owner}: {count} groups need as many numbers {name}, found {len(found)}"
        )
    return found


def as_number(rate: float | Tensor) -> float:
    """Return a rate that may be a tensor as a number."""
    return float(rate.item()) if isinstance(rate, Tensor) else float(rate)


def set_rate(group: dict[str, Any], rate: float) -> None:
    """Set a group's rate; a tensor is written in place."""
    if isinstance(group["lr"], Tensor):
        with no_grad():
            group["lr"].copy_(tensor(rate, dtype=dtypes.float64))
    else:
        group["lr"] = rate


def _holds_functions(value: object) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(callable(each) or isinstance(each, LRScheduler) for each in values)
