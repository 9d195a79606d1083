"""Python source of a graph: what a person reads, and what `GraphModule` runs.

    import operator

    def forward(self, x, w):
        add = operator.add(x, w)  # float32 (64, 128)
        mul = operator.mul(add, 2)  # float32 (64, 128)
        del add
        return mul

A value is deleted after its last use, so that running the source holds no more memory than the
user's function did. Objects without a name that Python could import (lambdas, tensors) become
globals of the source, listed in `PythonCode.objects`.
"""

from __future__ import annotations

import keyword
import math
import sys
from types import EllipsisType, ModuleType, NoneType
from typing import TYPE_CHECKING, Final, NamedTuple

from tensorplay.graph.names import to_identifier
from tensorplay.graph.node import Node
from tensorplay.graph.text import target_text

if TYPE_CHECKING:
    from tensorplay.graph.graph import Graph

_INFIX: Final = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "eq": "==", "ne": "!=", "ge": ">=", "gt": ">",
}  # fmt: skip
_PREFIX: Final = {"neg": "-", "pos": "+", "invert": "~"}


class PythonCode(NamedTuple):
    """Source of a function `forward(self, *inputs)`, and the objects that it finds as globals."""

    source: str
    objects: dict[str, object]


def python_code(graph: Graph) -> PythonCode:
    """Print `graph` as Python. Linear in its size."""
    return _Printer(graph).print()


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """Return, for each node, the values that are read there for the last time.

    A value that nobody reads is listed at itself; what the output reads is never listed.
    """
    found: set[Node] = set()
    dying: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        if node.op == "output":
            found.update(node.input_set)
            continue
        dead = [read for read in node.input_set if read not in found]
        if node not in found and not node.user_set and node.op != "placeholder":
            dead.append(node)
        found.update(node.input_set)
        if dead:
            dying[node] = dead
    return dying


class _Printer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.modules: dict[str, ModuleType] = {}
        self.objects: dict[str, object] = {}
        self.object_names: dict[int, str] = {}
        self.callables: dict[object, str] = {}

    def print(self) -> PythonCode:
        dying = last_uses(self.graph)
        inputs = ["self"]
        lines = []
        for node in self.graph.nodes:
            if node.op == "placeholder":
                inputs.append(node.name)
                continue
            lines.append(f"    {self.statement(node)}{value_comment(node)}")
            if dead := dying.get(node):
                lines.append(f"    del {', '.join(value.name for value in dead)}")
        if not lines:
            lines.append("    pass")
        imports = [f"import {name}" for name in sorted(self.modules)]
        imports = [*imports, "", ""] if imports else []
        head = f"def forward({', '.join(inputs)}):"
        source = "\n".join([*imports, head, *lines, ""])
        return PythonCode(source, {**self.objects, **self.roots()})

    def roots(self) -> dict[str, ModuleType]:
        roots = {name.partition(".")[0] for name in self.modules}
        return {name: sys.modules[name] for name in roots}

    def statement(self, node: Node) -> str:
        if node.op == "output":
            return f"return {self.value(node.args[0])}"
        return f"{node.name} = {self.expression(node)}"

    def expression(self, node: Node) -> str:
        if node.op == "get_attr":
            return attribute_path("self", node.path)
        if node.op == "call_method":
            receiver = self.value(node.args[0])
            if not isinstance(node.args[0], Node):
                receiver = f"({receiver})"
            return f"{receiver}.{node.target}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            path = attribute_path("self", node.path)
            return f"{path}({self.arguments(node.args, node.kwargs)})"
        return self.function_call(node)

    def function_call(self, node: Node) -> str:
        name = self.object(node.target)
        module, _, function = name.rpartition(".")
        if module == "operator" and not node.kwargs and all(map(_is_atom, node.args)):
            values = [self.value(arg) for arg in node.args]
            if function in _INFIX and len(values) == 2:
                return f"{values[0]} {_INFIX[function]} {values[1]}"
            if function in _PREFIX and len(values) == 1:
                return f"{_PREFIX[function]}{values[0]}"
            if function == "getitem" and isinstance(node.args[0], Node):
                return f"{values[0]}[{values[1]}]"
        return f"{name}({self.arguments(node.args, node.kwargs)})"

    def arguments(self, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
        plain = [self.value(arg) for arg in args]
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in kwargs):
            named = [f"{key}={self.value(arg)}" for key, arg in kwargs.items()]
        else:
            named = [f"**{self.value(kwargs)}"]
        return ", ".join([*plain, *named])

    def value(self, value: object) -> str:
        match value:
            case Node():
                return value.name
            case None | bool() | bytes():
                return repr(value)
            case int() | str():  # also of a subclass that prints itself in another way
                return int.__repr__(value) if isinstance(value, int) else str.__repr__(value)
            case float():
                return _float_text(value)
            case complex():
                return f"complex({_float_text(value.real)}, {_float_text(value.imag)})"
            case tuple():
                items = ", ".join(self.value(item) for item in value)
                if hasattr(value, "_fields"):
                    return f"{self.object(type(value))}({items})"
                return f"({items},)" if len(value) == 1 else f"({items})"
            case list():
                return f"[{', '.join(self.value(item) for item in value)}]"
            case dict():
                pairs = (f"{self.value(key)}: {self.value(item)}" for key, item in value.items())
                return f"{{{', '.join(pairs)}}}"
            case slice():
                parts = (self.value(part) for part in (value.start, value.stop, value.step))
                return f"slice({', '.join(parts)})"
            case _ if value is ...:
                return "..."
            case _:
                return self.object(value)

    def object(self, value: object) -> str:
        """Return an expression for an object: its import path if it has one, else a new global."""
        known = self.object_names.get(id(value))
        if known is not None:
            return known
        path = import_path(value)
        if path is not None:
            module, expression = path
            self.modules[module] = sys.modules[module]
            name = expression
        else:
            wish = getattr(value, "__name__", None) or type(value).__name__.lower()
            name = f"_{to_identifier(str(wish))}_{len(self.objects)}"
            self.objects[name] = value
        self.object_names[id(value)] = name
        return name


