"""Rates that rise and fall, and momenta that fall and rise with them (Smith 2017; Smith and Topin 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from tensorplay.core.errors import ArgumentValueError
from tensorplay.optim.lr_scheduler.base import LRScheduler, set_rate, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tensorplay.optim.optimizer import Optimizer


def momentum_of(group: dict[str, Any]) -> float:
    """Return a group's momentum: β₁ where there are betas."""
    return float(group["betas"][0] if "betas" in group else group["momentum"])


def set_momentum(group: dict[str, Any], value: float) -> None:
    """Set a group's momentum, or its β₁."""
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def _check_momentum(owner: str, optimizer: Optimizer) -> None:
    if not {"momentum", "betas"} & set(optimizer.defaults):
        raise ArgumentValueError(
            f"{owner}: {type(optimizer).__name__} has no momentum; pass cycle_momentum=False"
        )


class CyclicLR(LRScheduler):
    """Up from ``base_lr`` to ``max_lr`` in ``step_size_up`` steps and down again, over and over (Smith, WACV 2017).

    The height of a cycle is scaled: not (``mode="triangular"``), halved from cycle to cycle (``"triangular2"``), by
    ``gamma ** step`` (``"exp_range"``), or by ``scale_fn`` of the number of the cycle or of the step (``scale_mode``
    ``"cycle"`` or ``"iterations"``). Momentum goes from ``max_momentum`` to ``base_momentum`` and back.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        """Take the settings above."""
        if scale_fn is None and mode not in {"triangular", "triangular2", "exp_range"}:
            raise ArgumentValueError(
                f"CyclicLR: mode is 'triangular', 'triangular2' or 'exp_range', got {mode!r}"
            )
        groups = optimizer.param_groups
        lows = spread("CyclicLR", "base_lr", base_lr, len(groups))
        self.max_lrs = spread("CyclicLR", "max_lr", max_lr, len(groups))
        if last_epoch == -1:
            for group, low in zip(groups, lows, strict=True):
                set_rate(group, low)
                group["initial_lr"] = low
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self.scale_mode = scale_mode if scale_fn is not None else ""
        self._scale_fn = scale_fn
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _check_momentum("CyclicLR", optimizer)
            self.base_momentums = spread("CyclicLR", "base_momentum", base_momentum, len(groups))
            self.max_momentums = spread("CyclicLR", "max_momentum", max_momentum, len(groups))
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """Return the factor of the height: of the cycle's number, or in ``exp_range`` of the step's."""
        if self._scale_fn is not None:
            return self._scale_fn(x)
        if self.mode == "triangular":
            return 1.0
        return float(0.5 ** (x - 1.0)) if self.mode == "triangular2" else float(self.gamma**x)

    def get_lr(self) -> list[float]:
        """Compute the place in the cycle, and set the momentum too."""
        done = self.last_epoch / self.total_size
        cycle = math.floor(1.0 + done)
        x = 1.0 + done - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1.0) / (self.step_ratio - 1.0)
        by_step = self.scale_mode == "iterations" or (
            self._scale_fn is None and self.mode == "exp_range"
        )
        height = share * self.scale_fn(self.last_epoch if by_step else cycle)
        if self.cycle_momentum:
            limits = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, limits, strict=True):
                set_momentum(group, high - (high - low) * height)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]


class OneCycleLR(LRScheduler):
    """Up to ``max_lr`` in the first part of all steps, then down to nearly zero (Smith and Topin, "Super-convergence", 2017).

    Starts at ``max_lr / div_factor``, reaches ``max_lr`` after ``pct_start`` of the steps, and ends at
    ``max_lr / div_factor / final_div_factor``; with ``three_phase`` it first goes back to the start in as many steps as it
    went up. Momentum goes the other way between ``max_momentum`` and ``base_momentum``. ``anneal_strategy`` is ``"cos"`` or
    ``"linear"``. The number of steps is ``total_steps``, or ``epochs * steps_per_epoch``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        """Take the settings above."""
        if total_steps is None and epochs is not None and steps_per_epoch is not None:
            total_steps = epochs * steps_per_epoch
        if total_steps is None or total_steps < 1:
            raise ArgumentValueError(
                "OneCycleLR: give total_steps, or epochs and steps_per_epoch, at least 1"
            )
        if not 0.0 <= pct_start <= 1.0:
            raise ArgumentValueError(f"OneCycleLR: pct_start is in [0, 1], got {pct_start}")
        if anneal_strategy not in {"cos", "linear"}:
            raise ArgumentValueError(
                f"OneCycleLR: anneal_strategy is 'cos' or 'linear', got {anneal_strategy!r}"
            )
        self.total_steps = total_steps
        self.anneal_strategy = anneal_strategy
        self.cycle_momentum = cycle_momentum
        groups = optimizer.param_groups
        highs = spread("OneCycleLR", "max_lr", max_lr, len(groups))
        starts = [high / div_factor for high in highs]
        ends = [start / final_div_factor for start in starts]
        if last_epoch == -1:
            for group, start, high, end in zip(groups, starts, highs, ends, strict=True):
                group |= {"initial_lr": start, "max_lr": high, "min_lr": end}
        top = pct_start * total_steps - 1.0
        self._marks = [0.0, top, *([2.0 * top] if three_phase else []), total_steps - 1.0]
        levels = [starts, highs, *([starts] if three_phase else []), ends]
        self._levels = [list(each) for each in zip(*levels, strict=True)]
        if cycle_momentum:
            _check_momentum("OneCycleLR", optimizer)
            lows = spread("OneCycleLR", "base_momentum", base_momentum, len(groups))
            tops = spread("OneCycleLR", "max_momentum", max_momentum, len(groups))
            momenta = [tops, lows, tops, *([tops] if three_phase else [])]
            self._momenta = [list(each) for each in zip(*momenta, strict=True)]
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Find the phase and the place in it; set the momentum too."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ArgumentValueError(
                f"OneCycleLR: step {step} is beyond the total of {self.total_steps}"
            )
        phase = 0
        while phase < len(self._marks) - 2 and step > self._marks[phase + 1]:
            phase += 1
        start, end = self._marks[phase], self._marks[phase + 1]
        share = (step - start) / (end - start)
        if self.cycle_momentum:
            for group, levels in zip(self.optimizer.param_groups, self._momenta, strict=True):
                set_momentum(group, self._between(levels[phase], levels[phase + 1], share))
        return [self._between(row[phase], row[phase + 1], share) for row in self._levels]

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (1.0 + math.cos(math.pi * share))
