"""The graph that autograd records, for those who look at it or change what it keeps.

In: hooks. Out: other forms of saved tensors (on disk, compressed, computed again), calls when
gradients are ready.

>>> import tensorplay as tp
>>> seen = []
>>> x = tp.tensor([1.0, 2.0], requires_grad=True)
>>> with tp.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
...     y = (x * x).sum()
>>> y.backward()
>>> seen
[(2,), (2,)]
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tensorplay.autograd.engine import current_pass, queue_callback
from tensorplay.autograd.node import AccumulateGrad, Node, RemovableHandle
from tensorplay.autograd.saved import saved_hooks
from tensorplay.autograd.tensor_state import gradient_edge, register_hook
from tensorplay.core.errors import ArgumentValueError, GradientError
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextvars import Token
    from types import TracebackType

    from tensorplay.autograd.saved import Pack, Unpack


class _Block:
    """A value of `saved_hooks` for a ``with`` block."""

    def __init__(self, value: tuple[Pack, Unpack] | str) -> None:
        self._value = value
        self._tokens: list[Token[tuple[Pack, Unpack] | str | None]] = []

    def __enter__(self) -> None:
        before = saved_hooks.get()
        if isinstance(before, str) and not isinstance(self._value, str):
            raise GradientError(before)
        self._tokens.append(saved_hooks.set(self._value))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        saved_hooks.reset(self._tokens.pop())


class saved_tensors_hooks(_Block):  # noqa: N801 - used like a function, as its users know it
    """Keep, instead of each tensor that is saved in a ``with`` block, what ``pack_hook(tensor)`` returns.

    ``unpack_hook`` makes of that a tensor of the same contents, when a backward pass needs it. The
    innermost block's hooks are used; both run without recording. A pack hook must not change its
    argument.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        """Take both hooks."""
        super().__init__((pack_hook, unpack_hook))


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - as above
    """Keep saved tensors in the CPU's memory. Where they are there already, nothing is copied."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        """Take PyTorch's arguments; there is no memory to pin on the CPU."""
        del pin_memory, device_type
        super().__init__(
            lambda tensor: (tensor.device, tensor.cpu()), lambda kept: kept[1].to(kept[0])
        )


class disable_saved_tensors_hooks(_Block):  # noqa: N801 - as above
    """Refuse `saved_tensors_hooks` in a ``with`` block, with a message."""

    def __init__(self, error_message: str) -> None:
        """Take the message."""
        super().__init__(error_message)


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor flows: output ``output_nr`` of ``node``."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return where the gradient of a tensor flows to."""
    edge = gradient_edge(tensor)
    if edge is None:
        raise GradientError("get_gradient_edge: the tensor does not require a gradient")
    target, number = edge
    return GradientEdge(target if isinstance(target, Node) else AccumulateGrad(target), number)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a change that autograd can't see (through NumPy, for instance) as one in place."""
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        each.untyped_storage().bump()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call ``fn`` once a backward pass with the gradients of several tensors.

    With ``mode="all"`` when all have one, or at the end of the pass with None for those that got
    none; with ``"any"`` with the first gradient. A pass that reaches none of them doesn't call it.
    """
    if mode not in ("all", "any"):
        raise ArgumentValueError(f"register_multi_grad_hook: mode is 'all' or 'any', not {mode!r}")
    wanting = [i for i, each in enumerate(tensors) if gradient_edge(each) is not None]
    arrived: dict[int, Tensor] = {}
    state: list[weakref.ReferenceType[Any] | None] = [None]

    def is_new(now: object) -> bool:
        known = state[0]
        if known is not None and known() is now:
            return False
        state[0] = weakref.ref(now)
        return True

    def finish() -> None:
        if state[0] is not None:
            given = [arrived.get(i) for i in range(len(tensors))]
            arrived.clear()
            state[0] = None
            fn(given)  # type: ignore[arg-type]  # the form for all

    def hook_of(number: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            now = current_pass()
            if mode == "any":
                if is_new(now):
                    fn(grad)  # type: ignore[arg-type]  # the form for one
                return
            if is_new(now):
                arrived.clear()
                queue_callback(finish)
            arrived[number] = grad
            if len(arrived) == len(wanting):
                finish()

        return hook

    return _Handles([register_hook(tensors[i], hook_of(i)) for i in wanting])


class _Handles(RemovableHandle):
    """Several hooks as one."""

    __slots__ = ("_handles",)

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Take all of them out."""
        for each in self._handles:
            each.remove()


__all__ = [
    "AccumulateGrad",
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
