"""Declarations as text for people: types, signatures, and what their kind says of them.

In: an `Operator`. Out: the strings that `help()`, the type stubs and the reference pages show, so that all three say
the same.

>>> from tensorplay.ops.registry import tp
>>> signature(tp.gelu)
"gelu(input: Tensor, approximate: str = 'none') -> Tensor"
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from tensorplay.ops.kinds import Pointwise, Reduction, View
from tensorplay.ops.kinds.pointwise import FLOAT
from tensorplay.ops.signature import Parameter, Role

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator

_TYPES = {
    Role.TENSOR: "Tensor", Role.SCALAR: "Tensor | Number", Role.STATIC: "Tensor | Number", Role.MASK: "Tensor",
    Role.RAW: "Tensor", Role.TENSORS: "Sequence[Tensor]", Role.SLOTS: "Sequence[Tensor | None]", Role.PARTS: "Tensor | Sequence[Tensor]", Role.SIZES: "int | Sequence[int]",
    Role.SIZE: "int | Sequence[int]", Role.DIMS: "int | Sequence[int] | None", Role.EACH: "int | Sequence[int]",
    Role.DTYPE: "DType | type", Role.DEVICE: "Device | str",
}  # fmt: skip


def type_of(parameter: Parameter) -> str:
    """The type that a caller may pass."""
    if parameter.role is Role.PLAIN:
        return parameter.annotation
    text = _TYPES[parameter.role]
    return f"{text} | None" if parameter.optional and not text.endswith("None") else text


def result_of(operator: Operator) -> str:
    """The type of the result, from the declaration's own."""
    text = str(operator.function.__annotations__.get("return", "Tensor"))
    text = re.sub(r"\b(Value|Array|ViewMap)\b", "Tensor", text)
    return text if re.fullmatch(r"Tensor|Any|tuple\[(Tensor(, )?)+(\.\.\.)?\]", text) else "Any"


def annotations_of(operator: Operator) -> dict[str, str]:
    """What the public function is annotated with."""
    found = {each.name: type_of(each) for each in operator.signature.parameters}
    return {**found, "return": result_of(operator)}


def signature(operator: Operator, *, method: bool = False) -> str:
    """The call as text, with types and defaults."""
    own = operator.signature.parameters[1:] if method else operator.signature.parameters
    parts: list[str] = []
    star = False
    for each in own:
        if each.keyword_only and not star:
            parts.append("*")
            star = True
        default = "" if each.required else f" = {each.default!r}"
        parts.append(f"{each.name}: {type_of(each)}{default}")
    name = f"Tensor.{operator.name}" if method else operator.name
    return f"{name}({', '.join(parts)}) -> {result_of(operator)}"


def documentation(operator: Operator) -> str:
    """The declared docstring, and what follows from the kind."""
    return "\n\n".join(filter(None, [inspect.cleandoc(operator.doc), " ".join(remarks(operator))]))


def remarks(operator: Operator) -> list[str]:
    """Sentences on shapes, dtypes and derivatives that hold for all operators of the kind."""
    found: list[str] = []
    kind = operator.kind
    if isinstance(kind, Pointwise) and kind.shape is None:
        found.append("Elementwise: tensors broadcast, and have their common dtype first")
        found[-1] += (
            "; integers and bools become the default float dtype."
            if kind.promotion is FLOAT
            else "."
        )
    elif isinstance(kind, Reduction) and "dim" in operator.signature.places:
        found.append("`dim` is reduced; None, where it may be, is all dimensions.")
        if "keepdim" in operator.signature.places:
            found.append("`keepdim=True` keeps reduced dimensions with size 1.")
    elif isinstance(kind, View):
        found.append("The result is a view: it shares the memory of `input`.")
    if operator.not_differentiable:
        found.append(f"There is no derivative: {operator.not_differentiable}.")
    return found
