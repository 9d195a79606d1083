"""Schedulers made of schedulers: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from tensorplay.core.errors import ArgumentValueError
from tensorplay.optim.lr_scheduler.base import LRScheduler, set_rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensorplay.optim.optimizer import Optimizer


def _check(owner: str, optimizer: Optimizer | None, schedulers: Sequence[LRScheduler]) -> Optimizer:
    if not schedulers:
        raise ArgumentValueError(f"{owner}: expected at least one scheduler, got none")
    found = schedulers[0].optimizer if optimizer is None else optimizer
    if any(each.optimizer is not found for each in schedulers):
        raise ArgumentValueError(f"{owner}: all schedulers belong to one optimizer")
    return found


class _Combined(LRScheduler):
    """The state has the states of the parts."""

    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """Return the own state, and those of the parts under ``_schedulers``."""
        parts = [each.state_dict() for each in self._schedulers]
        return {**super().state_dict(), "_schedulers": parts}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        own = {name: value for name, value in state_dict.items() if name != "_schedulers"}
        self.__dict__.update(own)
        for each, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            each.load_state_dict(state)


class SequentialLR(_Combined):
    """The first scheduler until step ``milestones[0]``, then the second from its own step 0, and so on."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        """Take schedulers that were just made, one more than milestones; what they did to the rates is undone."""
        self.optimizer = _check("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentValueError(
                f"SequentialLR: {len(schedulers)} schedulers have {len(schedulers) - 1} milestones "
                f"between them, found {len(milestones)}"
            )
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        for each in self._schedulers:
            each.last_epoch -= 1
        self._schedulers[0].start()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next step."""
        if epoch is not None:
            raise ArgumentValueError("SequentialLR goes step by step; call step() without a number")
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn and self._milestones[turn - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedulers at every step, each going on from the rates that the one before has set."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        """Take schedulers of one optimizer."""
        self.optimizer = _check("ChainedScheduler", optimizer, schedulers)
        self._schedulers = list(schedulers)
        self._last_lr = self.rates()

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next step."""
        if epoch is not None:
            raise ArgumentValueError(
                "ChainedScheduler goes step by step; call step() without a number"
            )
        for each in self._schedulers:
            each.step()
        self._last_lr = self.rates()
