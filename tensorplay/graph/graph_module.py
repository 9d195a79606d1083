"""`GraphModule`: a graph with the attributes that it reads, callable as generated Python.

>>> import operator
>>> from tensorplay.graph import Graph, GraphModule
>>> graph = Graph()
>>> x = graph.placeholder("x")
>>> output = graph.output(graph.call_function(operator.mul, (x, graph.get_attr("scale"))))
>>> module = GraphModule({"scale": 3}, graph)
>>> module(2)
6
>>> print(module.code, end="")
import operator
<BLANKLINE>
<BLANKLINE>
def forward(self, x):
    scale = self.scale
    mul = x * scale
    del x, scale
    return mul
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from tensorplay.graph.python_code import python_code

if TYPE_CHECKING:
    from tensorplay.graph.graph import Graph
    from tensorplay.graph.python_code import PythonCode

_COUNT: Final = itertools.count()


class Attributes:
    """A node of the attribute tree: `self.layer.weight` reads the path `layer.weight`."""


class GraphModule:
    """A graph and its attributes. Calling it runs `.code`, made and compiled at first use."""

    def __init__(self, root: object, graph: Graph) -> None:
        """Take `graph`, and from `root` (an object, or a mapping by path) what the graph reads."""
        self.graph = graph
        self._code: PythonCode | None = None
        self._forward: Callable[..., object] | None = None
        self._filename = ""
        for node in graph.nodes:
            if node.op in {"get_attr", "call_module"}:
                self.set_attribute(node.path, find_attribute(root, node.path))

    def __call__(self, *args: object) -> object:
        """Run the graph on the values of its placeholders."""
        if self._forward is None:
            self._forward = self._compile()
        return self._forward(self, *args)

    def __repr__(self) -> str:
        """Return what the module is, and the source that it runs."""
        return f"GraphModule of {len(self.graph.nodes)} nodes\n{self.code}"

    @property
    def code(self) -> str:
        """The graph as Python source: imports, and a function `forward(self, ...)`."""
        return self._print().source

    def set_attribute(self, path: str, value: object) -> None:
        """Let the graph read `value` at a dotted path."""
        *parents, name = path.split(".")
        place: object = self
        for parent in parents:
            child = place.__dict__.get(parent)
            if child is None:
                child = Attributes()
                setattr(place, parent, child)
            place = child
        setattr(place, name, value)

    def attribute(self, path: str) -> object:
        """Return what the graph reads at a dotted path."""
        return find_attribute(self, path)

    def recompile(self) -> None:
        """Take note that the graph was edited: the source is made again at the next use."""
        self._code = None
        self._forward = None
        linecache.cache.pop(self._filename, None)

    def _compile(self) -> Callable[..., object]:
        code = self._print()
        source = code.source
        self._filename = f"<graph {next(_COUNT)}>"
        scope = dict(code.objects)
        exec(compile(source, self._filename, "exec"), scope)  # noqa: S102 (it prints our own graph)
        lines = source.splitlines(keepends=True)
        linecache.cache[self._filename] = (len(source), None, lines, self._filename)
        return find_callable(scope, "forward")

    def _print(self) -> PythonCode:
        if self._code is None:
            self._code = python_code(self.graph)
        return self._code

    def __del__(self) -> None:
        """Forget the source that tracebacks would have shown."""
        linecache.cache.pop(self._filename, None)


def find_attribute(root: object, path: str) -> object:
    """Return the value at a dotted path of an object, or of a mapping that has it as a key."""
    if isinstance(root, Mapping):
        return root[path]
    value = root
    for part in path.split("."):
        value = getattr(value, part)
    return value


def find_callable(root: object, path: str) -> Callable[..., object]:
    """Return the callable at a dotted path. Raises `TypeError` for something else."""
    value = find_attribute(root, path)
    if not callable(value):
        raise TypeError(f"{path} is no module: it is {type(value).__name__}, which isn't callable")
    return value
