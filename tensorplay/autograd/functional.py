"""Derivatives of functions of tensors: products with Jacobians and Hessians, and these themselves.

In: a function of one tensor or of a tuple of them, and where to differentiate it. Out: tensors, or
tuples as the arguments and results are. `jvp` and `hvp` use forward mode, so neither costs more than
a few runs of the function, whatever its shape (Proposition 5.2).

>>> import tensorplay as tp
>>> x, v = tp.tensor([1.0, 2.0]), tp.tensor([1.0, 0.0])
>>> tp.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
(tensor(9.), tensor([6., 0.]))

All functions take `create_graph`, which keeps what is needed to differentiate the results, and
`strict`, which makes it an error where a result does not depend on an input (else it gets zeros).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tensorplay.autograd.batching import BatchLevel, carried_outside
from tensorplay.autograd.forward_ad import dual_level, make_dual, unpack_dual
from tensorplay.autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from tensorplay.autograd.gradients import grad
from tensorplay.core.errors import ArgumentError, ArgumentValueError, GradientError, ShapeError
from tensorplay.functions import cat, eye, ones_like, stack, zeros, zeros_like
from tensorplay.ops.registry import tp as operators
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Tensors: TypeAlias = "tuple[Tensor, ...]"
OneOrMore: TypeAlias = "Tensor | tuple[Tensor, ...]"
Strategy: TypeAlias = Literal["reverse-mode", "forward-mode"]


def jvp(
    func: Callable[..., Any],
    inputs: OneOrMore,
    v: OneOrMore | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of its Jacobian with ``v``, in forward mode.

    ``v`` has the shapes of the inputs; it may be left out where the one input has one element.
    """
    given, _ = _tuple("jvp", "inputs", inputs)
    directions = _directions("jvp", v, given, "inputs")
    with set_grad_enabled(create_graph):
        points = given if create_graph else tuple(each.detach() for each in given)
        outputs, tangents, single = _forward("jvp", func, points, directions, strict=strict)
    return (
        _finish(outputs, create_graph, single=single),
        _finish(tangents, create_graph, single=single),
    )


