"""C++ words for dtypes, numbers and index expressions.

In: dtypes, Python numbers, `Expr`s. Out: text. Types in memory and types in registers differ for the half types, which
are held as ``float``.

    >>> from tensorplay.core.dtypes import bfloat16, float32, int8
    >>> memory_type(bfloat16), register_type(bfloat16)
    ('bfloat16', 'float')
    >>> literal(0.1, float32), literal(-3, int8), literal(float("inf"), float32)
    ('0.1f', 'int8_t(-3)', '__builtin_inff()')
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from tensorplay.compiler.backends.stax.index import Expr, FloorDiv, Mod, Monomial, Symbol, sort_key
from tensorplay.core.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorplay.compiler.backends.stax.loop_body import Scalar
    from tensorplay.core.dtypes import DType

REGISTER_TYPES = {
    "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
}
MEMORY_TYPES = {**REGISTER_TYPES, "float16": "half", "bfloat16": "bfloat16"}


def register_type(dtype: DType) -> str:
    """Return the C++ type of one value in a register."""
    try:
        return REGISTER_TYPES[dtype.name]
    except KeyError:
        raise CompileError(
            f"{dtype} has no C++ type; complex operators run in external calls"
        ) from None


def memory_type(dtype: DType) -> str:
    """Return the C++ type of one element in memory."""
    register_type(dtype)
    return MEMORY_TYPES[dtype.name]


def register_bytes(dtype: DType) -> int:
    """Return the size of one value in a register."""
    return dtype.compute.itemsize


def vector_type(dtype: DType, lanes: int) -> str:
    """Return the type of ``lanes`` values; one of bools that come from memory."""
    if dtype.kind == "b":
        return f"Mask<1, {lanes}>"
    return f"Vec<{register_type(dtype)}, {lanes}>"


MOST_STACK_BYTES = 128 << 10
"""Larger arrays lie outside the stack, which may be small in a thread that isn't ours."""


def array_text(kind: str, name: str, size: int) -> str:
    """Return the declaration of an array of ``size`` elements of a C++ type."""
    where = "" if size * 8 <= MOST_STACK_BYTES else "static thread_local "
    return f"alignas(64) {where}{kind} {name}[{size}];"


def literal(value: Scalar, dtype: DType) -> str:
    """Return a number, rounded to ``dtype``, as an expression of its register type."""
    if isinstance(value, complex):
        raise CompileError(
            f"the constant {value} is complex; complex operators run in external calls"
        )
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind != "f":
        return integer_literal(int(value), dtype)
    with np.errstate(over="ignore"):
        number = (
            float(np.float32(value).astype(dtype.numpy))
            if dtype.compute is not dtype
            else float(value)
        )
    single = dtype.compute.itemsize == 4
    suffix = "f" if single else ""
    if math.isnan(number):
        return f'__builtin_nan{suffix}("")'
    if single:
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
    if math.isinf(number):
        return f"__builtin_inf{suffix}()" if number > 0 else f"(-__builtin_inf{suffix}())"
    digits = str(np.float32(number)) if single else repr(number)
    if re.fullmatch(r"-?\d+", digits):
        digits += ".0"
    return f"({digits}{suffix})" if digits.startswith("-") else f"{digits}{suffix}"


def integer_literal(value: int, dtype: DType) -> str:
    """Return an integer of exactly the type of ``dtype``."""
    if dtype.name == "int32" and value != -(1 << 31):
        return str(value) if value >= 0 else f"({value})"
    name = register_type(dtype)
    if dtype.name == "uint64":
        return f"{name}({value}u)"
    if value == -(1 << 63):
        return f"{name}(-9223372036854775807 - 1)"
    return f"{name}({value})"


def index_text(index: Expr, name: Callable[[Symbol], str] = str) -> str:
    """Return an index expression in 64-bit arithmetic; ``name`` says what stands for a symbol.

    C++ divides toward zero, so a numerator that may be negative goes through ``tp::floordiv``.
    """
    pieces: list[str] = []
    for monomial, coefficient in sorted(index.terms.items(), key=outermost_first):
        product = "*".join(atom_text(a, name) for a in monomial)
        size = abs(coefficient)
        sign = (
            ("-" if coefficient < 0 else "")
            if not pieces
            else (" - " if coefficient < 0 else " + ")
        )
        pieces.append(f"{sign}{product}" if size == 1 else f"{sign}{size}*{product}")
    constant = index.constant
    if not pieces:
        return str(constant)
    if constant:
        pieces.append(f" - {-constant}" if constant < 0 else f" + {constant}")
    return "".join(pieces)


def outermost_first(term: tuple[Monomial, int]) -> tuple[int, object]:
    """Order terms by falling steps, then by their symbols."""
    return -abs(term[1]), sort_key(term[0])


def atom_text(atom: Symbol | FloorDiv, name: Callable[[Symbol], str]) -> str:
    """Return a symbol, a quotient or a remainder."""
    if isinstance(atom, Symbol):
        return name(atom)
    numerator, divisor = index_text(atom.numerator, name), index_text(atom.divisor, name)
    if atom.numerator.bounds.lower >= 0 and atom.divisor.bounds.lower > 0:
        operator = "%" if isinstance(atom, Mod) else "/"
        return f"({in_parentheses(numerator)} {operator} {in_parentheses(divisor)})"
    function = "remainder" if isinstance(atom, Mod) else "floordiv"
    return f"{function}<int64_t>({numerator}, {divisor})"


def in_parentheses(text: str) -> str:
    """Return an operand: a single word as it is, anything else in parentheses."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"
