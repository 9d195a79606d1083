"""`CapturedGraph`: what the user wrote, as a graph, with all that a call needs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tensorplay._C import Storage
from tensorplay.compiler.capture.places import Place
from tensorplay.core.readable import Readable
from tensorplay.graph import GraphModule, Node
from tensorplay.tensor import Tensor


class Argument(NamedTuple):
    """An input that is a tensor among the arguments: its number among them."""

    number: int


class Lifted(NamedTuple):
    """An input that was a free tensor: it is found again at its place at each call."""

    place: Place


class Held(NamedTuple):
    """An input that was a free tensor without a place of its own: this very tensor."""

    tensor: Tensor


InputSource: TypeAlias = Argument | Lifted | Held


class CapturedInput(NamedTuple):
    """An input of the captured graph: where it comes from, and the tensor that was there."""

    node: Node
    source: InputSource
    sample: Tensor


class Gate(NamedTuple):
    """A decision on data: `read(value of node)` was `answer` for the samples."""

    node: Node
    what: str
    answer: object


class OutputSlot:
    """Stands for output number `index` of the graph in the structure of the result.

    `cls` is the class of a result that the function made an instance of a subclass of `Tensor`. No
    dataclass, because those are containers there.
    """

    __slots__ = ("cls", "index")

    def __init__(self, index: int, cls: type[Tensor] | None = None) -> None:
        self.index = index
        self.cls = cls

    def __repr__(self) -> str:
        """Return text as in `<output 0>`."""
        cls = "" if self.cls is None else f" as {self.cls.__qualname__}"
        return f"<output {self.index}{cls}>"


@dataclass(frozen=True, slots=True)
class CapturedGraph(Readable):
    """A captured function.

    The module's graph takes the inputs in order and returns a flat tuple of tensors. `structure` is
    the function's result with `OutputSlot`s for tensors. After `num_results` outputs follow those
    that are assigned to `assigned` places, because the function rebound tensors there. `effects` are
    the calls that are needed for more than their value, with the memory that each writes; `memory`
    is where the value of a node lies. `guard` computes, from the same inputs, the values that the
    gates ask about; None without gates.
    """

    module: GraphModule
    inputs: tuple[CapturedInput, ...]
    structure: object
    num_results: int
    assigned: tuple[Place, ...]
    gates: tuple[Gate, ...]
    effects: Mapping[Node, frozenset[Storage]]
    memory: Mapping[Node, Storage]
    guard: GraphModule | None = None

    def text(self) -> str:
        """Return the graph as text."""
        return self.module.graph.text()

    @property
    def code(self) -> str:
        """The graph as Python."""
        return self.module.code

    def verify(self) -> None:
        """Raise `VerifyError` if the graph is ill-formed."""
        self.module.graph.verify()
