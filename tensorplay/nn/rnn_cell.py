"""One step of a recurrent network: the functions that `rnn` repeats, and `RNNCell`, `LSTMCell`, `GRUCell`.

A step takes what the input contributes to the gates, the state before it, and the weights; it gives the state after it.

>>> import tensorplay as tp
>>> cell = tp.nn.GRUCell(3, 4)
>>> cell(tp.zeros(2, 3)).shape
(2, 4)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.functions import empty, split_with_sizes_copy, zeros
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor

State: TypeAlias = "tuple[Tensor, ...]"
"""The hidden state (N, H), for an LSTM also the cell state."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one layer in one direction, G gates of H units each.

    ``ih`` is (G·H, input), ``hh`` (G·H, hidden), the biases (G·H,); ``hr`` projects an LSTM's hidden state.
    """

    ih: Tensor
    hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    hr: Tensor | None = None

    def project(self, x: Tensor) -> Tensor:
        """What the input (…, input) contributes to the gates, (…, G·H)."""
        return functional.linear(x, self.ih, self.bias_ih)

    def recur(self, hidden: Tensor) -> Tensor:
        """What the hidden state contributes to the gates."""
        return functional.linear(hidden, self.hh, self.bias_hh)


Step: TypeAlias = "Callable[[Tensor, State, Weights], State]"


def tanh_step(projected: Tensor, state: State, weights: Weights) -> State:
    """``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`` (Elman 1990)."""
    return ((projected + weights.recur(state[0])).tanh(),)


def relu_step(projected: Tensor, state: State, weights: Weights) -> State:
    """``h' = max(0, W_ih x + b_ih + W_hh h + b_hh)``."""
    return (functional.relu(projected + weights.recur(state[0])),)


def lstm_step(projected: Tensor, state: State, weights: Weights) -> State:
    """One step of long short-term memory (Hochreiter and Schmidhuber 1997; gates i, f, g, o in this order).

    ``c' = σ(f) c + σ(i) tanh(g)``, ``h' = σ(o) tanh(c')``, projected by ``W_hr`` where there is one (Sak et al. 2014).
    """
    hidden, cell = state
    gates = projected + weights.recur(hidden)
    i, f, g, o = _gates(gates, 4)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    hidden = o.sigmoid() * cell.tanh()
    if weights.hr is not None:
        hidden = functional.linear(hidden, weights.hr)
    return hidden, cell


def gru_step(projected: Tensor, state: State, weights: Weights) -> State:
    """One step of a gated recurrent unit (Cho et al. 2014; gates r, z, n in this order).

    ``n' = tanh(x_n + σ(r) h_n)``, ``h' = n' + σ(z) (h − n')``: the reset gate acts after the matrix product.
    """
    (hidden,) = state
    x_r, x_z, x_n = _gates(projected, 3)
    h_r, h_z, h_n = _gates(weights.recur(hidden), 3)
    reset = (x_r + h_r).sigmoid()
    update = (x_z + h_z).sigmoid()
    new = (x_n + reset * h_n).tanh()
    return (new + update * (hidden - new),)


def _gates(joined: Tensor, count: int) -> tuple[Tensor, ...]:
    size = joined.shape[-1] // count
    parts: tuple[Tensor, ...] = split_with_sizes_copy(joined, (size,) * count, -1)
    return parts


STEPS: dict[str, tuple[int, Step]] = {
    "RNN_TANH": (1, tanh_step),
    "RNN_RELU": (1, relu_step),
    "LSTM": (4, lstm_step),
    "GRU": (3, gru_step),
}
"""The number of gates and the step of each kind of network."""


class RNNCellBase(Module):
    """What the cells share: weights drawn from ``U(−1/√hidden_size, 1/√hidden_size)``, and checks."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size

        def made(*shape: int) -> Parameter:
            return Parameter(empty(shape, dtype=dtype, device=device))

        self.weight_ih = made(gates, input_size)
        self.weight_hh = made(gates, hidden_size)
        self.register_parameter("bias_ih", made(gates) if bias else None)
        self.register_parameter("bias_hh", made(gates) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")

    def _weights(self) -> Weights:
        return Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def _advance(self, mode: str, x: Tensor, given: State | None) -> State:
        """One step for a batch (N, input) or a single input (input,)."""
        name = type(self).__name__
        if x.ndim not in {1, 2} or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{name} expects an input (N, {self.input_size}) or ({self.input_size},), "
                f"got shape {tuple(x.shape)}"
            )
        single = x.ndim == 1
        shape = (*x.shape[:-1], self.hidden_size)
        if given is None:
            zero = zeros(shape, dtype=x.dtype, device=x.device)
            given = (zero, zero) if mode == "LSTM" else (zero,)
        for each in given:
            if tuple(each.shape) != shape:
                raise ShapeError(
                    f"{name} expects a state of shape {shape}, got shape {tuple(each.shape)}"
                )
        weights, step = self._weights(), STEPS[mode][1]
        if not single:
            return step(weights.project(x), given, weights)
        state = tuple(each.unsqueeze(0) for each in given)
        found = step(weights.project(x.unsqueeze(0)), state, weights)
        return tuple(each.squeeze(0) for each in found)


class RNNCell(RNNCellBase):
    """One step of an Elman network: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or with relu.

    ``input`` is (N, input_size) or (input_size,), ``hx`` (N, hidden_size) or (hidden_size,), zeros by default.

    >>> import tensorplay as tp
    >>> tp.nn.RNNCell(2, 3)(tp.zeros(2)).shape
    (3,)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: Literal["tanh", "relu"] = "tanh",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        if nonlinearity not in {"tanh", "relu"}:
            raise ArgumentValueError(
                f"RNNCell: nonlinearity is 'tanh' or 'relu', got {nonlinearity!r}"
            )
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._advance(mode, input, None if hx is None else (hx,))[0]

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; the state is the pair ``(h, c)``, zeros by default.

    >>> import tensorplay as tp
    >>> h, c = tp.nn.LSTMCell(2, 3)(tp.zeros(5, 2))
    >>> h.shape, c.shape
    ((5, 3), (5, 3))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the next hidden and cell state."""
        hidden, cell = self._advance("LSTM", input, hx)
        return hidden, cell


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    >>> import tensorplay as tp
    >>> tp.nn.GRUCell(2, 3)(tp.zeros(5, 2), tp.zeros(5, 3)).shape
    (5, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        return self._advance("GRU", input, None if hx is None else (hx,))[0]
