"""First and second derivatives of either library by the same text, for cotangents that are drawn alike.

Comes in: `torch` or `tensorplay`, outputs and inputs of that library. Goes out: a gradient for each input, None where
there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import tensorplay as tp
from bench.operator_database import values


def two_gradients(
    library: Any,  # torch or tensorplay
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    *,
    twice: bool,
    rounded: torch.dtype | None = None,
) -> tuple[list[Any], list[Any] | None]:
    """Gradients for a fixed cotangent, then those of their weighted sum; None where there is none.

    The weights go by the place of the gradient: one library may know of a gradient that it depends
    on nothing where the other computes zeros.
    """
    cotangents = [random_like(each, 100 + k, rounded) for k, each in enumerate(outputs)]
    grads = library.autograd.grad(
        outputs, inputs, cotangents, create_graph=twice, retain_graph=True, allow_unused=True
    )
    if not twice:
        return list(grads), None
    live = {k: each for k, each in enumerate(grads) if each is not None and each.requires_grad}
    if not live:
        return list(grads), None
    second = library.autograd.grad(
        list(live.values()), inputs, [random_like(each, 200 + k, rounded) for k, each in live.items()],
        allow_unused=True, retain_graph=True,
    )  # fmt: skip
    return list(grads), list(second)


def random_like(tensor: Any, seed: int, rounded: torch.dtype | None = None) -> Any:
    """A drawn tensor of either library; of a reference, with the numbers that the narrower dtype got."""
    generator = np.random.default_rng(seed)
    drawn = torch.from_numpy(np.asarray(generator.uniform(-1, 1, tuple(tensor.shape))))
    if rounded is not None:
        drawn = drawn.to(rounded.to_real()).to(torch.float64)
    if isinstance(tensor, torch.Tensor):
        return drawn.to(tensor.dtype)
    return values.tensor_of(drawn.to(values.TORCH_DTYPES[tensor.dtype]))


def filled(grads: Sequence[Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """A missing gradient is zero."""
    return tuple(
        (torch.zeros_like(like) if isinstance(like, torch.Tensor) else tp.zeros_like(like))
        if each is None
        else each.detach()
        for each, like in zip(grads, inputs, strict=False)
    )
