"""What training loops and models do with parameters: clipping, vectors, parametrizations, pruning, norms, fusion.

`rnn` has sequences of different lengths.

>>> import tensorplay as tp
>>> w = tp.nn.Parameter(tp.zeros(2))
>>> (w * tp.tensor([3.0, 4.0])).sum().backward()
>>> tp.nn.utils.clip_grad_norm_(w, 1.0)
tensor(5.)
>>> w.grad
tensor([0.6000, 0.8000])
"""

from __future__ import annotations

from tensorplay.nn.utils import fusion, parametrizations, parametrize, prune, rnn, stateless
from tensorplay.nn.utils.clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from tensorplay.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from tensorplay.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from tensorplay.nn.utils.init import skip_init
from tensorplay.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from tensorplay.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "fusion",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]
