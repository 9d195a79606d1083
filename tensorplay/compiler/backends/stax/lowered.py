"""`LoweredTensor`: what a node of the operator graph is while it is being lowered.

A lowered tensor is *stored* (it has a place in a buffer, by strides and offset) or *computed* (it is only a function from
index to value, to be inlined into whoever reads it). `realize` turns the second into the first. The layout of a buffer
stays flexible until something fixes it, or lowering ends; closures ask for it when they run, not when they are made.

Names follow the chapter's Listing 6.1: `get_size`, `get_dtype`, `get_device`, `make_loader`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tensorplay.compiler.backends.stax.index import Expr, linear_index, to_expr
from tensorplay.compiler.backends.stax.ir import (
    FixedLayout,
    Index,
    Loops,
    Pointwise,
    PointwiseFn,
    StridedView,
    loop_variables,
)
from tensorplay.core.layout import contiguous_strides

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler
    from tensorplay.compiler.backends.stax.ir import ExternCall
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.ops.values import Value

IndexMap: TypeAlias = "Callable[[Index], Sequence[int | Expr]]"


@dataclass(slots=True, eq=False)
class BufferDraft:
    """A buffer while lowering runs. `strides` is None as long as its layout is flexible.

    `loops` (computed), `call` and `position` (external) or neither (an input) say how it comes to be; the data
    of a scatter's draft lie in the memory of `storage`.
    """

    name: str
    device: Device
    dtype: DType
    size: tuple[int, ...]
    strides: tuple[int, ...] | None
    origins: tuple[str, ...] = ()
    loops: Loops | None = None
    call: ExternCall | None = None
    position: int = 0
    storage: BufferDraft | None = None
    eager_offset: int = 0
    """An input's first element, counted from the start of its storage."""

    @property
    def memory(self) -> BufferDraft:
        """The buffer whose memory holds the data."""
        return self if self.storage is None else self.storage.memory

    @property
    def is_input(self) -> bool:
        """Say whether the caller owns the memory."""
        return self.loops is None and self.call is None

    def fixed_strides(self) -> tuple[int, ...]:
        """Return the strides; a layout that is still flexible becomes contiguous."""
        memory = self.memory
        if memory.strides is None:
            memory.strides = contiguous_strides(memory.size)
        return memory.strides

    def current_strides(self) -> tuple[int, ...]:
        """Return the strides as far as they are decided, without deciding them."""
        memory = self.memory
        return contiguous_strides(memory.size) if memory.strides is None else memory.strides

    def layout(self) -> FixedLayout:
        """Return the final layout."""
        return FixedLayout(self.device, self.dtype, self.size, self.fixed_strides())


class Context(Protocol):
    """What a lowered tensor needs of the lowering that made it."""

    def add_buffer(
        self, loops: Loops, device: Device, size: tuple[int, ...], origins: tuple[str, ...]
    ) -> BufferDraft:
        """Make a buffer that loops write."""
        ...


@dataclass(slots=True, eq=False)
class Stored:
    """A place in a buffer: the whole of it (`strides` None), or the view by strides and offset."""

    buffer: BufferDraft
    strides: tuple[int, ...] | None = None
    offset: int = 0

    def address(self, index: Index) -> Expr:
        """Return the place of an element."""
        strides = self.buffer.current_strides() if self.strides is None else self.strides
        return linear_index(index, strides, self.offset)


