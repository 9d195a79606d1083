"""Publishing: operators of the registry become functions of `tensorplay` and methods of `Tensor`.

Operators declared later join as they are declared. Functions and methods are generated when first
asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tensorplay import call_forms, entries, methods, views_in_place
from tensorplay.conversions import asarray, frombuffer
from tensorplay.core.cycle_collector import without_collections
from tensorplay.ops import aliases, library
from tensorplay.ops.registry import Operator, tp
from tensorplay.queries import (
    AS_METHODS,
    allclose,
    broadcast_shapes,
    broadcast_tensors,
    can_cast,
    einsum,
    equal,
    is_complex,
    is_conj,
    is_floating_point,
    is_inference,
    is_neg,
    is_nonzero,
    is_same_size,
    is_signed,
    numel,
    result_type,
)
from tensorplay.tensor import (
    Tensor,
    as_tensor,
    from_dlpack,
    from_numpy,
    is_tensor,
    tensor_from_data,
)

BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "floor_divide": "floordiv", "remainder": "mod",
    "pow": "pow", "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor", "bitwise_left_shift": "lshift",
    "bitwise_right_shift": "rshift", "matmul": "matmul",
}  # fmt: skip
"""Operators, and their names in Python's `operator` module."""
COMPARISON = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
UNARY = {"neg": "neg", "bitwise_not": "invert", "abs": "abs"}


def function_names(operator: Operator) -> list[str]:
    """The names of an operator's public functions: its own, its aliases, and those that write in place."""
    names = [operator.name, *operator.aliases]
    return [*names, *inplace_names(operator)]


def inplace_names(operator: Operator) -> list[str]:
    """The names of what writes in place: the operator's, and those of its aliases."""
    if not operator.has_inplace:
        return []
    return [operator.inplace_name, *(f"{name}_" for name in operator.aliases)]


class _LazyMethod:
    """A method that is generated at its first use and then takes this object's place."""

    def __init__(self, name: str, make: Callable[[], Callable[..., Any]]) -> None:
        self.name = name
        self.make = make

    def __get__(self, instance: Tensor | None, owner: type) -> Any:  # noqa: ANN401  # a function or a bound method
        function = self.make()
        if Tensor.__dict__.get(self.name) is self:
            setattr(Tensor, self.name, function)
        return function if instance is None else function.__get__(instance, owner)


def _attach(name: str, make: Callable[[], Callable[..., Any]]) -> None:
    setattr(Tensor, name, _LazyMethod(name, make))


def _publish(operator: Operator) -> None:
    """Announce the function and the methods of an operator."""
    name = operator.name
    if operator.is_function:
        PUBLIC.update(function_names(operator))
    if operator.is_method and name not in Tensor.__dict__:
        _attach(name, lambda: entries.make_method(operator))
        for other in operator.aliases:
            _attach(other, lambda: getattr(Tensor, name))
    if operator.has_inplace:
        writing, *others = inplace_names(operator)
        _attach(writing, lambda: entries.make_inplace_method(operator))
        for other in others:
            _attach(other, lambda: getattr(Tensor, writing))
    symbol = BINARY.get(name)
    if symbol is not None:
        plain = symbol.rstrip("_")
        _attach(
            f"__{plain}__", lambda: entries.make_binary_dunder(operator, symbol, reflected=False)
        )
        _attach(
            f"__r{plain}__", lambda: entries.make_binary_dunder(operator, symbol, reflected=True)
        )
        if name == "div":
            _attach("__rdiv__", lambda: Tensor.__rtruediv__)  # PyTorch's older name
        if operator.has_inplace:
            _attach(f"__i{plain}__", lambda: entries.make_inplace_dunder(operator, f"i{plain}"))
    if name in COMPARISON:
        _attach(f"__{name}__", lambda: entries.make_binary_dunder(operator, name, reflected=False))
    if name in UNARY:
        _attach(f"__{UNARY[name]}__", lambda: entries.make_unary_dunder(operator, UNARY[name]))


PLAIN: dict[str, Callable[..., Any]] = {
    "tensor": tensor_from_data,
    "zero_": methods.zero_,
    "fill_": methods.fill_,
    "resize_as_": views_in_place.resize_as_,
    **{
        function.__name__: function
        for function in (
            allclose, as_tensor, asarray, broadcast_shapes, broadcast_tensors, can_cast, einsum, equal, from_dlpack, frombuffer,
            *call_forms.FUNCTIONS, from_numpy, is_complex, is_conj, is_floating_point, is_inference, is_neg, is_nonzero, is_same_size, is_signed, is_tensor, numel,
            result_type,
        )
    },
}  # fmt: skip
"""The public functions that are not operators."""
PUBLIC: set[str] = set(PLAIN)
"""The names of all public functions."""

WRITTEN = frozenset(Tensor.__dict__)
"""Members of `Tensor` that are written out."""


def publish_all() -> None:
    """Load the library, check it, attach all methods, and follow the registry from now on."""
    with without_collections():  # all that declarations make stays
        library.load()
    aliases.declare_aliases()
    tp.freeze()
    methods.attach()
    views_in_place.attach()
    for function in (*AS_METHODS, *call_forms.METHODS):
        setattr(Tensor, function.__name__, function)
    for operator in tp:
        _publish(operator)
    tp.on_declaration(_publish)


@cache
def function_named(name: str) -> Callable[..., Any]:
    """The function of a name: generated for an operator, the method for one that writes in place."""
    if name in tp:
        return entries.make_function(tp[name])
    if name.endswith("_"):
        return getattr(Tensor, name)  # type: ignore[no-any-return]  # a function
    return function_named(tp[name].name)  # of an alias
