"""Reductions and normalizations under a mask, under PyTorch's names: `tensorplay.masked`.

`mask` is a bool tensor that broadcasts to the input and says which elements count.

>>> import tensorplay as tp
>>> tp.masked.mean(tp.tensor([1.0, 9.0, 4.0]), mask=tp.tensor([True, False, True]))
tensor(2.5000)
"""

from __future__ import annotations

from tensorplay.publishing import function_named

amax = function_named("masked_amax")
amin = function_named("masked_amin")
argmax = function_named("masked_argmax")
argmin = function_named("masked_argmin")
cumprod = function_named("masked_cumprod")
cumsum = function_named("masked_cumsum")
log_softmax = function_named("masked_log_softmax")
logaddexp = function_named("masked_logaddexp")
logsumexp = function_named("masked_logsumexp")
mean = function_named("masked_mean")
median = function_named("masked_median")
norm = function_named("masked_norm")
normalize = function_named("masked_normalize")
prod = function_named("masked_prod")
softmax = function_named("masked_softmax")
softmin = function_named("masked_softmin")
std = function_named("masked_std")
sum = function_named("masked_sum")
var = function_named("masked_var")

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp",
    "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"
]  # fmt: skip