@dataclass(slots=True, eq=False)
class LoweredTensor:
    """A tensor as the lowering rules see it. `depth` counts the closures that call each other."""

    context: Context
    size: tuple[int, ...]
    dtype: DType
    device: Device
    stored: Stored | None = None
    inner_fn: PointwiseFn | None = None
    depth: int = 0
    origins: tuple[str, ...] = ()
    view: ViewOf | None = None
    """For a view of a tensor that had no fixed memory: of what, and how."""
    eager_strides: tuple[int, ...] = ()
    """The strides that eager execution gives: what `as_strided` of this tensor means."""

    # ---- questions, by the chapter's names -------------------------------------------------------

    def get_size(self) -> tuple[int, ...]:
        """Return the shape."""
        return self.size

    def get_dtype(self) -> DType:
        """Return the dtype."""
        return self.dtype

    def get_device(self) -> Device:
        """Return the device."""
        return self.device

    @property
    def is_stored(self) -> bool:
        """Say whether the tensor has memory."""
        return self.stored is not None

    def make_loader(self) -> PointwiseFn:
        """Return the function from (handler, index) to the element."""
        if self.inner_fn is not None and self.stored is None:
            return self.inner_fn
        stored = self.stored
        assert stored is not None  # noqa: S101  # a tensor is one or the other
        name = stored.buffer.memory.name

        def load(handler: SymbolicHandler, index: Index) -> Value:
            return handler.load(name, stored.address(index))

        return load

    # ---- changes ---------------------------------------------------------------------------------

    def realize(self) -> Stored:
        """Give the tensor memory, if it has none yet. A view of a computed tensor is computed into memory of its own."""
        if self.stored is None:
            assert self.inner_fn is not None  # noqa: S101  # a tensor is one or the other
            loops = Pointwise(self.dtype, self.size, self.inner_fn)
            self.stored = Stored(
                self.context.add_buffer(loops, self.device, self.size, self.origins)
            )
            self.depth = 0
        return self.stored

    def realize_with(self, strides: tuple[int, ...]) -> Stored:
        """Give the tensor memory with these strides; tensors that have another layout are copied."""
        stored = self.realize()
        memory = stored.buffer.memory
        if stored.strides is None and memory.strides is None:
            memory.strides = strides
        own = stored.strides or memory.strides
        if own != strides or stored.offset or stored.strides is not None or memory.is_input:
            copy = LoweredTensor(
                self.context, self.size, self.dtype, self.device,
                inner_fn=self.make_loader(), origins=self.origins,
            )  # fmt: skip
            return copy.realize_with(strides)
        return stored

    def as_argument(self) -> StridedView:
        """Return the tensor as an argument of an external call: a strided view of a buffer."""
        chain: list[LoweredTensor] = []
        tensor = self
        while tensor.stored is None and tensor.view is not None:
            chain.append(tensor)
            tensor = tensor.view.base
        tensor.realize().buffer.fixed_strides()
        for view in reversed(chain):
            view.become_strided()
        stored = self.realize()
        strides = stored.buffer.fixed_strides() if stored.strides is None else stored.strides
        layout = FixedLayout(self.device, self.dtype, self.size, strides, stored.offset)
        return StridedView(stored.buffer.memory.name, layout)

    def become_strided(self) -> None:
        """Become a strided view of a base that is stored; computed into memory where the view isn't affine."""
        assert self.view is not None  # noqa: S101  # asked of views
        base = self.view.base.stored
        assert base is not None  # noqa: S101  # the chain is walked from its stored end
        self.stored = strided_view(base, self.size, self.view.source)
        self.realize().buffer.fixed_strides()


@dataclass(frozen=True, slots=True, eq=False)
class ViewOf:
    """The tensor that is viewed, and the map from indices of the view to its indices."""

    base: LoweredTensor
    source: IndexMap


def strided_view(base: Stored, size: tuple[int, ...], source: IndexMap) -> Stored | None:
    """Return a view as strides and offset (Proposition 6.2), or None where its addresses aren't affine."""
    if 0 in size:
        return Stored(base.buffer, contiguous_strides(size))
    variables = loop_variables("i", size)
    address = base.address(tuple(map(to_expr, source(variables))))
    if not address.is_affine:
        return None
    strides = [0] * len(size)
    follower = 1
    for k in range(len(size) - 1, -1, -1):
        symbol = variables[k].as_symbol()
        strides[k] = follower if symbol is None else address.stride(symbol) or 0
        follower = strides[k] * size[k]
    return Stored(base.buffer, tuple(strides), address.constant)
