"""Checkpoints: a backward pass computes a part of the forward pass again, instead of keeping it.

In: a function and its arguments. Out: its results, and a history that keeps the arguments only. When
the backward pass needs the first tensor that a call inside would have saved, the function is run
once more, up to the last such tensor.

>>> import tensorplay as tp
>>> from tensorplay.utils.checkpoint import checkpoint
>>> x = tp.tensor([0.0, 1.0], requires_grad=True)
>>> y = checkpoint(lambda x: (x.exp() * x).sin(), x, use_reentrant=False)
>>> y.sum().backward()
>>> x.grad
tensor([ 1.0000, -4.9567])

[Note: frames] A call of `checkpoint` is a frame. It replaces each tensor that a node would save by a
number, with hooks of saved tensors, and running the function again collects the tensors by these
numbers: both runs save in the same order. Frames nest. The arguments of an inner frame are saved
tensors of the outer one, so they too are computed again.

[Note: a binomial schedule] `checkpoint_sequential(..., schedule="binomial")` reverses a chain of `l`
steps with `s` slots for states so that no step is computed more than `t` times for the sake of later
ones, where `t` is the least number with `l <= C(s + t, s)` (Theorem 5.4; Griewank 1992). The first
`m` steps are one frame, reversed with `t - 1`; the state behind them takes a slot, and the rest is
reversed with `s - 1` slots.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

import optree

from tensorplay import dispatch
from tensorplay.autograd import enable_grad, is_grad_enabled
from tensorplay.autograd.graph import saved_tensors_hooks
from tensorplay.autograd.saved import SavedTensor, alias
from tensorplay.core.errors import ArgumentError, ArgumentValueError, GradientError
from tensorplay.core.random import default_generator
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_early_stop: ContextVar[bool | None] = ContextVar("checkpoints stop early", default=None)


class CheckpointError(GradientError):
    """Running a checkpointed function again gave other tensors than the first time."""


class _StopRecomputationError(Exception):
    """All that the backward pass needs is there."""


class _Frame:
    """One call of a checkpointed function (see [Note: frames])."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: _Options,
    ) -> None:
        call: Any = (args, kwargs)
        leaves, self.structure = optree.tree_flatten(
            call, none_is_leaf=True, namespace="tensorplay"
        )
        self.leaves = [SavedTensor(each) if isinstance(each, Tensor) else each for each in leaves]
        self.wants = [isinstance(each, Tensor) and each.requires_grad for each in leaves]
        self.function = function
        self.options = options
        self.random = default_generator.get_state() if options.preserve_rng_state else None
        self.modes = dispatch.current_modes()
        self.kept: list[tuple[tuple[int, ...], object]] = []
        self.found: dict[int, Tensor] = {}
        self.again: AbstractContextManager[Any] = nullcontext()

    def hooks(self) -> saved_tensors_hooks:
        """Hooks that number the tensors of the first run."""

        def pack(tensor: Tensor) -> int:
            self.kept.append((tuple(tensor.shape), tensor.dtype))
            return len(self.kept) - 1

        return saved_tensors_hooks(pack, self.unpack)

    def unpack(self, number: int) -> Tensor:
        """A tensor that was not kept; each is handed out once, a second pass computes again."""
        if number not in self.found:
            self.run_again()
        return self.found.pop(number)

    def run_again(self) -> None:
        """Run the function up to the last tensor that was saved, and collect all of them."""
        found: list[Tensor] = []

        def pack(tensor: Tensor) -> Tensor:
            number = len(found)
            self.check(number, tensor)
            found.append(alias(tensor))
            if self.options.early_stop and len(found) == len(self.kept):
                raise _StopRecomputationError
            return found[-1]

        values = [
            _as_argument(each, wants) if isinstance(each, SavedTensor) else each
            for each, wants in zip(self.leaves, self.wants, strict=True)
        ]
        call: Any = optree.tree_unflatten(self.structure, values)
        args, kwargs = call
        random = default_generator.get_state()
        try:
            if self.random is not None:
                default_generator.set_state(self.random)
            with (
                dispatch.with_modes(self.modes),
                enable_grad(),
                self.again,
                saved_tensors_hooks(pack, _itself),
            ):
                self.function(*args, **kwargs)
        except _StopRecomputationError:
            pass
        finally:
            if self.random is not None:
                default_generator.set_state(random)
        if len(found) != len(self.kept):
            raise CheckpointError(
                f"checkpoint: the function saved {len(self.kept)} tensors at first and {len(found)} "
                "when it was run again; it must compute the same each time"
            )
        self.found = dict(enumerate(found))

    def check(self, number: int, tensor: Tensor) -> None:
        """Compare a tensor with the one of the first run, as far as it is known."""
        if self.options.determinism_check == "none":
            return
        now = (tuple(tensor.shape), tensor.dtype)
        if number >= len(self.kept) or self.kept[number] != now:
            before = self.kept[number] if number < len(self.kept) else "nothing"
            raise CheckpointError(
                f"checkpoint: as tensor number {number} the function saved {before} at first and {now} "
                "when it was run again; it must compute the same each time"
            )


class _Options:
    """How a frame is run again."""

    __slots__ = ("determinism_check", "early_stop", "preserve_rng_state")

    def __init__(self, determinism_check: str, preserve_rng_state: bool, early_stop: bool) -> None:
        self.determinism_check = determinism_check
        self.preserve_rng_state = preserve_rng_state
        self.early_stop = early_stop


