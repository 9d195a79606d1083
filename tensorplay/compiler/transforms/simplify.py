"""Algebra that is exact in IEEE 754, node by node. Class: bitwise.

x*1, x/1, x-0, x+(-0.0), x**1 are x, NaN, infinities and the sign of zero included. x+0 is x only for
integers, or where x is known not to be -0.0. x/2 is x*0.5, and so for every power of two, because
both round the same real number. x*0, x-x, x/3 and re-association stay as they are: they would change
NaN, infinities or rounding. Explicit conversions stay, except to the dtype that a value has, and back
from one that holds all its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tensorplay.compiler.phases import operator_of
from tensorplay.compiler.transforms.fold import uniform_values
from tensorplay.compiler.transforms.rewriting import Rewriter, call_of
from tensorplay.core.dtypes import DType, finfo
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Graph, Node

WEIGHTS: Final[Mapping[str, int]] = {"div": 2}
"""Weights of operators in the measure that rewrites lower; 1 for those that aren't named."""

_VIEW_CHAIN: Final = 4
"""How many views back a view is compared with: `t(t(x))` is x."""


def simplify(graph: Graph) -> int:
    """Apply the rules once to every node, in order; return how many nodes were replaced."""
    known = _Known(graph)
    replaced = 0
    for node in graph.nodes:
        operator = operator_of(node)
        if operator is None:
            continue
        rule = _same_layout_as_source if operator.kind.is_view else _RULES.get(operator.name)
        other = rule(known, node) if rule is not None else None
        if other is not None and known.rewriter.replace(node, other):
            replaced += 1
    return replaced


