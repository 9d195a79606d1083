"""`grad` and `backward`: the engine's two front doors.

>>> import tensorplay as tp
>>> x = tp.tensor(3.0, requires_grad=True)
>>> y = x * x
>>> (first,) = tp.autograd.grad(y, x, create_graph=True)
>>> tp.autograd.grad(first, x)
(tensor(2.),)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from tensorplay import _C, dispatch
from tensorplay.autograd.batching import BatchLevel
from tensorplay.autograd.engine import edge_key, propagate
from tensorplay.autograd.grad_mode import set_grad_enabled
from tensorplay.autograd.node import Node
from tensorplay.autograd.tensor_state import (
    accumulate_grad,
    gradient_edge,
    run_accumulated_hooks,
)
from tensorplay.core.errors import ArgumentError, ArgumentValueError, GradientError, ShapeError
from tensorplay.functions import ones_like, zeros_like
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.autograd.node import Edge


@overload
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: Literal[False] | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]: ...
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of the sum of ``outputs · grad_outputs`` by each of ``inputs``.

    - ``grad_outputs``: one tensor an output; None stands for 1 and needs a one-element output.
    - ``retain_graph``: keep what was saved, for another pass (default: as ``create_graph``).
    - ``create_graph``: record the pass itself, so that its results can be differentiated.
    - ``allow_unused``: give None for an input that the outputs do not depend on, instead of an
      error; ``materialize_grads`` gives zeros.
    - ``is_grads_batched``: ``grad_outputs`` hold a batch of gradients as their first dimension, and so
      do the results: one backward pass computes all of them (see `tensorplay.func.vmap`).

    No ``.grad`` is touched.
    """
    options = {
        "grad_outputs": grad_outputs,
        "retain_graph": retain_graph,
        "create_graph": create_graph,
        "allow_unused": allow_unused,
        "is_grads_batched": is_grads_batched,
        "materialize_grads": materialize_grads,
    }
    given = {
        name: value for name, value in options.items() if value is not None and value is not False
    }
    return dispatch.call_function(grad, _grad, (outputs, inputs), given)


def _grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    if is_grads_batched:
        return _batch_of_grads(
            outputs,
            inputs,
            grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )
    wanted = _tensors(inputs, "inputs")
    edges = []
    for i, tensor in enumerate(wanted):
        edge = gradient_edge(tensor)
        if edge is None:
            raise GradientError(
                f"input {i} does not require a gradient; call requires_grad_() on it before it is used"
            )
        edges.append(edge)
    keep = create_graph if retain_graph is None else retain_graph
    with set_grad_enabled(create_graph):
        roots = _roots(_tensors(outputs, "outputs"), grad_outputs)
        found = propagate(roots, edges, keep_graph=keep)
    results: list[Tensor | None] = []
    for i, (tensor, edge) in enumerate(zip(wanted, edges, strict=True)):
        entry = found.get(edge_key(edge))
        if entry is not None:
            results.append(entry[1])
        elif materialize_grads:
            results.append(zeros_like(tensor.detach()))
        elif allow_unused:
            results.append(None)
        else:
            raise GradientError(
                f"input {i} was not used to compute the outputs; allow_unused=True gives None for it, "
                "materialize_grads=True zeros"
            )
    return tuple(results)


