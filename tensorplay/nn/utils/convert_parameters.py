"""Parameters as one vector, and back.

>>> import tensorplay as tp
>>> layer = tp.nn.Linear(2, 1)
>>> vector_to_parameters(tp.tensor([1.0, 2.0, 3.0]), layer.parameters())
>>> layer.bias.tolist(), parameters_to_vector(layer.parameters()).tolist()
([3.0], [1.0, 2.0, 3.0])
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ShapeError
from tensorplay.functions import cat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Join the elements of all parameters, in order; gradients flow back to them."""
    return cat([each.reshape(-1) for each in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy consecutive parts of a vector into the parameters, which stay the same objects."""
    targets = list(parameters)
    total = sum(math.prod(each.shape) for each in targets)
    if vec.ndim != 1 or vec.shape[0] != total:
        raise ShapeError(
            f"vector_to_parameters: the parameters have {total} elements, the vector has shape "
            f"{tuple(vec.shape)}"
        )
    start = 0
    with no_grad():
        for each in targets:
            count = math.prod(each.shape)
            each.copy_(vec[start : start + count].reshape(each.shape))
            start += count