def _as_argument(saved: SavedTensor, wants: bool) -> Tensor:
    """An argument of the second run: a leaf over the same memory."""
    tensor = alias(saved.unpack(None))
    tensor.requires_grad = wants
    return tensor


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _no_contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,  # noqa: ANN401 - those of the function
    use_reentrant: bool | None = None,
    context_fn: Callable[
        [], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]
    ] = _no_contexts,
    determinism_check: Literal["default", "none"] = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,  # noqa: ANN401 - those of the function
) -> Any:  # noqa: ANN401 - what the function returns
    """Return ``function(*args, **kwargs)`` without keeping what its backward pass needs.

    The backward pass runs the function again, in the same state of the random generator (unless
    ``preserve_rng_state`` is False). The function must compute the same both times; shapes and
    dtypes are compared (``determinism_check="none"`` doesn't). ``context_fn`` gives a context for
    each of the runs. Nested checkpoints, keyword arguments, `autograd.grad` and gradients of
    gradients work; ``use_reentrant`` and ``debug`` are part of PyTorch's interface and change
    nothing: there is one implementation, the one without reentrance.

    Inside of a compiled function this is a plain call, because the compiler decides for itself what
    to keep (Section 5.4).
    """
    del use_reentrant, debug
    if determinism_check not in ("default", "none"):
        raise ArgumentValueError(
            f"checkpoint: determinism_check is 'default' or 'none', not {determinism_check!r}"
        )
    if not is_grad_enabled() or dispatch.current_function_mode() is not None:
        return function(*args, **kwargs)
    chosen = _early_stop.get()
    options = _Options(
        determinism_check, preserve_rng_state, early_stop if chosen is None else chosen
    )
    frame = _Frame(function, args, kwargs, options)
    forward_context, frame.again = context_fn()
    with frame.hooks(), forward_context:
        return function(*args, **kwargs)


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Choose for a ``with`` block whether checkpoints run again only as far as needed."""
    token = _early_stop.set(enable)
    try:
        yield
    finally:
        _early_stop.reset(token)


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]] | Any,  # noqa: ANN401 - or a Sequential
    segments: int,
    input: Any,  # noqa: ANN401 - PyTorch's name, what the first function takes
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    *,
    schedule: Literal["uniform", "binomial"] = "uniform",
) -> Any:  # noqa: ANN401 - what the last function returns
    """Return the last result of a chain of functions, each of which takes the last one's result.

    - ``schedule="uniform"``: the chain is cut into ``segments`` of equal length, and each but the last
      is a checkpoint: every step is computed at most twice, and with about ``sqrt(l)`` segments as
      many states are kept (Theorem 5.3).
    - ``schedule="binomial"``: ``segments`` states are kept, and the number of repetitions is the least
      for that (Theorem 5.4, `repetitions`).
    """
    del use_reentrant
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if segments < 1 or not chain:
        raise ArgumentValueError(
            f"checkpoint_sequential: expected functions and at least one segment, found {len(chain)} "
            f"and {segments}"
        )
    if schedule == "binomial":
        count = repetitions(len(chain), segments)
        return _reversed_with(chain, input, segments, count, preserve_rng_state)
    if schedule != "uniform":
        raise ArgumentValueError(
            f"checkpoint_sequential: schedule is 'uniform' or 'binomial', not {schedule!r}"
        )
    size = max(len(chain) // segments, 1)
    start = 0
    for _ in range(min(segments, len(chain)) - 1):
        part = _composed(chain[start : start + size])
        input = checkpoint(part, input, preserve_rng_state=preserve_rng_state)
        start += size
    return _composed(chain[start:])(input)


def _composed(chain: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    def run(value: Any) -> Any:  # noqa: ANN401 - what the functions pass on
        for each in chain:
            value = each(value)
        return value

    return run


def chain_length(slots: int, count: int) -> int:
    """The longest chain that ``slots`` states reverse with ``count`` repetitions: C(s + t, s)."""
    return math.comb(slots + count, slots)


def repetitions(length: int, slots: int) -> int:
    """The least number of repetitions with which ``slots`` states reverse a chain of ``length`` steps."""
    if length < 1 or slots < 1:
        raise ArgumentError(
            f"repetitions: expected a chain and slots, found lengths {length} and {slots}"
        )
    count = 0
    while chain_length(slots, count) < length:
        count += 1
    return count


def _reversed_with(
    chain: Sequence[Callable[..., Any]],
    value: Any,  # noqa: ANN401 - what the functions pass on
    slots: int,
    count: int,
    preserve_rng_state: bool,
) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """Run a chain whose states take at most `slots` slots, the first one included.

    Among the cuts that keep to `count` repetitions, the first that also makes the least steps in all
    (Griewank and Walther 2000): not before C(s + t - 2, s), else a step is repeated for too few.
    """
    if len(chain) == 1:
        return chain[0](value)
    first = max(
        1,
        len(chain) - chain_length(slots - 1, count),
        chain_length(slots, count - 2) if count > 1 else 0,
    )
    first = min(first, len(chain) - 1)

    def reverse_first(value: Any) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
        return _reversed_with(chain[:first], value, slots, count - 1, preserve_rng_state)

    value = checkpoint(reverse_first, value, preserve_rng_state=preserve_rng_state)
    return _reversed_with(chain[first:], value, slots - 1, count, preserve_rng_state)


__all__ = [
    "CheckpointError",
    "chain_length",
    "checkpoint",
    "checkpoint_sequential",
    "repetitions",
    "set_checkpoint_early_stop",
]
