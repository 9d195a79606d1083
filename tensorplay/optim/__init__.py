"""Optimizers, and what changes with their steps: learning rates (`lr_scheduler`), averages of models (`swa_utils`)."""

from tensorplay.optim import lr_scheduler, swa_utils
from tensorplay.optim.adadelta import Adadelta
from tensorplay.optim.adafactor import Adafactor
from tensorplay.optim.adagrad import Adagrad
from tensorplay.optim.adam import Adam, AdamW
from tensorplay.optim.adamax import Adamax
from tensorplay.optim.asgd import ASGD
from tensorplay.optim.lbfgs import LBFGS
from tensorplay.optim.muon import Muon
from tensorplay.optim.nadam import NAdam
from tensorplay.optim.optimizer import Optimizer, OptimizerStateError
from tensorplay.optim.radam import RAdam
from tensorplay.optim.rmsprop import RMSprop
from tensorplay.optim.rprop import Rprop
from tensorplay.optim.sgd import SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "OptimizerStateError",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]
