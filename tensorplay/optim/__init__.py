"""Optimizers: `SGD`, `Adam`, `AdamW`, and the base class for others; `lr_scheduler`."""

from tensorplay.optim import lr_scheduler
from tensorplay.optim.adam import Adam, AdamW
from tensorplay.optim.optimizer import Optimizer, OptimizerStateError
from tensorplay.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "OptimizerStateError", "lr_scheduler"]
