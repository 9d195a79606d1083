"""Multi-head attention as a module.

>>> import tensorplay as tp
>>> attention = tp.nn.MultiheadAttention(8, 2, batch_first=True)
>>> y, weights = attention(tp.zeros(3, 5, 8), tp.zeros(3, 4, 8), tp.zeros(3, 4, 8))
>>> y.shape, weights.shape
((3, 5, 8), (3, 5, 4))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import empty
from tensorplay.nn import init
from tensorplay.nn.heads import multi_head_attention_forward
from tensorplay.nn.linear import Linear
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class MultiheadAttention(Module):
    """Attention through ``num_heads`` heads (Vaswani et al. 2017), see `multi_head_attention_forward`.

    ``in_proj_weight`` is (3·embed_dim, embed_dim), or with ``kdim`` or ``vdim`` there are ``q_proj_weight``,
    ``k_proj_weight`` and ``v_proj_weight``; all drawn by Glorot and Bengio's uniform rule, biases are zero.
    ``add_bias_kv`` adds a learned key and value, ``add_zero_attn`` a key and value of zeros.
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ArgumentValueError(
                f"MultiheadAttention: num_heads={num_heads} must divide embed_dim={embed_dim}, both positive"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn

        def register(name: str, wanted: bool, *shape: int) -> None:
            made = Parameter(empty(shape, dtype=dtype, device=device)) if wanted else None
            self.register_parameter(name, made)

        separate = self._is_separate
        register("q_proj_weight", separate, embed_dim, embed_dim)
        register("k_proj_weight", separate, embed_dim, self.kdim)
        register("v_proj_weight", separate, embed_dim, self.vdim)
        register("in_proj_weight", not separate, 3 * embed_dim, embed_dim)
        register("in_proj_bias", bias, 3 * embed_dim)
        register("bias_k", add_bias_kv, 1, 1, embed_dim)
        register("bias_v", add_bias_kv, 1, 1, embed_dim)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        if device is not None:
            self.out_proj.to(device)
        self._reset_parameters()

    @property
    def _is_separate(self) -> bool:
        return self.kdim != self.embed_dim or self.vdim != self.embed_dim

    def _reset_parameters(self) -> None:
        """Draw the parameters anew."""
        for weight in (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        ):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output, and the weights or None; (L, N, E), (N, L, E) with ``batch_first``, or (L, E)."""
        turned = self.batch_first and query.ndim == 3
        if turned:
            same = query is key and key is value
            query = query.transpose(0, 1)
            key = query if same else key.transpose(0, 1)
            value = query if same else value.transpose(0, 1)
        y, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=self._is_separate,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (y.transpose(0, 1) if turned else y), weights
