"""`grad`, `value_and_grad`, `vjp`, `jvp`.

Reverse mode is computed on aliases of the arguments that nothing else reads, its *points*, so
gradients are by the arguments of this call only. The results keep a history where someone may ask
for it: inside another transform, or where it leads to a leaf that is no point, such as a parameter
that the function reads. Without one, a result requires no gradient.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import optree

from tensorplay import autograd
from tensorplay.autograd.batching import carried_outside
from tensorplay.autograd.forward_ad import dual_level, make_dual, unpack_dual
from tensorplay.autograd.tensor_state import gradient_edge
from tensorplay.core.errors import ArgumentError, GradientError, ShapeError
from tensorplay.func.trees import Argnums, Rebuild, chosen, flatten, replaced, with_aux
from tensorplay.functions import ones_like, zeros_like
from tensorplay.ops.registry import tp as operators
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_points: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
"""The points that are leaves, by identity."""
_depth: ContextVar[int] = ContextVar("transforms of tensorplay.func that are on", default=0)


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of ``func``, which returns one number.

    By the argument number ``argnums``, or, for a tuple, a tuple of gradients. With ``has_aux``,
    ``func`` returns ``(number, aux)`` and the new function ``(gradient, aux)``.
    """
    compute = _gradient_of("grad", func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as func
        gradient, _, aux = compute(args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return wrapper


def value_and_grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes ``(func(...), gradient)``; see `grad`.

    With ``has_aux`` it returns ``((number, aux), gradient)``.
    """
    compute = _gradient_of("value_and_grad", func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as func
        gradient, value, aux = compute(args, kwargs)
        return ((value, aux) if has_aux else value), gradient

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:  # noqa: ANN401  # any value
    """Return ``func(*primals)`` and a function from cotangents of the result to gradients.

    The function takes a tree as the result is, and returns a gradient for each primal, in a tuple
    if there are several. With ``has_aux`` a third result is what ``func`` returned beside.
    """
    tensors, rebuild = flatten("vjp", "the primals", primals)
    recorded = autograd.is_grad_enabled()
    with transform(), autograd.enable_grad():
        points = points_of(tensors)
        outcome, aux = with_aux("vjp", func(*rebuild(points)), has_aux)
        outputs, rebuild_output = flatten("vjp", "the result of the function", outcome)
    keep = _depth.get() > 0 or (recorded and leads_outside(outputs))

    def pull(*cotangents: Any) -> Any:  # noqa: ANN401 - trees as the result and the primals
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        weights, _ = flatten("vjp", "the cotangents", given)
        check_shapes("vjp", "cotangents", weights, outputs)
        again = keep or _depth.get() > 0 or any(each.requires_grad for each in weights)
        found = rebuild(reverse(outputs, points, weights, keep=again))
        return found[0] if len(primals) == 1 else found

    result = finished(rebuild_output(outputs))
    return (result, pull, finished(aux)) if has_aux else (result, pull)


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return ``func(*primals)`` and its tangent, for tangents of the primals, in forward mode.

    With ``strict``, a result that does not depend on the primals is an error; else its tangent is
    zero. With ``has_aux`` a third result is what ``func`` returned beside.
    """
    given: tuple[object, ...] = (primals, tangents)
    if not all(isinstance(each, tuple) for each in given):
        raise ArgumentError("jvp: primals and tangents are tuples, one entry an argument")
    points, rebuild = flatten("jvp", "the primals", primals)
    directions, _ = flatten("jvp", "the tangents", tangents)
    check_shapes("jvp", "tangents", directions, points)
    output, tangent, aux = forward("jvp", func, points, directions, rebuild, strict, has_aux)
    return (output, tangent, aux) if has_aux else (output, tangent)


def forward(
    name: str,
    func: Callable[..., Any],
    points: Sequence[Tensor],
    directions: Sequence[Tensor | None],
    rebuild: Rebuild,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, Any, Any]:
    """Run a function with tangents: its result, the tangents in the same tree, and aux."""
    with transform(), dual_level():
        duals = [
            x if t is None else make_dual(x, t) for x, t in zip(points, directions, strict=True)
        ]
        outcome, aux = with_aux(name, func(*rebuild(duals)), has_aux)
        outputs, rebuild_output = flatten(name, "the result of the function", outcome)
        pairs = [unpack_dual(each) for each in outputs]
        if strict and any(pair.tangent is None for pair in pairs):
            raise GradientError(
                f"{name}: a result does not depend on the primals; strict=False gives zeros"
            )
        found = [
            zeros_like(pair.primal.detach()) if pair.tangent is None else pair.tangent
            for pair in pairs
        ]
        aux = optree.tree_map(_primal, aux, namespace="tensorplay")
    output = rebuild_output([pair.primal for pair in pairs])
    return finished(output), finished(rebuild_output(found)), finished(aux)


def _primal(value: Any) -> Any:  # noqa: ANN401 - any leaf
    return unpack_dual(value).primal if isinstance(value, Tensor) else value


def _gradient_of(
    name: str, func: Callable[..., Any], argnums: Argnums, has_aux: bool
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, Any, Any]]:
    """Return what computes gradient, value and aux of a call."""

    def compute(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
        tensors, rebuild = flatten(name, f"argument {argnums}", chosen(name, args, argnums))
        recorded, nested = autograd.is_grad_enabled(), _depth.get() > 0
        with transform(), autograd.enable_grad():
            points = points_of(tensors)
            outcome = func(*replaced(args, argnums, rebuild(points)), **kwargs)
            value, aux = with_aux(name, outcome, has_aux)
            if not isinstance(value, Tensor) or value.shape != ():
                found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise ShapeError(
                    f"{name}: the function has to return a tensor of shape (), found {found}; "
                    "reduce it, for instance with sum(), or use jacrev"
                )
            keep = nested or (recorded and leads_outside([value]))
            gradients = reverse([value], points, [ones_like(value.detach())], keep=keep)
        return finished(rebuild(gradients)), finished(value), finished(aux)

    return compute


@contextmanager
def transform() -> Iterator[None]:
    """Let transforms inside the block keep the history of their results."""
    token = _depth.set(_depth.get() + 1)
    try:
        yield
    finally:
        _depth.reset(token)


def points_of(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return aliases to differentiate by, connected to tensors that require a gradient."""
    points: list[Tensor] = []
    for each in tensors:
        if each.requires_grad:
            points.append(operators.alias(each))
        else:  # what a sample of a batch carries keeps its history
            with autograd.set_grad_enabled(carried_outside(each) is not None):
                point = operators.alias(each).requires_grad_()
            _points[id(point)] = point
            points.append(point)
    return points


def reverse(
    outputs: Sequence[Tensor],
    points: Sequence[Tensor],
    weights: Sequence[Tensor],
    *,
    keep: bool,
) -> list[Tensor]:
    """Return the gradients by the points, zeros where there is none; ``keep`` their history."""
    places = [i for i, output in enumerate(outputs) if output.requires_grad]
    if not places:
        return [zeros_like(each.detach()) for each in points]
    found = autograd.grad(
        [outputs[i] for i in places],
        points,
        [weights[i] for i in places],
        retain_graph=True,
        create_graph=keep,
        materialize_grads=True,
    )
    return list(found)


def finished(tree: Any) -> Any:  # noqa: ANN401 - any tree
    """Return results as the caller of a transform gets them."""
    return tree if _depth.get() > 0 else optree.tree_map(_outermost, tree, namespace="tensorplay")


def _outermost(value: Any) -> Any:  # noqa: ANN401 - any leaf
    """Return a result of the outermost transform, without a history that nobody can ask for."""
    if not isinstance(value, Tensor) or not any(each.requires_grad for each in _in_batches(value)):
        return value
    return value if autograd.is_grad_enabled() and leads_outside([value]) else value.detach()


def leads_outside(tensors: Sequence[Tensor]) -> bool:
    """Whether gradients of these tensors flow to a leaf that is no point, inside a batch or out of it."""
    edges = [gradient_edge(each) for tensor in tensors for each in _in_batches(tensor)]
    seen: set[int] = set()
    while edges:
        edge = edges.pop()
        if edge is None or id(edge[0]) in seen:
            continue
        target = edge[0]
        seen.add(id(target))
        if isinstance(target, autograd.Node):
            edges.extend(target.edges)
        elif _points.get(id(target)) is not target:
            return True
    return False


def _in_batches(tensor: Tensor) -> list[Tensor]:
    """A tensor and, where it is a sample of a batch, what it carries, which may be a sample in turn."""
    found = [tensor]
    carried = carried_outside(tensor)
    while carried is not None:
        found.append(carried)
        carried = carried_outside(carried)
    return found


def check_shapes(name: str, what: str, found: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    """Refuse tensors that do not have the shapes of others."""
    shapes = [tuple(each.shape) for each in found]
    wanted = [tuple(each.shape) for each in expected]
    if shapes != wanted:
        raise ShapeError(f"{name}: the {what} have to have the shapes {wanted}, found {shapes}")
