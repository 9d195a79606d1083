"""A `Function` for a batch of samples.

In: a `Function` and samples of a batch. Out: the samples of its outputs. Its own `vmap` computes the
batch where it has one. Else `forward` runs on the samples, and `BatchedFunction` is what the tensors
of all samples have in their history: its backward pass and its tangents run those of the function
on samples again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorplay.autograd.function import (
    Function,
    FunctionContext,
    VmapInfo,
    call_function,
    record_function,
    run_forward,
    wanted_gradients,
)
from tensorplay.core.errors import ArgumentError
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.autograd.batching import BatchLevel


def apply_to_batch(
    level: BatchLevel, function: type[Function], args: tuple[Any, ...]
) -> tuple[Any, FunctionContext]:
    """Apply a `Function` to samples of a level, which is off."""
    if not any(isinstance(each, Tensor) and level.is_sample(each) for each in args):
        outcome, ctx = call_function(function, tuple(map(level.inside, args)))
        return outcome, ctx
    if function.vmap is not Function.vmap:
        return _by_own_rule(level, function, args)
    held: list[Any] = []
    wholes = tuple(map(level.inside, args))
    found = BatchedFunction.apply(level, function, args, held, *wholes)
    outputs = found if isinstance(found, tuple) else (found,)
    outcome, ctx = held
    ctx.needs_input_grad = wanted_gradients(args)  # forward ran without recording
    samples = [
        level.sample(whole) if isinstance(each, Tensor) else each
        for each, whole in zip(
            outcome if isinstance(outcome, tuple) else (outcome,), outputs, strict=True
        )
    ]
    # What forward saved of its outputs are these samples, with the history of the batch.
    given = outcome if isinstance(outcome, tuple) else (outcome,)
    swap = {id(a): b for a, b in zip(given, samples, strict=True) if isinstance(a, Tensor)}
    for name in ("_to_save", "_dirty", "_constant", "_forward_saved"):
        kept = getattr(ctx, name)
        setattr(ctx, name, tuple(swap.get(id(each), each) for each in kept))
    result = tuple(samples) if isinstance(outcome, tuple) else samples[0]
    return record_function(function, args, result, ctx), ctx


def _by_own_rule(
    level: BatchLevel, function: type[Function], args: tuple[Any, ...]
) -> tuple[Any, FunctionContext]:
    """Compute a batch by the function's own `vmap`."""
    in_dims = tuple(
        0 if isinstance(each, Tensor) and level.is_sample(each) else None for each in args
    )
    info = VmapInfo(level.size, level.randomness)
    answer = function.vmap(info, in_dims, *map(level.inside, args))
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ArgumentError(
            f"{function.__name__}.vmap has to return (outputs, out_dims), found "
            f"{type(answer).__name__}"
        )
    found, out_dims = answer
    outputs = found if isinstance(found, tuple) else (found,)
    dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
    samples = tuple(
        each if dim is None else level.sample(each.movedim(dim, 0))
        for each, dim in zip(outputs, dims, strict=True)
    )
    result = samples if isinstance(found, tuple) else samples[0]
    _, ctx = _context(function, args, result)
    return record_function(function, args, result, ctx), ctx


def _context(
    function: type[Function],
    args: tuple[Any, ...],
    result: Any,  # noqa: ANN401  # a tensor or a structure of them
) -> tuple[Any, FunctionContext]:
    """The context of a call whose outputs are known."""
    if function.setup_context is Function.setup_context:
        needs = any(isinstance(each, Tensor) and each.requires_grad for each in args)
        if needs:
            raise ArgumentError(
                f"{function.__name__} has a vmap, so to be differentiated inside of a batch it needs "
                "forward(*args) and setup_context(ctx, inputs, output) apart"
            )
        return result, FunctionContext((False,) * len(args))

    class Known(function):  # type: ignore[misc,valid-type]  # a class that is an argument
        @staticmethod
        def forward(*_: Any) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
            return result

    return run_forward(Known, args)


