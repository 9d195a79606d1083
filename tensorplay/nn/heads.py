"""The function behind `MultiheadAttention`: projections into heads, attention in each, one projection out of them.

In: query, key, value, the weights of the projections, masks. Out: the result, and the weights of the attention. Unlike
in `scaled_dot_product_attention`, a bool mask here is True where a key is *not* seen, as in PyTorch.

>>> import tensorplay as tp
>>> x, eye = tp.ones(3, 2), tp.eye(2)
>>> weights = tp.cat([eye, eye, eye])
>>> y, seen = tp.nn.functional.multi_head_attention_forward(
...     x, x, x, 2, 1, weights, None, None, None, False, 0.0, eye, None
... )
>>> y.shape, seen.sum(-1)
((3, 2), tensor([1., 1., 1.]))
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.functions import (
    cat,
    dropout,
    linear,
    scaled_dot_product_attention,
    softmax,
    zeros,
)

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """``concat(head_1, …) W_O`` with ``head_i = attention(q W_Qi, k W_Ki, v W_Vi)`` (Vaswani et al. 2017).

    ``query`` is (L, N, E), ``key`` (S, N, Ek), ``value`` (S, N, Ev), or all without N. ``in_proj_weight`` (3E, E) holds the
    three projections, or ``use_separate_proj_weight`` takes one for each. ``key_padding_mask`` is (N, S), ``attn_mask``
    (L, S) or (N·heads, L, S): True hides a key, a floating mask is added to the scores. ``bias_k`` and ``bias_v`` (1, 1, E)
    are one more key and value, ``add_zero_attn`` another of zeros; ``static_k`` and ``static_v`` (N·heads, S, E / heads)
    stand for the projected ones. ``is_causal`` says that ``attn_mask`` is causal, and needs it.

    Returns (L, N, E), and with ``need_weights`` the weights (N, L, S), averaged over the heads, or (N, heads, L, S). A query
    that sees no key gives NaN with ``need_weights``, zeros without, as in PyTorch.
    """
    batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise ArgumentValueError(
            "multi_head_attention_forward: is_causal says that attn_mask is causal: give attn_mask"
        )
    embed = query.shape[-1]
    if embed != embed_dim_to_check:
        raise ShapeError(
            f"multi_head_attention_forward: the query has {embed} features, "
            f"expected {embed_dim_to_check}"
        )
    if embed % num_heads:
        raise ArgumentValueError(
            f"multi_head_attention_forward: {num_heads} heads do not divide {embed} features"
        )
    if key.shape[:-1] != value.shape[:-1]:
        raise ShapeError(
            "multi_head_attention_forward: key and value have different lengths or batches: "
            f"shapes {tuple(key.shape)} and {tuple(value.shape)}"
        )
    if use_separate_proj_weight:
        if q_proj_weight is None or k_proj_weight is None or v_proj_weight is None:
            raise ArgumentValueError(
                "multi_head_attention_forward: use_separate_proj_weight=True needs q_proj_weight, "
                "k_proj_weight and v_proj_weight"
            )
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        q = linear(query, q_proj_weight, biases[0])
        k = linear(key, k_proj_weight, biases[1])
        v = linear(value, v_proj_weight, biases[2])
    elif in_proj_weight is None:
        raise ArgumentValueError("multi_head_attention_forward: in_proj_weight is missing")
    else:
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    if not batched:
        q, k, v = (each.unsqueeze(1) for each in (q, k, v))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch = q.shape[0], q.shape[1]
    extra = 0
    if bias_k is not None and bias_v is not None:
        k = cat((k, bias_k.expand((1, batch, embed))), 0)
        v = cat((v, bias_v.expand((1, batch, embed))), 0)
        extra += 1
    head = embed // num_heads
    q, k, v = (
        each.reshape((each.shape[0], batch, num_heads, head)).permute((1, 2, 0, 3))
        for each in (q, k, v)
    )
    if static_k is not None:
        k = static_k.reshape((batch, num_heads, static_k.shape[1], head))
    if static_v is not None:
        v = static_v.reshape((batch, num_heads, static_v.shape[1], head))
    if add_zero_attn:
        nothing = zeros((batch, num_heads, 1, head), dtype=k.dtype, device=k.device)
        k, v = cat((k, nothing), 2), cat((v, nothing), 2)
        extra += 1
    mask = _mask(
        attn_mask, key_padding_mask, (batch, num_heads, length, k.shape[2]), extra, q.dtype
    )
    probability = dropout_p if training else 0.0
    found = None
    if need_weights:
        scores = (q * (1.0 / math.sqrt(head))) @ k.transpose(-2, -1)
        found = softmax(scores if mask is None else scores + mask, -1)
        found = dropout(found, probability, training)
        y = found @ v
    else:
        y = scaled_dot_product_attention(q, k, v, mask, probability)
    y = linear(
        y.permute((2, 0, 1, 3)).reshape((length, batch, embed)), out_proj_weight, out_proj_bias
    )
    if found is not None and average_attn_weights:
        found = found.mean(1)
    if not batched:
        return y.squeeze(1), None if found is None else found.squeeze(0)
    return y, found


def _is_batched(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Say whether there is a batch dimension, and check that all shapes fit."""
    ndim = query.ndim
    if ndim not in {2, 3} or key.ndim != ndim or value.ndim != ndim:
        raise ShapeError(
            "multi-head attention expects query, key and value all with 3 dimensions, or all with 2 "
            f"(no batch), got shapes {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
        )
    batch = query.shape[1] if ndim == 3 else 1
    length, source = query.shape[0], key.shape[0]
    if key_padding_mask is not None:
        right = (batch, source) if ndim == 3 else (source,)
        if tuple(key_padding_mask.shape) != right:
            raise ShapeError(
                f"key_padding_mask has shape {right} here, got {tuple(key_padding_mask.shape)}"
            )
    if attn_mask is not None:
        rights = ((length, source), (batch * num_heads, length, source))
        if tuple(attn_mask.shape) not in rights:
            raise ShapeError(
                f"attn_mask has shape {rights[0]} or {rights[1]} here, got {tuple(attn_mask.shape)}"
            )
    for name, mask in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
        if mask is not None and mask.dtype.kind != "f" and mask.dtype is not dtypes.bool_:
            raise DTypeError(f"{name} is bool or floating, got {mask.dtype}")
    return ndim == 3


