"""The public functions: one for each operator in the registry, and the few that are not operators.

`tensorplay.relu`, `tensorplay.nn.functional.relu` and `Tensor.relu` come from one declaration; operators declared later
join as they are declared.
"""

from __future__ import annotations

from tensorplay import entries, methods
from tensorplay.ops import library
from tensorplay.ops.registry import Operator, tp
from tensorplay.tensor import Tensor, as_tensor, from_dlpack, from_numpy, is_tensor
from tensorplay.tensor import tensor_from_data as tensor

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift", "matmul": "matmul",
}  # fmt: skip
"""Names in Python's `operator` module, and the operators behind them."""
_COMPARISON = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne"}
_UNARY = {"neg": "neg", "invert": "bitwise_not", "abs": "abs"}


def _publish(operator: Operator) -> None:
    """Make the function and the methods of an operator."""
    if operator.is_function:
        globals()[operator.name] = entries.make_function(operator)
        PUBLIC.add(operator.name)
    if operator.is_method and operator.name not in Tensor.__dict__:
        setattr(Tensor, operator.name, entries.make_method(operator))
    if operator.has_inplace:
        setattr(Tensor, operator.name + "_", entries.make_inplace_method(operator))
    for symbol, name in _BINARY.items():
        if name == operator.name:
            plain = symbol.rstrip("_")
            setattr(Tensor, f"__{plain}__", entries.make_binary_dunder(operator, symbol, reflected=False))
            setattr(Tensor, f"__r{plain}__", entries.make_binary_dunder(operator, symbol, reflected=True))
            if operator.has_inplace:
                setattr(Tensor, f"__i{plain}__", entries.make_inplace_dunder(operator, f"i{plain}"))
    for symbol, name in _COMPARISON.items():
        if name == operator.name:
            setattr(Tensor, f"__{symbol}__", entries.make_binary_dunder(operator, symbol, reflected=False))
    for symbol, name in _UNARY.items():
        if name == operator.name:
            setattr(Tensor, f"__{symbol}__", entries.make_unary_dunder(operator, symbol))


PUBLIC: set[str] = {"tensor", "as_tensor", "from_dlpack", "from_numpy", "is_tensor"}
"""The names of all public functions."""

library.load()
methods.attach()
for _operator in tp:
    _publish(_operator)
tp.on_declaration(_publish)


__all__ = sorted(PUBLIC)  # noqa: PLE0605  # the registry names them
