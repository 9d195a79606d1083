"""Neural networks: modules, layers, losses, initialization.

>>> import tensorplay as tp
>>> net = tp.nn.Sequential(tp.nn.Flatten(), tp.nn.Linear(64, 10))
>>> net(tp.zeros(5, 1, 8, 8)).shape
(5, 10)
"""

from __future__ import annotations

from tensorplay.nn import functional, init, utils
from tensorplay.nn.activation import (
    ELU,
    GELU,
    LeakyReLU,
    LogSoftmax,
    Mish,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from tensorplay.nn.batchnorm import BatchNorm1d, BatchNorm2d
from tensorplay.nn.container import ModuleDict, ModuleList, ParameterList, Sequential
from tensorplay.nn.convolution import Conv2d
from tensorplay.nn.dropout import Dropout
from tensorplay.nn.linear import Identity, Linear
from tensorplay.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from tensorplay.nn.module import Module
from tensorplay.nn.multihead_attention import MultiheadAttention
from tensorplay.nn.normalization import LayerNorm
from tensorplay.nn.parameter import Parameter
from tensorplay.nn.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d
from tensorplay.nn.rearranging import Flatten, Unflatten
from tensorplay.nn.rnn import GRU, LSTM, RNN, RNNBase
from tensorplay.nn.rnn_cell import GRUCell, LSTMCell, RNNCell, RNNCellBase
from tensorplay.nn.sparse import Embedding
from tensorplay.nn.state import IncompatibleKeys, StateError
from tensorplay.nn.transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__all__ = [
    "ELU",
    "GELU",
    "GRU",
    "LSTM",
    "RNN",
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GRUCell",
    "Identity",
    "IncompatibleKeys",
    "L1Loss",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "Parameter",
    "ParameterList",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "StateError",
    "Tanh",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Unflatten",
    "functional",
    "init",
    "utils",
]
