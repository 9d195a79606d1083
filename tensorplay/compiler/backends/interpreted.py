"""Runs an operator graph operator by operator, as generated Python (`InterpretedProgram.code`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.graph import GraphModule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.compiler.phases import OperatorGraph
    from tensorplay.tensor import Tensor


class InterpretedProgram:
    """An operator graph that calls each operator eagerly; no gradient is recorded."""

    def __init__(self, graph: OperatorGraph) -> None:
        self._module = GraphModule({}, graph.graph)

    def __call__(self, tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
        """Run the graph."""
        from tensorplay.autograd import no_grad

        with no_grad():
            return self._module(*tensors)  # type: ignore[return-value]  # tensors in, tensors out

    @property
    def code(self) -> str:
        """The Python source that is run."""
        return self._module.code


def interpret(graph: OperatorGraph) -> InterpretedProgram:
    """Return a program that interprets `graph`."""
    return InterpretedProgram(graph)
