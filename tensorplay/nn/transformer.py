"""Transformers (Vaswani et al., "Attention is all you need", 2017): layers, stacks of them, and the whole model.

Sequences are (T, N, E), (N, T, E) with ``batch_first``, or (T, E). Masks are those of `MultiheadAttention`: True hides.

>>> import tensorplay as tp
>>> layer = tp.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
>>> tp.nn.TransformerEncoder(layer, 3)(tp.zeros(2, 5, 8)).shape
(2, 5, 8)
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentError, ArgumentValueError, ShapeError
from tensorplay.functions import full
from tensorplay.nn import functional, init
from tensorplay.nn.container import ModuleList
from tensorplay.nn.dropout import Dropout
from tensorplay.nn.linear import Linear
from tensorplay.nn.module import Module
from tensorplay.nn.multihead_attention import MultiheadAttention
from tensorplay.nn.normalization import LayerNorm

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor

    Activation: TypeAlias = str | Callable[[Tensor], Tensor]


class _Layer(Module):
    """What encoder and decoder layers share: attention blocks and a feed-forward block, each added to its input.

    A block's input is normalized (``norm_first``), or else the sum is.
    """

    linear1: Linear
    linear2: Linear
    dropout: Dropout

    def _common(
        self,
        d_model: int,
        dim_feedforward: int,
        dropout: float,
        activation: Activation,
        norm_first: bool,
        bias: bool,
        dtype: DType | None,
    ) -> None:
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, dtype=dtype)
        self.norm_first = norm_first
        if isinstance(activation, str):
            if activation not in {"relu", "gelu"}:
                raise ArgumentValueError(
                    f"{type(self).__name__}: activation is 'relu', 'gelu' or a function, "
                    f"got {activation!r}"
                )
            activation = functional.relu if activation == "relu" else functional.gelu
        self.activation: Callable[[Tensor], Tensor] = activation

    def _feed_forward(self, x: Tensor) -> Tensor:
        hidden = self.dropout(self.activation(self.linear1(x)))
        found: Tensor = self.linear2(hidden)
        return found

    def _add(
        self, x: Tensor, block: Callable[[Tensor], Tensor], norm: Module, dropout: Module
    ) -> Tensor:
        """Add what a block computes of ``x`` to it, normalized before or after."""
        found: Tensor = (
            x + dropout(block(norm(x))) if self.norm_first else norm(x + dropout(block(x)))
        )
        return found


def _attend(
    attention: Module,
    x: Tensor,
    memory: Tensor,
    mask: Tensor | None,
    padding: Tensor | None,
    is_causal: bool,
) -> Tensor:
    found: Tensor = attention(
        x, memory, memory, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
    )[0]
    return found


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear maps with an activation between them.

    ``activation`` is ``"relu"``, ``"gelu"`` or a function.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, dtype=dtype
        )
        self._common(d_model, dim_feedforward, dropout, activation, norm_first, bias, dtype)
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if device is not None:
            self.to(device)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return a sequence of the same shape."""

        def attend(x: Tensor) -> Tensor:
            return _attend(self.self_attn, x, x, src_mask, src_key_padding_mask, is_causal)

        x = self._add(src, attend, self.norm1, self.dropout1)
        return self._add(x, self._feed_forward, self.norm2, self.dropout2)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output ``memory``, then two linear maps."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()

        def attention() -> MultiheadAttention:
            return MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, dtype=dtype
            )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)

        self.self_attn = attention()
        self.multihead_attn = attention()
        self._common(d_model, dim_feedforward, dropout, activation, norm_first, bias, dtype)
        self.norm1, self.norm2, self.norm3 = norm(), norm(), norm()
        self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout) for _ in range(3))
        if device is not None:
            self.to(device)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return a sequence of the shape of ``tgt``."""

        def attend(x: Tensor) -> Tensor:
            return _attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def look_back(x: Tensor) -> Tensor:
            return _attend(
                self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal
            )  # fmt: skip

        x = self._add(tgt, attend, self.norm1, self.dropout1)
        x = self._add(x, look_back, self.norm2, self.dropout2)
        return self._add(x, self._feed_forward, self.norm3, self.dropout3)


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList(copy.deepcopy(layer) for _ in range(count))


class TransformerEncoder(Module):
    """``num_layers`` copies of an encoder layer, and a normalization of the result where ``norm`` is given.

    ``enable_nested_tensor`` and ``mask_check`` are taken for PyTorch's sake; they change nothing.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Pass a sequence through all layers."""
        causal = bool(
            is_causal
        )  # None asks PyTorch to look at the mask; the mask alone decides here
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """``num_layers`` copies of a decoder layer, and a normalization of the result where ``norm`` is given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Pass a sequence and the encoder's output through all layers."""
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """Encoder and decoder; their matrices are drawn by Glorot and Bengio's uniform rule.

    >>> import tensorplay as tp
    >>> model = tp.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> model(tp.zeros(5, 2, 8), tp.zeros(3, 2, 8)).shape
    (3, 2, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)

        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(*settings)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*settings)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        self._reset_parameters()
        if device is not None:
            self.to(device)

    def _reset_parameters(self) -> None:
        """Draw all matrices anew."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encode ``src``, decode ``tgt`` with it; the result has the shape of ``tgt``."""
        if src.ndim == 3 and tgt.ndim == 3:
            place = 0 if self.batch_first else 1
            if src.shape[place] != tgt.shape[place]:
                raise ShapeError(
                    f"Transformer: src and tgt have batches of {src.shape[place]} and "
                    f"{tgt.shape[place]}"
                )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ShapeError(
                f"Transformer: src and tgt have d_model={self.d_model} features, got shapes "
                f"{tuple(src.shape)} and {tuple(tgt.shape)}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        found: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return found

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | str | None = None, dtype: DType | None = None
    ) -> Tensor:
        """Return the mask (sz, sz) that hides what comes later: −∞ above the diagonal, else 0.

        >>> import tensorplay as tp
        >>> tp.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        if sz < 0:
            raise ArgumentError(f"generate_square_subsequent_mask: a size is at least 0, got {sz}")
        return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)