def _project(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Apply the three projections, in one product where query, key and value are one tensor."""
    embed = query.shape[-1]
    if query is key and key is value:
        joined = linear(query, weight, bias)
        q, k, v = joined.split(embed, -1)
        return q, k, v
    weights = weight.split(embed, 0)
    biases = (None,) * 3 if bias is None else bias.split(embed, 0)
    q, k, v = (
        linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def _mask(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    shape: tuple[int, int, int, int],
    extra: int,
    dtype: DType,
) -> Tensor | None:
    """Both masks as one that is added to the scores (N, heads, L, S); the last ``extra`` keys are seen."""
    batch, heads, length, source = shape
    found = None
    own = source - extra
    if attn_mask is not None:
        mask = _additive(attn_mask, dtype)
        found = mask if mask.ndim == 2 else mask.reshape((batch, heads, length, own))
    if key_padding_mask is not None:
        padding = _additive(key_padding_mask, dtype).reshape((batch, 1, 1, own))
        found = padding if found is None else found + padding
    if found is None or not extra:
        return found
    seen = zeros((*found.shape[:-1], extra), dtype=found.dtype, device=found.device)
    return cat((found, seen), -1)


def _additive(mask: Tensor, dtype: DType) -> Tensor:
    """Turn a bool mask, True where a key is hidden, into 0 and −∞."""
    if mask.dtype is not dtypes.bool_:
        return mask
    return zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)