class _Known:
    """The graph under rewriting and the numbers that are known in it."""

    def __init__(self, graph: Graph) -> None:
        self.rewriter = Rewriter(graph)
        self.uniform: Mapping[Node, Any] = uniform_values(graph)

    def number(self, value: object) -> float | None:
        """Return the real number that an argument is, if it is known."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        array = self.uniform.get(value) if isinstance(value, Node) else None
        if array is None or array.dtype.kind in "bc":
            return None
        number: float = array.reshape(()).item()
        return number


Rule: TypeAlias = "Callable[[_Known, Node], Node | None]"


def is_exactly(number: float | None, value: float) -> bool:
    """Whether a number is known and equals `value`, the sign of zero included (0 counts as 0.0)."""
    if number is None or number != value:
        return False
    return bool(number) or math.copysign(1, number) == math.copysign(1, value)


def never_negative_zero(known: _Known, value: object, depth: int = 8) -> bool:
    """Whether no element can be -0.0."""
    number = known.number(value)
    if number is not None:
        return not is_exactly(number, -0.0)
    if not isinstance(value, Node) or depth == 0:
        return False
    if _dtype(value).kind in "bui":
        return True
    operator = operator_of(value)
    name = "" if operator is None else operator.name
    if name in {"abs", "square", "exp", "exp2", "cosh", "sigmoid"}:
        return True
    if name == "mul":
        return value.args[0] is value.args[1]
    if name == "add" and value.kwargs["alpha"] == 1:
        return any(never_negative_zero(known, each, depth - 1) for each in value.args[:2])
    return False


def _dtype(node: Node) -> DType:
    meta = node.meta["val"]
    if not isinstance(meta, TensorMeta):
        raise TypeError(f"%{node.name} is no single tensor")
    return meta.dtype


def _beside(
    node: Node, is_neutral: Callable[[object, Node], bool], *, commutative: bool
) -> Node | None:
    """Return the tensor operand beside a neutral one."""
    first, second = node.args[:2]
    if isinstance(first, Node) and is_neutral(second, first):
        return first
    if commutative and isinstance(second, Node) and is_neutral(first, second):
        return second
    return None


def _mul(known: _Known, node: Node) -> Node | None:
    return _beside(node, lambda n, _: is_exactly(known.number(n), 1), commutative=True)


def _add(known: _Known, node: Node) -> Node | None:
    if node.kwargs["alpha"] != 1:
        return None

    def is_neutral(number: object, other: Node) -> bool:
        value = known.number(number)
        return is_exactly(value, -0.0) or (value == 0 and never_negative_zero(known, other))

    return _beside(node, is_neutral, commutative=True)


def _sub(known: _Known, node: Node) -> Node | None:
    if node.kwargs["alpha"] != 1:
        return None

    def is_neutral(number: object, other: Node) -> bool:
        value = known.number(number)
        return is_exactly(value, 0.0) or (value == 0 and never_negative_zero(known, other))

    return _beside(node, is_neutral, commutative=False)


def _div(known: _Known, node: Node) -> Node | None:
    first, second = node.args[:2]
    number = known.number(second)
    if not isinstance(first, Node) or not number or node.kwargs["rounding_mode"] is not None:
        return None
    if number == 1:
        return first
    if _dtype(first) is not _dtype(node) or _dtype(node).kind != "f" or not math.isfinite(number):
        return None
    smallest = finfo(_dtype(node).compute).tiny
    if math.frexp(abs(number))[0] != 0.5 or not smallest <= abs(1 / number) <= 1 / smallest:
        return None
    return known.rewriter.call(node, "mul", first, 1 / number)


def _pow(known: _Known, node: Node) -> Node | None:
    return _beside(node, lambda n, _: is_exactly(known.number(n), 1), commutative=False)


def _involution(_known: _Known, node: Node) -> Node | None:
    """f(f(x)) is x."""
    operator = operator_of(node)
    inner = call_of(node.args[0], operator.name) if operator is not None else None
    return inner.inputs[0] if inner is not None else None


def _idempotent(_known: _Known, node: Node) -> Node | None:
    """f(f(x)) is f(x), if both are called with the same other arguments."""
    operator = operator_of(node)
    inner = call_of(node.args[0], operator.name) if operator is not None else None
    if inner is None or inner.args[1:] != node.args[1:] or inner.kwargs != node.kwargs:
        return None
    return inner


def _equal_operands(_known: _Known, node: Node) -> Node | None:
    """f(x, x) is x."""
    first, second = node.args[:2]
    return first if isinstance(first, Node) and first is second else None


def _where(_known: _Known, node: Node) -> Node | None:
    first, second = node.args[1:3]
    return first if isinstance(first, Node) and first is second else None


def _copy(_known: _Known, node: Node) -> Node | None:
    return node.inputs[0]


def _convert(_known: _Known, node: Node) -> Node | None:
    (source,) = node.inputs
    if _dtype(source) is _dtype(node):
        return source
    inner = call_of(source, "to_copy")
    if inner is not None and holds_all_values(_dtype(source), _dtype(inner.inputs[0])):
        return inner.inputs[0]
    return None


def holds_all_values(wide: DType, narrow: DType) -> bool:
    """Whether every value of `narrow` is one of `wide`."""
    if narrow.kind == "b" or wide is narrow:
        return wide.kind != "b" or narrow.kind == "b"
    if narrow.kind == wide.kind == "f":
        a, b = finfo(wide), finfo(narrow)
        return bool(a.eps <= b.eps and a.max >= b.max and a.tiny <= b.tiny)
    bits = 8 * narrow.itemsize
    if narrow.kind in "iu" and wide.kind == "f":
        return bool(finfo(wide).eps <= 2.0 ** (1 - bits) and finfo(wide).max >= 2.0**bits)
    if narrow.kind == wide.kind:
        return wide.itemsize >= narrow.itemsize
    return narrow.kind == "u" and wide.kind == "i" and wide.itemsize > narrow.itemsize


def _same_layout_as_source(_known: _Known, node: Node) -> Node | None:
    """A view, or a view of a view, with the layout of what it views is that."""
    meta = node.meta["val"]
    source = node
    for _ in range(_VIEW_CHAIN):
        operator = operator_of(source)
        if operator is None or not operator.kind.is_view:
            return None
        source = source.inputs[0]
        if source.meta["val"] == meta:
            return source
    return None


_RULES: Final[Mapping[str, Rule]] = {
    "mul": _mul,
    "add": _add,
    "sub": _sub,
    "div": _div,
    "pow": _pow,
    "neg": _involution,
    "bitwise_not": _involution,
    "logical_not": _involution,
    "abs": _idempotent,
    "relu": _idempotent,
    "floor": _idempotent,
    "ceil": _idempotent,
    "trunc": _idempotent,
    "round": _idempotent,
    "sign": _idempotent,
    "maximum": _equal_operands,
    "minimum": _equal_operands,
    "logical_and": _equal_operands,
    "logical_or": _equal_operands,
    "bitwise_and": _equal_operands,
    "bitwise_or": _equal_operands,
    "where": _where,
    "clone": _copy,
    "contiguous_copy": _copy,
    "to_copy": _convert,
}
"""Rules by operator; views have one for all. What a rule returns replaces the node if it can."""
