"""`jacrev`, `jacfwd`, `hessian`: whole derivatives, all rows or all columns in one batch.

A batch of backward passes is one backward pass whose gradients are samples (`vmap`): nothing is
computed again for each row but the products with the gradient. `jacfwd` runs the function once with
a batch of tangents.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tensorplay.func.transforms import forward, vjp
from tensorplay.func.trees import Argnums, chosen, flatten, replaced
from tensorplay.func.vmap import vmap
from tensorplay.functions import eye, zeros_like

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorplay.autograd.batching import Randomness
    from tensorplay.tensor import Tensor


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of ``func``, all rows in one backward pass.

    The result has the tree of ``func``'s result; for each tensor in it stands a tree as the argument
    number ``argnums`` is (for a tuple, a tuple of arguments), with tensors of shape
    ``result + argument``. With ``has_aux``, ``func`` returns ``(result, aux)`` and the new function
    ``(jacobian, aux)``. ``chunk_size`` bounds how many rows are computed at a time.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as func
        points, rebuild = flatten("jacrev", f"argument {argnums}", chosen("jacrev", args, argnums))

        def of_points(*values: Tensor) -> Any:  # noqa: ANN401 - as func
            return func(*replaced(args, argnums, rebuild(values)), **kwargs)

        outcome, pull, *aux = vjp(of_points, *points, has_aux=has_aux)
        outputs, rebuild_output = flatten("jacrev", "the result of the function", outcome)
        others = [zeros_like(each.detach()) for each in outputs]
        blocks = []
        for i, output in enumerate(outputs):

            def rows(seed: Tensor, i: int = i) -> Any:  # noqa: ANN401 - tensors
                weights = [seed if j == i else each for j, each in enumerate(others)]
                found = pull(rebuild_output(weights))
                return (found,) if len(points) == 1 else found

            found = vmap(rows, chunk_size=chunk_size)(basis(output))
            blocks.append(
                rebuild(
                    [
                        row.reshape((*output.shape, *x.shape))
                        for row, x in zip(found, points, strict=True)
                    ]
                )
            )
        jacobian = rebuild_output(blocks)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: Randomness = "error",
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of ``func``, all columns in one run in forward mode.

    Arguments and results are those of `jacrev`; ``randomness`` is that of `vmap`, over the columns.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as func
        points, rebuild = flatten("jacfwd", f"argument {argnums}", chosen("jacfwd", args, argnums))

        def of_points(*values: Tensor) -> Any:  # noqa: ANN401 - as func
            return func(*replaced(args, argnums, rebuild(values)), **kwargs)

        seen: list[Any] = []
        columns = []
        for i, point in enumerate(points):

            def column(seed: Tensor, i: int = i) -> Any:  # noqa: ANN401 - tensors
                directions = [seed if j == i else None for j in range(len(points))]
                outcome, tangent, aux = forward(
                    "jacfwd", of_points, points, directions, tuple, has_aux=has_aux
                )
                seen[:] = [outcome, aux]
                return tuple(flatten("jacfwd", "the tangents", tangent)[0])

            columns.append(vmap(column, out_dims=-1, randomness=randomness)(basis(point)))
        _, rebuild_output = flatten("jacfwd", "the result of the function", seen[0])
        jacobian = rebuild_output(
            [
                rebuild(
                    [
                        found[k].reshape((*found[k].shape[:-1], *x.shape))
                        for found, x in zip(columns, points, strict=True)
                    ]
                )
                for k in range(len(columns[0]))
            ]
        )
        return (jacobian, seen[1]) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of ``func``, forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def basis(tensor: Tensor) -> Tensor:
    """The directions in which one element of a tensor changes, as a batch."""
    size = tensor.numel()
    directions: Tensor = eye(size, dtype=tensor.dtype).reshape((size, *tensor.shape))
    return directions
