"""Learning rates that change from step to step.

A scheduler sets ``lr`` of the optimizer's groups when it is made, and anew at each ``step``: after each epoch, or after
each step of the optimizer. Most rates follow from the present ones, so schedulers can be chained, and rates may also be
changed by hand in between.

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

from tensorplay.optim.lr_scheduler.base import LRScheduler
from tensorplay.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from tensorplay.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from tensorplay.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from tensorplay.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from tensorplay.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