class BatchedFunction(Function):
    """A `Function` on the tensors of all samples of a batch."""

    @staticmethod
    def forward(
        ctx: FunctionContext,
        level: BatchLevel,
        function: type[Function],
        args: tuple[Any, ...],
        held: list[Any],
        *wholes: Any,  # noqa: ANN401 - arguments
    ) -> Any:  # noqa: ANN401 - tensors
        """Run the function's ``forward`` on the samples; `held` takes its outcome and context."""
        del wholes
        with level:
            outcome, inner = run_forward(function, args)
        held[:] = [outcome, inner]
        ctx.level, ctx.function, ctx.inner = level, function, inner  # type: ignore[attr-defined]  # its role says so
        ctx.batched = [  # type: ignore[attr-defined]  # its role says so
            isinstance(each, Tensor) and level.is_sample(each) for each in args
        ]
        ctx.set_materialize_grads(inner._materialize)  # noqa: SLF001  # a friend of that class
        outputs = outcome if isinstance(outcome, tuple) else (outcome,)
        results = tuple(level.whole(each) if isinstance(each, Tensor) else each for each in outputs)
        swap = {id(a): b for a, b in zip(outputs, results, strict=True)}
        saved = inner._to_save  # noqa: SLF001  # a friend of that class
        ctx.kinds = [  # type: ignore[attr-defined]  # its role says so
            each is not None and level.is_sample(each) for each in saved
        ]
        ctx.save_for_backward(
            *(None if each is None else swap.get(id(each), level.inside(each)) for each in saved)
        )
        forward_saved = inner._forward_saved  # noqa: SLF001  # a friend of that class
        ctx.save_for_forward(
            *(
                None if each is None else swap.get(id(each), level.inside(each))
                for each in forward_saved
            )
        )
        ctx.forward_kinds = [  # type: ignore[attr-defined]  # its role says so
            each is not None and level.is_sample(each) for each in forward_saved
        ]
        ctx.mark_non_differentiable(
            *(swap[id(each)] for each in inner._constant)  # noqa: SLF001  # a friend of that class
        )
        ctx.mark_dirty(*(swap[id(each)] for each in inner._dirty))  # noqa: SLF001  # a friend of that class
        return results if isinstance(outcome, tuple) else results[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:  # noqa: ANN401  # what the user saved and computed
        """Run the function's ``backward`` on samples; shared arguments get the sum."""
        level, inner = ctx.level, ctx.inner
        with level:
            inner.needs_input_grad = tuple(ctx.needs_input_grad[4:])
            inner._for_forward = _samples(level, ctx.saved_tensors, ctx.kinds)  # noqa: SLF001  # a friend of that class
            try:
                found = ctx.function.backward(
                    inner, *(None if each is None else level.sample(each) for each in grads)
                )
            finally:
                inner._for_forward = None  # noqa: SLF001  # a friend of that class
        found = found if isinstance(found, tuple) else (found,)
        results = []
        for each, has_batch in zip(found, ctx.batched, strict=True):
            whole = None if each is None else level.whole(each)
            results.append(whole if whole is None or has_batch else whole.sum(0))
        return (None, None, None, None, *results)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:  # noqa: ANN401  # what the user saved and computed
        """Run the function's ``jvp`` on samples."""
        level, inner = ctx.level, ctx.inner
        with level:
            given = [
                level.sample(each) if each is not None and has_batch else each
                for each, has_batch in zip(tangents[4:], ctx.batched, strict=True)
            ]
            saved = ctx.saved_tensors
            inner._for_forward = _samples(level, saved, ctx.forward_kinds)  # noqa: SLF001  # a friend of that class
            try:
                found = ctx.function.jvp(inner, *given)
            finally:
                inner._for_forward = None  # noqa: SLF001  # a friend of that class
        found = found if isinstance(found, tuple) else (found,)
        return tuple(None if each is None else level.whole(each) for each in found)


def _samples(
    level: BatchLevel, tensors: Sequence[Tensor | None], kinds: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    """Saved tensors as samples again."""
    return tuple(
        level.sample(each) if each is not None and has_batch else each
        for each, has_batch in zip(tensors, kinds, strict=True)
    )
