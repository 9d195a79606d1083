"""`jacrev`, `jacfwd`, `hessian`: whole derivatives, row by row or column by column."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tensorplay.autograd.functional import basis
from tensorplay.func.transforms import forward, vjp
from tensorplay.func.trees import Argnums, chosen, flatten, replaced, with_aux
from tensorplay.functions import stack, zeros, zeros_like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tensorplay.tensor import Tensor


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of ``func``, one backward pass a row.

    The result has the tree of ``func``'s result; for each tensor in it stands a tree as the argument
    number ``argnums`` is (for a tuple, a tuple of arguments), with tensors of shape
    ``result + argument``. With ``has_aux``, ``func`` returns ``(result, aux)`` and the new function
    ``(jacobian, aux)``.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as func
        points, rebuild = flatten("jacrev", f"argument {argnums}", chosen("jacrev", args, argnums))

        def of_points(*values: Tensor) -> Any:  # noqa: ANN401 - as func
            return func(*replaced(args, argnums, rebuild(values)), **kwargs)

        outcome, pull, *aux = vjp(of_points, *points, has_aux=has_aux)
        outputs, rebuild_output = flatten("jacrev", "the result of the function", outcome)
        blocks = []
        for i, output in enumerate(outputs):
            rows: list[Sequence[Tensor]] = []
            for seed in basis(output):
                weights = [
                    seed if j == i else zeros_like(each.detach()) for j, each in enumerate(outputs)
                ]
                found = pull(rebuild_output(weights))
                rows.append((found,) if len(points) == 1 else found)
            blocks.append(
                rebuild([_block([row[k] for row in rows], output, x) for k, x in enumerate(points)])
            )
        jacobian = rebuild_output(blocks)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of ``func``, one run in forward mode a column.

    Arguments and results are those of `jacrev`.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as func
        points, rebuild = flatten("jacfwd", f"argument {argnums}", chosen("jacfwd", args, argnums))

        def of_points(*values: Tensor) -> Any:  # noqa: ANN401 - as func
            return func(*replaced(args, argnums, rebuild(values)), **kwargs)

        outcome, aux = with_aux("jacfwd", of_points(*points), has_aux)
        outputs, rebuild_output = flatten("jacfwd", "the result of the function", outcome)
        blocks: list[list[Tensor]] = [[] for _ in outputs]
        for i, point in enumerate(points):
            columns = []
            for seed in basis(point):
                directions = [seed if j == i else None for j in range(len(points))]
                _, tangent, _ = forward(
                    "jacfwd", of_points, points, directions, tuple, has_aux=has_aux
                )
                columns.append(flatten("jacfwd", "the tangents", tangent)[0])
            for k, output in enumerate(outputs):
                turned = _block([column[k] for column in columns], point, output)
                turned = turned.reshape((point.numel(), output.numel())).t()
                blocks[k].append(turned.reshape((*output.shape, *point.shape)))
        jacobian = rebuild_output([rebuild(block) for block in blocks])
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of ``func``, forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def _block(parts: Sequence[Tensor], rows: Tensor, columns: Tensor) -> Tensor:
    """Stack one tensor of the shape of `columns` for each element of `rows`."""
    shape = (*rows.shape, *columns.shape)
    return stack(list(parts)).reshape(shape) if parts else zeros(shape, dtype=columns.dtype)