def _batch_of_grads(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None,
    **options: bool | None,
) -> tuple[Tensor | None, ...]:
    """One backward pass whose gradients are samples of a batch."""
    seeds = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or ())
    sizes = [each.shape[0] if each.ndim else -1 for each in seeds if each is not None]
    if not sizes or -1 in sizes or len(set(sizes)) != 1:
        raise ArgumentValueError(
            "grad: with is_grads_batched=True, grad_outputs hold the same number of gradients as their "
            f"first dimension, found shapes {[None if s is None else tuple(s.shape) for s in seeds]}"
        )
    level = BatchLevel(sizes[0], "same")
    with level:
        samples = [None if each is None else level.sample(each) for each in seeds]
        chosen: Any = options  # those of _grad
        found = _grad(outputs, inputs, samples, **chosen)
    return tuple(None if each is None else level.whole(each) for each in found)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of the sum of ``tensors · grad_tensors`` to the ``.grad`` of all leaves.

    With ``inputs``, to the ``.grad`` of these tensors only. Arguments are those of `grad`.
    """
    dispatch.call_function(
        backward, _backward, (tensors, grad_tensors, retain_graph, create_graph, inputs), {}
    )


def _backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None,
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Tensor | Sequence[Tensor] | None,
) -> None:
    keep = create_graph if retain_graph is None else retain_graph
    targets: dict[tuple[int, int], Tensor] = {}
    edges: list[Edge] | None = None
    if inputs is not None:
        edges = []
        for i, tensor in enumerate(_tensors(inputs, "inputs")):
            edge = gradient_edge(tensor)
            if edge is None:
                raise GradientError(f"inputs[{i}] does not require a gradient")
            edges.append(edge)
            targets[edge_key(edge)] = tensor
    with set_grad_enabled(create_graph):
        roots = _roots(_tensors(tensors, "tensors"), grad_tensors)
        found = propagate(roots, edges, keep_graph=keep)
        for key in tuple(found):
            edge, gradient = found.pop(key)
            box = [gradient]
            del gradient
            target = targets[key] if inputs is not None else edge[0]
            if not isinstance(target, Node):
                accumulate_grad(target, box, keep_history=create_graph)
                run_accumulated_hooks(target)


def _tensors(value: Tensor | Sequence[Tensor], what: str) -> list[Tensor]:
    tensors = [value] if isinstance(value, Tensor) else list(value)
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"{what}[{i}] must be a tensor, not {type(tensor).__name__}")
    return tensors


def _roots(
    outputs: list[Tensor], grad_outputs: Tensor | Sequence[Tensor | None] | None
) -> list[tuple[Edge, Tensor]]:
    """Pair the edges of the outputs with their gradients."""
    if grad_outputs is None or isinstance(grad_outputs, Tensor):
        seeds: list[Tensor | None] = [grad_outputs] * (
            1 if grad_outputs is not None else len(outputs)
        )
    else:
        seeds = list(grad_outputs)
    if len(seeds) != len(outputs):
        raise ArgumentError(f"{len(outputs)} outputs need as many gradients, got {len(seeds)}")
    roots = []
    for i, (output, seed) in enumerate(zip(outputs, seeds, strict=True)):
        edge = gradient_edge(output)
        if edge is None:
            raise GradientError(
                f"output {i} of shape {tuple(output.shape)} has no gradient: nothing it was computed "
                "from requires one (or it was computed under no_grad, or detached)"
            )
        if seed is not None and tuple(seed.shape) != tuple(output.shape):
            raise ShapeError(
                f"output {i} has shape {tuple(output.shape)}, but its gradient "
                f"has shape {tuple(seed.shape)}"
            )
        roots.append((edge, _implied_gradient(output, i) if seed is None else seed))
    return roots


def _implied_gradient(output: Tensor, number: int) -> Tensor:
    """Return the gradient 1 of an output of one element."""
    if output.numel() != 1:
        raise GradientError(
            f"output {number} has shape {tuple(output.shape)}: a gradient is made without asking "
            "for one element only; reduce it, for instance with sum(), or pass its gradient"
        )
    if output.is_complex():
        raise GradientError(
            f"output {number} is complex: a gradient is made without asking for real numbers only; "
            "take a real function of it, for instance abs(), or pass its gradient"
        )
    if output.array is not None and not dispatch.current_modes():  # 1 us instead of 40
        one: Tensor = _C.wrap(np.ones(output.shape, output.dtype.numpy))
        return one
    return ones_like(output.detach())
