"""Recurrent networks over sequences: `RNN`, `LSTM`, `GRU`.

In: a sequence (T, N, input), (N, T, input) with ``batch_first``, (T, input) alone, or a `PackedSequence`. Out: the outputs
of the last layer at every time, and the last state of every layer. The input's part of the gates is one matrix product for
all times; the steps through time follow one another. Compiled, the loop is unrolled.

>>> import tensorplay as tp
>>> y, (h, c) = tp.nn.LSTM(3, 4, num_layers=2, bidirectional=True)(tp.zeros(5, 2, 3))
>>> y.shape, h.shape, c.shape
((5, 2, 8), (4, 2, 4), (4, 2, 4))
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.functions import cat, empty, split_with_sizes_copy, stack, unbind_copy, zeros
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter
from tensorplay.nn.rnn_cell import STEPS, State, Step, Weights
from tensorplay.nn.utils.rnn import PackedSequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


def run_forward(
    step: Step, parts: Sequence[Tensor], state: State, weights: Weights
) -> tuple[list[Tensor], State]:
    """Go through time; return every hidden state and the last state of each row.

    ``parts`` holds for each time what the input contributes to the gates, (rows, G·H). The number of rows may fall: then
    the last sequences have ended, and their state stays as it is.
    """
    outputs: list[Tensor] = []
    ended: list[State] = []
    for part in parts:
        rows = part.shape[0]
        if rows < state[0].shape[0]:
            ended.append(tuple(each[rows:] for each in state))
            state = tuple(each[:rows] for each in state)
        state = step(part, state, weights)
        outputs.append(state[0])
    if ended:
        joined = zip(state, *reversed(ended), strict=True)
        state = tuple(cat(pieces, 0) for pieces in joined)
    return outputs, state


def run_backward(
    step: Step, parts: Sequence[Tensor], initial: State, weights: Weights
) -> tuple[list[Tensor], State]:
    """Go through time from the end; sequences that end earlier join where their last element is."""
    outputs: list[Tensor] = []
    rows = parts[-1].shape[0]
    state = initial if rows == initial[0].shape[0] else tuple(each[:rows] for each in initial)
    for part in reversed(parts):
        if part.shape[0] > rows:
            joining = [each[rows : part.shape[0]] for each in initial]
            rows = part.shape[0]
            state = tuple(cat(pair, 0) for pair in zip(state, joining, strict=True))
        state = step(part, state, weights)
        outputs.append(state[0])
    outputs.reverse()
    return outputs, state


class RNNBase(Module):
    """The base class: weights ``weight_ih_l{k}``, ``weight_hh_l{k}``, ``bias_ih_l{k}``, ``bias_hh_l{k}``.

    Those of the other direction end with ``_reverse``; an LSTM with ``proj_size`` has ``weight_hr_l{k}``. All are drawn
    from ``U(−1/√hidden_size, 1/√hidden_size)``. ``dropout`` acts between the layers, in training.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if mode not in STEPS:
            raise ArgumentValueError(f"{name}: mode is one of {sorted(STEPS)}, got {mode!r}")
        for setting, size in (
            ("input_size", input_size + 1),
            ("hidden_size", hidden_size),
            ("num_layers", num_layers),
        ):
            if size < 1:
                raise ArgumentValueError(f"{name}: {setting} is too small")
        if not 0.0 <= dropout <= 1.0:
            raise ArgumentValueError(f"{name}: dropout lies in [0, 1], got {dropout}")
        if proj_size and mode != "LSTM":
            raise ArgumentValueError(f"{name}: only an LSTM has a projection, got {proj_size=}")
        if not 0 <= proj_size < hidden_size:
            raise ArgumentValueError(
                f"{name}: proj_size is below hidden_size={hidden_size}, got {proj_size}"
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._make_weights(dtype, device)
        self.reset_parameters()

    @property
    def _output_size(self) -> int:
        """The size of the hidden state of one direction."""
        return self.proj_size or self.hidden_size

    @property
    def _directions(self) -> tuple[str, ...]:
        """The endings of the weights' names."""
        return ("", "_reverse") if self.bidirectional else ("",)

    def _make_weights(self, dtype: DType | None, device: Device | str | None) -> None:
        gates = STEPS[self.mode][0] * self.hidden_size
        for layer in range(self.num_layers):
            below = len(self._directions) * self._output_size
            for ending in self._directions:
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gates, below if layer else self.input_size),
                    "weight_hh": (gates, self._output_size),
                }
                if self.bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if self.proj_size:
                    shapes["weight_hr"] = (self.proj_size, self.hidden_size)
                for name, shape in shapes.items():
                    weight = Parameter(empty(shape, dtype=dtype, device=device))
                    self.register_parameter(f"{name}_l{layer}{ending}", weight)

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing: the weights need no common block of memory here."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction, in the order of their names."""
        found: list[list[Parameter]] = []
        for layer in range(self.num_layers):
            for ending in self._directions:
                weights = self._weights(layer, ending)
                given = (
                    weights.ih, weights.hh, weights.bias_ih, weights.bias_hh, weights.hr,
                )  # fmt: skip
                found.append([each for each in given if isinstance(each, Parameter)])
        return found

    def _weights(self, layer: int, ending: str) -> Weights:
        named = self._parameters
        return Weights(
            getattr(self, f"weight_ih_l{layer}{ending}"),
            getattr(self, f"weight_hh_l{layer}{ending}"),
            named.get(f"bias_ih_l{layer}{ending}"),
            named.get(f"bias_hh_l{layer}{ending}"),
            named.get(f"weight_hr_l{layer}{ending}"),
        )

    # ------------------------------------------------------------------ forward

    def _run(
        self, input: Tensor | PackedSequence, given: State | None
    ) -> tuple[Tensor | PackedSequence, State]:
        """Return the outputs in the form of the input, and the last states, each (layers·directions, N, size)."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, given)
        self._check_input(input)
        single = input.ndim == 2
        x = input
        if single:
            x = input.unsqueeze(1)
            given = None if given is None else tuple(self._check_single(each) for each in given)
        elif self.batch_first:
            x = input.transpose(0, 1)
        steps, batch = x.shape[0], x.shape[1]
        if steps == 0:
            raise ShapeError(f"{type(self).__name__}: a sequence has at least one time, got none")
        y, state = self._run_layers(x, None, self._initial(given, batch, x))
        if single:
            return y.squeeze(1), tuple(each.squeeze(1) for each in state)
        return (y.transpose(0, 1) if self.batch_first else y), state

    def _run_packed(
        self, input: PackedSequence, given: State | None
    ) -> tuple[PackedSequence, State]:
        sizes: list[int] = input.batch_sizes.tolist()
        data = input.data
        if data.ndim != 2 or data.shape[1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__} expects packed data (*, {self.input_size}), "
                f"got shape {tuple(data.shape)}"
            )
        initial = self._initial(given, sizes[0], data)
        if given is not None and input.sorted_indices is not None:
            initial = tuple(each.index_select(1, input.sorted_indices) for each in initial)
        y, state = self._run_layers(data, sizes, initial)
        if input.unsorted_indices is not None:
            state = tuple(each.index_select(1, input.unsorted_indices) for each in state)
        return input._replace(data=y), state

    def _run_layers(
        self, x: Tensor, sizes: list[int] | None, initial: State
    ) -> tuple[Tensor, State]:
        """Run all layers on (T, N, input), or on packed rows of which there are ``sizes`` at each time."""
        step = STEPS[self.mode][1]
        states = [unbind_copy(each, 0) for each in initial]
        last: list[State] = []
        for layer in range(self.num_layers):
            found: list[Tensor] = []
            for ending in self._directions:
                weights = self._weights(layer, ending)
                start = tuple(each[len(last)] for each in states)
                projected = weights.project(x)
                parts = (
                    unbind_copy(projected, 0)
                    if sizes is None
                    else split_with_sizes_copy(projected, sizes, 0)
                )
                run = run_backward if ending else run_forward
                outputs, state = run(step, parts, start, weights)
                found.append(stack(outputs, 0) if sizes is None else cat(outputs, 0))
                last.append(state)
            x = found[0] if len(found) == 1 else cat(found, -1)
            if layer < self.num_layers - 1:
                x = functional.dropout(x, self.dropout, self.training)
        return x, tuple(stack(each, 0) for each in zip(*last, strict=True))

    # ------------------------------------------------------------------ checks

    def _check_input(self, x: Tensor) -> None:
        if x.ndim not in {2, 3}:
            raise ArgumentValueError(
                f"{type(self).__name__} expects an input of 2 dimensions (one sequence) or 3, "
                f"got shape {tuple(x.shape)}"
            )
        if x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__} expects input_size={self.input_size} in the last dimension, "
                f"got shape {tuple(x.shape)}"
            )

    def _check_single(self, state: Tensor) -> Tensor:
        if state.ndim != 2:
            raise ShapeError(
                f"{type(self).__name__}: one sequence (T, input) has a state of 2 dimensions, "
                f"got shape {tuple(state.shape)}"
            )
        return state.unsqueeze(1)

    def _initial(self, given: State | None, batch: int, like: Tensor) -> State:
        """The state at the start, zeros where none is given."""
        count = self.num_layers * len(self._directions)
        shapes = [(count, batch, self._output_size)]
        if self.mode == "LSTM":
            shapes.append((count, batch, self.hidden_size))
        if given is None:
            return tuple(zeros(shape, dtype=like.dtype, device=like.device) for shape in shapes)
        for shape, state in zip(shapes, given, strict=True):
            if tuple(state.shape) != shape:
                raise ShapeError(
                    f"{type(self).__name__} expects a state of shape {shape}, got {tuple(state.shape)}"
                )
        return given

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0.0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """An Elman network: ``h_t = tanh(W_ih x_t + b_ih + W_hh h_{t−1} + b_hh)``, or with ``nonlinearity="relu"``.

    >>> import tensorplay as tp
    >>> y, h = tp.nn.RNN(3, 4, batch_first=True)(tp.zeros(2, 5, 3))
    >>> y.shape, h.shape
    ((2, 5, 4), (1, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: Literal["tanh", "relu"] = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        if nonlinearity not in {"tanh", "relu"}:
            raise ArgumentValueError(f"RNN: nonlinearity is 'tanh' or 'relu', got {nonlinearity!r}")
        self_mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(
            self_mode, input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, device=device, dtype=dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | None = None
    ) -> tuple[Any, Tensor]:
        """Return the outputs, and the last hidden state (layers·directions, N, hidden)."""
        output, state = self._run(input, None if hx is None else (hx,))
        return output, state[0]


class LSTM(RNNBase):
    """Long short-term memory (see `rnn_cell.lstm_step`); ``proj_size`` makes the hidden state smaller.

    The state is the pair ``(h, c)`` of (layers·directions, N, proj_size or hidden) and (layers·directions, N, hidden).

    >>> import tensorplay as tp
    >>> y, (h, c) = tp.nn.LSTM(3, 4, proj_size=2)(tp.zeros(5, 3))
    >>> y.shape, h.shape, c.shape
    ((5, 2), (1, 2), (1, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, proj_size, device, dtype,
        )  # fmt: skip

    def forward(
        self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """Return the outputs, and the last hidden and cell state."""
        output, (hidden, cell) = self._run(input, None if hx is None else tuple(hx))
        return output, (hidden, cell)


class GRU(RNNBase):
    """Gated recurrent units (see `rnn_cell.gru_step`).

    >>> import tensorplay as tp
    >>> y, h = tp.nn.GRU(3, 4)(tp.zeros(5, 2, 3))
    >>> y.shape, h.shape
    ((5, 2, 4), (1, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, device=device, dtype=dtype,
        )  # fmt: skip

    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | None = None
    ) -> tuple[Any, Tensor]:
        """Return the outputs, and the last hidden state (layers·directions, N, hidden)."""
        output, state = self._run(input, None if hx is None else (hx,))
        return output, state[0]
