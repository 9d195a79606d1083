"""Arguments and results as lists of tensors, and back.

>>> import tensorplay as tp
>>> tensors, rebuild = flatten("grad", "argument 0", {"w": tp.ones(2), "b": tp.ones(1)})
>>> rebuild([t * 2 for t in tensors])
{'w': tensor([2., 2.]), 'b': tensor([2.])}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import optree

from tensorplay.core.errors import ArgumentError
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Argnums: TypeAlias = "int | tuple[int, ...]"
Rebuild: TypeAlias = "Callable[[Sequence[Any]], Any]"


def flatten(name: str, what: str, tree: Any) -> tuple[list[Tensor], Rebuild]:  # noqa: ANN401 - any tree
    """Return the tensors of a tree, and what makes such a tree of other values."""
    leaves, structure = optree.tree_flatten(tree, namespace="tensorplay")
    for each in leaves:
        if not isinstance(each, Tensor):
            raise ArgumentError(
                f"{name}: {what} must hold tensors only, found {type(each).__name__}; pass other "
                "values as arguments that are not differentiated, or in a closure"
            )

    def rebuild(values: Sequence[Any]) -> Any:  # noqa: ANN401 - a tree
        return optree.tree_unflatten(structure, values)

    return leaves, rebuild


def chosen(name: str, args: tuple[Any, ...], argnums: Argnums) -> Any:  # noqa: ANN401 - a tree
    """Return the arguments with these numbers: one, or a tuple."""
    numbers: tuple[object, ...] = argnums if isinstance(argnums, tuple) else (argnums,)
    places: list[int] = []
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool):
            raise ArgumentError(f"{name}: argnums is an int or a tuple of ints, not {argnums!r}")
        if not -len(args) <= number < len(args):
            raise ArgumentError(
                f"{name}: argnums names argument {number}, but the call has {len(args)} positional "
                "arguments"
            )
        places.append(number % len(args))
    if len(set(places)) < len(places) or not places:
        raise ArgumentError(f"{name}: argnums has to name arguments once each, found {argnums!r}")
    return tuple(args[i] for i in places) if isinstance(argnums, tuple) else args[argnums]


def replaced(args: tuple[Any, ...], argnums: Argnums, values: Any) -> tuple[Any, ...]:  # noqa: ANN401  # tensors, or what an operator takes for one
    """Return the arguments with those of these numbers (see `chosen`) replaced."""
    result = list(args)
    if isinstance(argnums, tuple):
        for number, value in zip(argnums, values, strict=True):
            result[number] = value
    else:
        result[argnums] = values
    return tuple(result)


def with_aux(name: str, outcome: Any, has_aux: bool) -> tuple[Any, Any]:  # noqa: ANN401 - trees
    """Return what a function returned as output and auxiliary data (None without)."""
    if not has_aux:
        return outcome, None
    if not isinstance(outcome, tuple) or len(outcome) != 2:
        raise ArgumentError(
            f"{name}: with has_aux=True the function returns a tuple (output, aux), found "
            f"{type(outcome).__name__}"
        )
    return outcome