def import_path(value: object) -> tuple[str, str] | None:
    """Return the module to import and the expression that then gives `value`, if there is one."""
    if callable(value):
        text = target_text(value)
    elif repr(value).replace(".", "_").isidentifier():
        text = repr(value)
    else:
        return None
    parts = text.split(".")
    found: object = sys.modules.get(parts[0])
    for part in parts[1:]:
        found = getattr(found, part, None)
    if found is not value and (found != value or type(found) is not type(value)):
        return None
    prefixes = (".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return next(prefix for prefix in prefixes if prefix in sys.modules), text


def attribute_path(root: str, path: str) -> str:
    """Return the expression that reads a dotted path, whose parts may be numbers, from `root`."""
    expression = root
    for part in path.split("."):
        if part.isidentifier() and not keyword.iskeyword(part):
            expression = f"{expression}.{part}"
        else:
            expression = f"getattr({expression}, {part!r})"
    return expression


def value_comment(node: Node) -> str:
    """Return `  # float32 (64, 128)  model.py:12`: what is known of a node's value and origin."""
    notes = []
    value = node.meta.get("val")
    shape = getattr(value, "shape", None)
    if shape is not None:
        dtype = getattr(value, "dtype", "")
        notes.append(f"{str(dtype).rpartition('.')[2]} {tuple(shape)}")
    stack = node.meta.get("stack")
    if stack is not None:
        notes.append(str(stack))
    return f"  # {'  '.join(notes)}" if notes else ""


def _is_atom(value: object) -> bool:
    """Whether a value needs no parentheses beside an infix operator, and no call to be printed."""
    if isinstance(value, (int, float)):
        return math.isfinite(value) and value >= 0 and math.copysign(1, value) > 0
    return isinstance(value, (Node, str, list, tuple, slice, NoneType, EllipsisType))


def _float_text(value: float) -> str:
    """Text of a float, also of a NumPy one."""
    return float.__repr__(value) if math.isfinite(value) else f"float({float.__repr__(value)!r})"
