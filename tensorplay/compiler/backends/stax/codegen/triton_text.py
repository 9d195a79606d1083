"""Triton words for dtypes, numbers and index expressions.

In: dtypes, Python numbers, `Expr`s. Out: text of a kernel's body, or of its signature.

    >>> from tensorplay.core.dtypes import bool_, float32
    >>> type_text(float32), pointer_type(bool_), number_text(2.0), constant_text(-0.0, float32)
    ('tl.float32', '*i1', '2.0', 'tl.full([], -0.0, tl.float32)')
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tensorplay.compiler.backends.stax.index import Expr, Mod, Symbol, sort_key
from tensorplay.core.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tensorplay.compiler.backends.stax.index import Atom
    from tensorplay.compiler.backends.stax.loop_body import Constant, Scalar
    from tensorplay.core.dtypes import DType

TYPES: Final = {
    "bool": ("tl.int1", "i1"),
    **{f"int{bits}": (f"tl.int{bits}", f"i{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (f"tl.uint{bits}", f"u{bits}") for bits in (8, 16, 32, 64)},
    "float16": ("tl.float16", "fp16"),
    "bfloat16": ("tl.bfloat16", "bf16"),
    "float32": ("tl.float32", "fp32"),
    "float64": ("tl.float64", "fp64"),
}


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the kernel: its name or text, its dtype, and the axes along which it varies.

    A ``constant`` has its number, and no name. ``parts`` are the components of a reduction with several.
    """

    text: str
    dtype: DType
    axes: frozenset[str] = frozenset()
    constant: Constant | None = None
    parts: tuple[str, ...] = ()


def type_text(dtype: DType) -> str:
    """Return the name of a dtype in a kernel's body."""
    return names_of(dtype)[0]


def pointer_type(dtype: DType) -> str:
    """Return the type of a pointer to a dtype in a kernel's signature."""
    return f"*{names_of(dtype)[1]}"


def names_of(dtype: DType) -> tuple[str, str]:
    """Return both names of a dtype."""
    names = TYPES.get(dtype.name)
    if names is None:
        raise CompileError(f"Triton has no {dtype.name}: this kernel cannot be printed for a GPU")
    return names


def number_text(value: Scalar) -> str:
    """Return a number as a bare literal, which takes the type of the operand beside it."""
    if isinstance(value, complex):
        raise CompileError("Triton has no complex numbers: this kernel cannot be printed for a GPU")
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def constant_text(value: Scalar, dtype: DType) -> str:
    """Return a number with its type; numbers of another kind are converted first."""
    if dtype.kind == "f":
        value = float(value)  # type: ignore[arg-type]  # complex constants have complex dtypes
    elif dtype.kind == "b":
        value = bool(value)
    elif dtype.kind in "iu":
        value = int(value)  # type: ignore[arg-type]  # the same
    return f"tl.full([], {number_text(value)}, {type_text(dtype)})"


def index_text(index: Expr, name_of: Callable[[Symbol], str]) -> str:
    """Return an index expression; division and remainder are C's, so those of negative numbers call a function."""
    return "".join(pieces(index, name_of)) or "0"


def pieces(index: Expr, name_of: Callable[[Symbol], str]) -> Iterator[str]:
    """Yield the terms with their signs, in the order of their symbols, the constant last."""
    first = True
    for monomial, coefficient in sorted(index.terms.items(), key=lambda item: sort_key(item[0])):
        product = "*".join(atom_text(atom, name_of) for atom in monomial)
        size = abs(coefficient)
        yield ("-" if coefficient < 0 else "") if first else (" - " if coefficient < 0 else " + ")
        yield product if size == 1 else f"{size}*{product}"
        first = False
    if index.constant:
        sign = "-" if index.constant < 0 else ""
        yield (sign if first else f" {sign or '+'} ") + str(abs(index.constant))


def atom_text(atom: Atom, name_of: Callable[[Symbol], str]) -> str:
    """Return a symbol's name, or a division in parentheses."""
    if isinstance(atom, Symbol):
        return name_of(atom)
    numerator = index_text(atom.numerator, name_of)
    divisor = index_text(atom.divisor, name_of)
    if atom.numerator.bounds.lower >= 0 and atom.divisor.bounds.lower > 0:
        left = numerator if atom.numerator.as_symbol() is not None else f"({numerator})"
        right = divisor if atom.divisor.is_constant or atom.divisor.as_symbol() else f"({divisor})"
        return f"({left} {atom.operator} {right})"
    function = "tp_remainder" if isinstance(atom, Mod) else "tp_floordiv"
    return f"{function}({numerator}, {divisor})"
