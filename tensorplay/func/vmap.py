"""`vmap`: a function of samples becomes a function of batches.

In: a function, and which dimension of each argument is the batch. Out: a function that computes all
samples at once, with one run of the given one, whose operators follow their batching rules
(`autograd.batching`).

>>> import tensorplay as tp
>>> from tensorplay.func import grad, vmap
>>> a, b = tp.arange(6.0).reshape(3, 2), tp.ones(2)
>>> vmap(tp.dot, in_dims=(0, None))(a, b)
tensor([1., 5., 9.])
>>> vmap(grad(lambda x: (x**3).sum()))(a)
tensor([[ 0.,  3.],
        [12., 27.],
        [48., 75.]])
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias

import optree

from tensorplay.autograd.batching import BatchLevel, Randomness
from tensorplay.core import layout
from tensorplay.core.errors import ArgumentError, ArgumentValueError, DimensionError, ShapeError
from tensorplay.functions import cat
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Dims: TypeAlias = Any
"""A dimension, None, or a tree of them: a prefix of the tree of the arguments or results."""


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: Randomness = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes ``func`` for a batch of samples.

    - ``in_dims``: the dimension of each positional argument that is the batch, None for arguments
      that all samples share. One number for all, or a tuple with an entry an argument, each a number,
      None, or a tree of these in the shape of the argument. Negative ones count from the end. Keyword
      arguments are shared.
    - ``out_dims``: where the batch goes in each result, in the same manner.
    - ``randomness``: what random numbers do: ``"error"`` refuses them, ``"different"`` draws for each
      sample, ``"same"`` once for all.
    - ``chunk_size``: compute so many samples at a time, which bounds memory.

    ``func`` sees tensors without the batch dimension. It may view, write, differentiate, and call
    transforms; control flow that depends on data is refused, with the line that asked. Operators
    without a batching rule are computed sample by sample, with a warning (`BatchWarning`, once for
    each operator), because that is slow but right.
    """
    if randomness not in ("error", "different", "same"):
        raise ArgumentValueError(
            f"vmap: randomness is 'error', 'different' or 'same', not {randomness!r}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise ArgumentValueError(f"vmap: chunk_size is a positive number, not {chunk_size!r}")

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as func
        leaves, dims, rebuild = _inputs(args, in_dims)
        size = _batch_size(leaves, dims)
        wholes = [
            leaf if dim is None else leaf.movedim(dim, 0)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        if chunk_size is None or size <= chunk_size:
            return _run(func, wholes, dims, rebuild, kwargs, out_dims, randomness, size)
        parts = []
        for start in range(0, size, chunk_size):
            count = min(chunk_size, size - start)
            part = [
                whole if dim is None else whole.narrow(0, start, count)
                for whole, dim in zip(wholes, dims, strict=True)
            ]
            parts.append(_run(func, part, dims, rebuild, kwargs, out_dims, randomness, count))
        return _joined(parts, out_dims)

    return wrapper


def _run(
    func: Callable[..., Any],
    wholes: Sequence[Any],
    dims: Sequence[int | None],
    rebuild: Callable[[Sequence[Any]], Any],
    kwargs: dict[str, Any],
    out_dims: Dims,
    randomness: Randomness,
    size: int,
) -> Any:  # noqa: ANN401 - trees of tensors
    """Run the function once for all samples of tensors with the batch in front."""
    level = BatchLevel(size, randomness)
    with level:
        samples = [
            whole if dim is None else level.sample(whole)
            for whole, dim in zip(wholes, dims, strict=True)
        ]
        outcome = func(*rebuild(samples), **kwargs)
    leaves, structure = optree.tree_flatten(outcome, none_is_leaf=True, namespace="tensorplay")
    places = _prefix(out_dims, outcome, structure.num_leaves, "out_dims", "results")
    results = []
    for leaf, place in zip(leaves, places, strict=True):
        if not isinstance(leaf, Tensor):
            raise ArgumentError(
                f"vmap: the function has to return tensors (or trees of them), found "
                f"{type(leaf).__name__}"
            )
        if place is None:
            if level.is_sample(leaf):
                raise ArgumentValueError(
                    "vmap: out_dims=None is for results that all samples share, but this result "
                    f"of shape {tuple(leaf.shape)} differs between samples; give a dimension"
                )
            results.append(leaf)
            continue
        whole = level.whole(leaf)
        results.append(whole if place == 0 else whole.movedim(0, _placed(place, whole.ndim)))
    return optree.tree_unflatten(structure, results)


def _placed(place: int, ndim: int) -> int:
    if not -ndim <= place < ndim:
        raise DimensionError(
            f"vmap: out_dims={place} is no dimension of a result that has {ndim} with the batch"
        )
    return place


def _inputs(
    args: tuple[Any, ...], in_dims: Dims
) -> tuple[list[Any], list[int | None], Callable[[Sequence[Any]], Any]]:
    """The leaves of the arguments, the dimension of each, and what makes arguments of leaves."""
    if not isinstance(in_dims, (int, tuple, list)):
        raise ArgumentError(
            f"vmap: in_dims is a dimension or a tuple with an entry for each argument, not {in_dims!r}"
        )
    if not args:
        raise ArgumentError("vmap: the function needs a positional argument that holds the batch")
    if not isinstance(in_dims, int) and len(in_dims) != len(args):
        raise ArgumentError(
            f"vmap: in_dims has {len(in_dims)} entries for {len(args)} positional arguments"
        )
    tree: Any = args
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace="tensorplay")
    given = in_dims if isinstance(in_dims, int) else tuple(in_dims)
    dims = _prefix(given, args, structure.num_leaves, "in_dims", "arguments")
    found: list[int | None] = []
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            found.append(None)
            continue
        if not isinstance(leaf, Tensor):
            raise ArgumentError(
                f"vmap: in_dims={dim} for an argument of type {type(leaf).__name__}; only tensors "
                "hold a batch, use None for others"
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise DimensionError(
                f"vmap: in_dims={dim} is no dimension of an argument of shape {tuple(leaf.shape)}"
            )
        found.append(layout.normalize_dim("vmap", dim, leaf.ndim))

    def rebuild(values: Sequence[Any]) -> Any:  # noqa: ANN401 - the arguments
        return optree.tree_unflatten(structure, values)

    return leaves, found, rebuild


def _prefix(dims: Dims, tree: Any, count: int, what: str, of: str) -> list[int | None]:  # noqa: ANN401  # any value
    """One dimension for each leaf of a tree, from a prefix of the tree."""
    if isinstance(dims, int) and not isinstance(dims, bool):
        return [dims] * count
    try:
        spread = optree.broadcast_prefix(dims, tree, none_is_leaf=True, namespace="tensorplay")
    except ValueError as error:
        raise ArgumentError(
            f"vmap: {what}={dims!r} does not have the structure of the {of}: {error}"
        ) from None
    for each in spread:
        if each is not None and (not isinstance(each, int) or isinstance(each, bool)):
            raise ArgumentError(
                f"vmap: {what} holds dimensions and None, found {type(each).__name__}"
            )
    return list(spread)


def _batch_size(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ArgumentValueError(
            "vmap: no argument holds the batch: every entry of in_dims is None"
        )
    if any(each != sizes[0] for each in sizes):
        raise ShapeError(f"vmap: the arguments hold batches of different sizes: {sizes}")
    size: int = sizes[0]
    return size


def _joined(parts: Sequence[Any], out_dims: Dims) -> Any:  # noqa: ANN401 - trees of tensors
    """The results of chunks along the batch; those that all samples share once."""
    structure = optree.tree_structure(parts[0], none_is_leaf=True, namespace="tensorplay")
    places = _prefix(out_dims, parts[0], structure.num_leaves, "out_dims", "results")
    columns = zip(
        *(optree.tree_leaves(each, none_is_leaf=True, namespace="tensorplay") for each in parts),
        strict=True,
    )
    joined = [
        column[0] if place is None else cat(list(column), place)
        for column, place in zip(columns, places, strict=True)
    ]
    return optree.tree_unflatten(structure, joined)


__all__ = ["vmap"]