def vjp(
    func: Callable[..., Any],
    inputs: OneOrMore,
    v: OneOrMore | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of ``v`` with its Jacobian, in reverse mode.

    ``v`` has the shapes of the results; it may be left out where the one result has one element.
    """
    given, single = _tuple("vjp", "inputs", inputs)
    with enable_grad():
        points = _points(given, create_graph=create_graph)
        outputs, one = _outputs("vjp", func(*points))
        weights = _directions("vjp", v, outputs, "outputs")
        found = _reverse("vjp", outputs, points, weights, create_graph=create_graph, strict=strict)
    return (
        _finish(outputs, create_graph, single=one),
        _finish(found, create_graph, single=single),
    )


def hvp(
    func: Callable[..., Any],
    inputs: OneOrMore,
    v: OneOrMore | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``func(*inputs)``, one number, and the product of its Hessian with ``v``.

    Forward mode over reverse mode: the backward pass is computed with tangents.
    """
    given, single = _tuple("hvp", "inputs", inputs)
    directions = _directions("hvp", v, given, "inputs")
    value: list[Tensor] = []

    def gradient(*duals: Tensor) -> Tensors:
        output = _one_number("hvp", func(*duals))
        value.append(unpack_dual(output).primal)
        return _reverse(
            "hvp", (output,), duals, (ones_like(output),), create_graph=create_graph, strict=strict
        )

    with enable_grad():
        points = _points(given, create_graph=create_graph)
        _, products, _ = _forward("hvp", gradient, points, directions, strict=strict)
    return (
        _finish(tuple(value), create_graph, single=True),
        _finish(products, create_graph, single=single),
    )


def vhp(
    func: Callable[..., Any],
    inputs: OneOrMore,
    v: OneOrMore | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return ``func(*inputs)``, one number, and the product of ``v`` with its Hessian.

    Reverse mode over reverse mode. The Hessian is symmetric, so this is what `hvp` returns.
    """
    given, single = _tuple("vhp", "inputs", inputs)
    directions = _directions("vhp", v, given, "inputs")
    with enable_grad():
        points = _points(given, create_graph=create_graph)
        output = _one_number("vhp", func(*points))
        first = _reverse("vhp", (output,), points, None, create_graph=True, strict=strict)
        found = _reverse("vhp", first, points, directions, create_graph=create_graph, strict=strict)
    return (
        _finish((output,), create_graph, single=True),
        _finish(found, create_graph, single=single),
    )


def jacobian(
    func: Callable[..., Any],
    inputs: OneOrMore,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: Strategy = "reverse-mode",
) -> Any:  # noqa: ANN401 - a tensor, or tuples of them
    """Return the derivative of each result by each input: tensors of shape ``result + input``.

    A tensor for one input and one result, a tuple for several of one of them, for several of both a
    tuple (over results) of tuples (over inputs). ``strategy`` says whether it is computed by rows,
    one backward pass an element of the results, or by columns (``"forward-mode"``), one run of
    ``func`` an element of the inputs. With ``vectorize``, all rows (or columns) are computed at once,
    as by `tensorplay.func.vmap`; ``strict`` can't be had with it.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ArgumentValueError(
            f"jacobian: strategy is 'reverse-mode' or 'forward-mode', not {strategy!r}"
        )
    if vectorize and strict:
        raise ArgumentValueError(
            "jacobian: strict=True asks for each row by itself; use vectorize=False with it"
        )
    given, single = _tuple("jacobian", "inputs", inputs)
    by_rows = strategy == "reverse-mode"
    compute: Any
    if vectorize:
        compute = _all_rows if by_rows else _all_columns
        rows, one = compute(func, given, create_graph=create_graph)
    else:
        compute = _jacobian_by_rows if by_rows else _jacobian_by_columns
        rows, one = compute(func, given, create_graph=create_graph, strict=strict)
    finished = tuple(_finish(row, create_graph, single=single) for row in rows)
    return finished[0] if one else finished


def hessian(
    func: Callable[..., Any],
    inputs: OneOrMore,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: Strategy = "reverse-mode",
) -> Any:  # noqa: ANN401 - as jacobian
    """Return the second derivatives of a function of one number, as `jacobian` of its gradient."""
    _, single = _tuple("hessian", "inputs", inputs)

    def gradient(*points: Tensor) -> OneOrMore:
        with enable_grad():
            inner = _points(points, create_graph=True)
            output = _one_number("hessian", func(*inner))
            found = _reverse("hessian", (output,), inner, None, create_graph=True, strict=strict)
        return found[0] if single else found

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _jacobian_by_rows(
    func: Callable[..., Any], given: Tensors, *, create_graph: bool, strict: bool
) -> tuple[list[Tensors], bool]:
    """One backward pass for each element of each result."""
    with enable_grad():
        points = _points(given, create_graph=create_graph)
        outputs, one = _outputs("jacobian", func(*points))
        blocks: list[Tensors] = []
        for output in outputs:
            rows = [
                _reverse(
                    "jacobian",
                    (output,),
                    points,
                    (seed,),
                    create_graph=create_graph,
                    strict=strict,
                    retain=True,
                )
                for seed in basis(output)
            ]
            blocks.append(
                tuple(
                    _stacked([row[i] for row in rows], point).reshape((*output.shape, *point.shape))
                    for i, point in enumerate(points)
                )
            )
    return blocks, one


def _jacobian_by_columns(
    func: Callable[..., Any], given: Tensors, *, create_graph: bool, strict: bool
) -> tuple[list[Tensors], bool]:
    """One run in forward mode for each element of each input."""
    with set_grad_enabled(create_graph):
        points = given if create_graph else tuple(each.detach() for each in given)
        outputs, one = _outputs("jacobian", func(*points))
        blocks: list[list[Tensor]] = [[] for _ in outputs]
        for i, point in enumerate(points):
            columns = []
            for seed in basis(point):
                directions = tuple(seed if j == i else None for j in range(len(points)))
                columns.append(_forward("jacobian", func, points, directions, strict=strict)[1])
            for number, output in enumerate(outputs):
                block = _stacked([column[number] for column in columns], output)
                block = block.reshape((point.numel(), output.numel())).t()
                blocks[number].append(block.reshape((*output.shape, *point.shape)))
    return [tuple(block) for block in blocks], one


def _all_rows(
    func: Callable[..., Any], given: Tensors, *, create_graph: bool
) -> tuple[list[Tensors], bool]:
    """One backward pass for each result, with a batch of gradients."""
    with enable_grad():
        points = _points(given, create_graph=create_graph)
        outputs, one = _outputs("jacobian", func(*points))
        blocks: list[Tensors] = []
        for output in outputs:
            level = BatchLevel(output.numel(), "same")
            with level:
                seed = level.sample(_all_directions(output))
                found = _reverse(
                    "jacobian",
                    (output,),
                    points,
                    (seed,),
                    create_graph=create_graph,
                    strict=False,
                    retain=True,
                )
            blocks.append(
                tuple(
                    level.whole(each).reshape((*output.shape, *point.shape))
                    for each, point in zip(found, points, strict=True)
                )
            )
    return blocks, one


def _all_columns(
    func: Callable[..., Any], given: Tensors, *, create_graph: bool
) -> tuple[list[Tensors], bool]:
    """One run in forward mode for each input, with a batch of tangents."""
    with set_grad_enabled(create_graph):
        points = given if create_graph else tuple(each.detach() for each in given)
        blocks: list[list[Tensor]] = []
        one = True
        for i, point in enumerate(points):
            level = BatchLevel(point.numel())
            with level:
                seed = level.sample(_all_directions(point))
                directions = tuple(seed if j == i else None for j in range(len(points)))
                _, tangents, one = _forward("jacobian", func, points, directions, strict=False)
            blocks.append(
                [
                    level.whole(each).movedim(0, -1).reshape((*each.shape, *point.shape))
                    for each in tangents
                ]
            )
    return [tuple(column) for column in zip(*blocks, strict=True)], one


def _all_directions(tensor: Tensor) -> Tensor:
    """The directions in which one element of a tensor changes, as a batch."""
    size = tensor.numel()
    with no_grad():
        directions: Tensor = eye(size, dtype=tensor.dtype).reshape((size, *tensor.shape))
    return directions


def basis(tensor: Tensor) -> list[Tensor]:
    """Return the directions in which one element of `tensor` changes, in order."""
    size = tensor.numel()
    directions = []
    with no_grad():
        for place in range(size):
            parts = [
                zeros(place, dtype=tensor.dtype),
                zeros(1, dtype=tensor.dtype) + 1,
                zeros(size - place - 1, dtype=tensor.dtype),
            ]
            directions.append(cat(parts).reshape(tensor.shape))
    return directions


def _stacked(parts: Sequence[Tensor], like: Tensor) -> Tensor:
    """Stack tensors of the shape of `like`, possibly none."""
    return stack(list(parts)) if parts else zeros((0, *like.shape), dtype=like.dtype)


def _forward(
    name: str,
    func: Callable[..., Any],
    points: Tensors,
    directions: tuple[Tensor | None, ...],
    *,
    strict: bool,
) -> tuple[Tensors, Tensors, bool]:
    """Run `func` with tangents; return results, tangents, and whether there is one result only."""
    primals: list[Tensor] = []
    tangents: list[Tensor] = []
    with dual_level():
        duals = (
            x if t is None else make_dual(x, t) for x, t in zip(points, directions, strict=True)
        )
        outputs, single = _outputs(name, func(*duals))
        for i, output in enumerate(outputs):
            primal, tangent = unpack_dual(output)
            if tangent is None and strict:
                raise GradientError(
                    f"{name}: result {i} does not depend on the inputs; strict=False gives zeros"
                )
            primals.append(primal)
            tangents.append(zeros_like(primal.detach()) if tangent is None else tangent)
    return tuple(primals), tuple(tangents), single


def _reverse(
    name: str,
    outputs: Tensors,
    points: Tensors,
    weights: Tensors | None,
    *,
    create_graph: bool,
    strict: bool,
    retain: bool = False,
) -> Tensors:
    """Return the gradients of the results that have any by the points, zeros where there is none."""
    chosen = [i for i, output in enumerate(outputs) if output.requires_grad]
    if strict and len(chosen) < len(outputs):
        missing = next(i for i in range(len(outputs)) if i not in chosen)
        raise GradientError(
            f"{name}: result {missing} does not depend on the inputs; strict=False gives zeros"
        )
    found: tuple[Tensor | None, ...] = (None,) * len(points)
    if chosen:
        found = grad(
            [outputs[i] for i in chosen],
            points,
            None if weights is None else [weights[i] for i in chosen],
            retain_graph=retain or create_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    results = []
    for i, (point, each) in enumerate(zip(points, found, strict=True)):
        if each is None and strict:
            raise GradientError(
                f"{name}: the results do not depend on input {i}; strict=False gives zeros"
            )
        results.append(zeros_like(point.detach()) if each is None else each)
    return tuple(results)


def _points(given: Tensors, *, create_graph: bool) -> Tensors:
    """Return the inputs as tensors that only `func` uses, connected to the given ones if asked."""
    points = []
    for each in given:
        if create_graph and each.requires_grad:
            points.append(operators.alias(each))
        else:
            # An alias, unlike a detached tensor, keeps tangents, and a batch keeps its own history.
            with set_grad_enabled(create_graph and carried_outside(each) is not None):
                source = each if create_graph else each.detach()
                points.append(operators.alias(source).requires_grad_())
    return tuple(points)


def _finish(tensors: Tensors, create_graph: bool, *, single: bool) -> Any:  # noqa: ANN401 - one or a tuple
    if not create_graph:
        tensors = tuple(each.detach() for each in tensors)
    return tensors[0] if single else tensors


def _tuple(name: str, what: str, value: object) -> tuple[Tensors, bool]:
    """Return tensors as a tuple, and whether it was one tensor."""
    single = isinstance(value, Tensor)
    values = (value,) if not isinstance(value, (tuple, list)) else tuple(value)
    for i, each in enumerate(values):
        if not isinstance(each, Tensor):
            raise ArgumentError(
                f"{name}: {what} must be a tensor or a tuple of tensors; number {i} is "
                f"{type(each).__name__}"
            )
    return values, single


def _outputs(name: str, value: object) -> tuple[Tensors, bool]:
    return _tuple(name, "the results of the function", value)


def _one_number(name: str, value: object) -> Tensor:
    """Return the one result of a function that has to return one element."""
    outputs, single = _outputs(name, value)
    if not single or outputs[0].numel() != 1:
        raise ShapeError(
            f"{name}: the function has to return one tensor of one element, found "
            f"{[tuple(each.shape) for each in outputs]}"
        )
    return outputs[0]


def _directions(name: str, v: OneOrMore | None, like: Tensors, what: str) -> Tensors:
    """Return `v` as a tuple that fits the tensors `like`; a one by default."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise ArgumentError(
                f"{name}: v may be left out for {what} of one element only; pass tensors of shape "
                f"{[tuple(each.shape) for each in like]}"
            )
        return (ones_like(like[0].detach()),)
    found, _ = _tuple(name, "v", v)
    if [tuple(each.shape) for each in found] != [tuple(each.shape) for each in like]:
        raise ShapeError(
            f"{name}: v has to have the shapes of the {what}, "
            f"{[tuple(each.shape) for each in like]}, found {[tuple(each.shape) for each in found]}"
        )
    return found


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
