"""Attention, as the composite that it is: two products and a softmax between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import bool_
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.nn_dropout import dropout
from tensorplay.ops.library.nn_softmax import softmax_or_zeros
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite()
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(scale · query @ keyᵀ + mask) @ value`` (Vaswani et al. 2017).

    ``query`` is (…, L, E), ``key`` (…, S, E), ``value`` (…, S, V); the result is (…, L, V). ``scale`` is
    ``1 / √E`` by default. ``attn_mask`` broadcasts to (…, L, S): where a bool mask is False the key is
    not seen, a floating one is added. ``is_causal`` lets row i see keys 0…i. A row that sees no key
    gives zeros, with zero gradients. ``enable_gqa`` repeats the heads (dimension −3) of key and value.

    >>> import tensorplay as tp
    >>> q = tp.ones(1, 2, 4)
    >>> v = tp.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    >>> tp.nn.functional.scaled_dot_product_attention(q, q, v)
    tensor([[[2., 3.],
             [2., 3.]]])
    >>> tp.nn.functional.scaled_dot_product_attention(q, q, v, is_causal=True)
    tensor([[[1., 2.],
             [2., 3.]]])
    """
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            "scaled_dot_product_attention: query (…, L, E), key (…, S, E) and value (…, S, V) have "
            f"shapes {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
        )
    if is_causal and attn_mask is not None:
        raise ArgumentValueError(
            "scaled_dot_product_attention: give attn_mask or is_causal, not both"
        )
    if enable_gqa:
        key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    if is_causal:
        attn_mask = tp.ones(scores.shape[-2:], dtype=bool_, device=query.device).tril()
    if attn_mask is not None:
        if attn_mask.dtype is bool_:
            scores = tp.where(attn_mask, scores, -math.inf)
        elif attn_mask.dtype.kind == "f":
            scores = scores + attn_mask
        else:
            raise DTypeError(
                f"scaled_dot_product_attention: attn_mask is bool or floating, got {attn_mask.dtype}"
            )
    weights = softmax_or_zeros(scores, -1)
    return dropout(weights, dropout_p, dropout_p > 0.0) @ value


def _repeat_heads(query: Tensor, shared: Tensor) -> Tensor:
    """Repeat each head of key or value so that there are as many as in the query."""
    heads, own = query.shape[-3], shared.shape[-3]
    if heads % own != 0:
        raise ShapeError(
            f"scaled_dot_product_attention: {own} heads of key and value do not divide {heads} of query"
        )
    repeated = shared.unsqueeze(-3).expand((*shared.shape[:-2], heads // own, *shared.shape[-2:]))
    return repeated.reshape((*shared.shape[:-3], heads, *shared.shape[-2:]))


@scaled_dot_product_attention.sample
def _() -> Iterator[Sample]:
    q, k, v = Arg((2, 3, 4)), Arg((2, 5, 4)), Arg((2, 5, 3))
    yield sample(q, k, v)
    yield sample(q, k, v, Arg((3, 5), bool_, values=[[1, 0, 1, 0, 1], [0] * 5, [1] * 5]))
    yield sample(q, k, v, Arg((2, 3, 5)), scale=0.3)
    yield sample(
        Arg((1, 4, 3, 4)), Arg((1, 2, 3, 4)), Arg((1, 2, 3, 4)), None, 0.0, True, None, True
    )
    yield bad(ShapeError, "shapes", q, k, Arg((2, 4, 3)))
    yield bad(ArgumentValueError, "not both", q, k, v, Arg((3, 5)), is_causal=True)
