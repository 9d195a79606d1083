"""Functions of neural networks: the registry's own, under the names that `nn.functional` has.

>>> import tensorplay as tp
>>> tp.nn.functional.relu is tp.relu
True
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from tensorplay.functions import (
    adaptive_avg_pool2d,
    avg_pool2d,
    batch_norm,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    conv2d,
    cross_entropy,
    dropout,
    elu,
    embedding,
    gelu,
    hardsigmoid,
    hardswish,
    hardtanh,
    l1_loss,
    layer_norm,
    leaky_relu,
    linear,
    log_softmax,
    logsigmoid,
    max_pool2d,
    mish,
    mse_loss,
    nll_loss,
    one_hot,
    pad,
    relu,
    relu6,
    rms_norm,
    scaled_dot_product_attention,
    selu,
    sigmoid,
    silu,
    smooth_l1_loss,
    softmax,
    softplus,
    softsign,
    tanh,
)
from tensorplay.nn.heads import multi_head_attention_forward

Reduction: TypeAlias = Literal["mean", "sum", "none"]

__all__ = [
    "Reduction",
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv2d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool2d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "relu6",
    "rms_norm",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softsign",
    "tanh",
]
