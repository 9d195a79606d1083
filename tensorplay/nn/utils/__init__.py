"""What training loops do with parameters and gradients: clipping; `rnn`, sequences of different lengths.

>>> import tensorplay as tp
>>> w = tp.nn.Parameter(tp.zeros(2))
>>> (w * tp.tensor([3.0, 4.0])).sum().backward()
>>> tp.nn.utils.clip_grad_norm_(w, 1.0)
tensor(5.)
>>> w.grad
tensor([0.6000, 0.8000])
"""

from __future__ import annotations

from tensorplay.nn.utils import rnn
from tensorplay.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_

__all__ = ["clip_grad_norm_", "clip_grad_value_", "rnn"]
