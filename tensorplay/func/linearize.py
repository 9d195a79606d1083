"""`linearize`: a function's derivative at one point, to be applied to many directions.

>>> import tensorplay as tp
>>> from tensorplay.func import linearize
>>> value, slope = linearize(lambda x: x**3, tp.tensor(2.0))
>>> value, slope(tp.tensor(1.0)), slope(tp.tensor(0.5))
(tensor(8.), tensor(12.), tensor(6.))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorplay.func.transforms import check_shapes, vjp
from tensorplay.func.trees import flatten
from tensorplay.functions import zeros_like

if TYPE_CHECKING:
    from collections.abc import Callable


def linearize(
    func: Callable[..., Any],
    *primals: Any,  # noqa: ANN401 - trees of tensors
) -> tuple[Any, Callable[..., Any]]:
    """Return ``func(*primals)`` and the function that its derivative is: tangents to tangents.

    ``func`` is run once; each tangent costs two backward passes through what it left. The derivative
    is the transpose of its transpose, the backward pass, which is linear in the cotangents: so that
    one's own backward pass computes it.
    """
    outcome, pull = vjp(func, *primals)
    points, _ = flatten("linearize", "the primals", primals)
    outputs, rebuild_output = flatten("linearize", "the result of the function", outcome)
    zero = rebuild_output([zeros_like(each.detach()) for each in outputs])

    def transposed(cotangents: Any) -> Any:  # noqa: ANN401 - a tree as the result
        found = pull(cotangents)
        return (found,) if len(primals) == 1 else found

    _, push = vjp(transposed, zero)

    def slope(*tangents: Any) -> Any:  # noqa: ANN401 - trees as the primals and the result
        given, _ = flatten("linearize", "the tangents", tangents)
        check_shapes("linearize", "tangents", given, points)
        return push(tangents)

    return outcome, slope
