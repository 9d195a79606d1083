"""Dispatch: the one door that every operator call goes through.

A public call (`F.gelu(x)`, `x + y`, `x.sum(-1)`) first meets the innermost *function mode*, which
sees it as the user wrote it; capture is one. Then composites without a written gradient run as the
operators that they are made of. Each of those meets the innermost *operator mode*, which sees the
overload with normalized arguments; recording is one. Below the modes lies autograd, below it the
kernel, or, for tensors without data, the meta rule.

While a mode handles a call, it is off; `call_operator` goes on below it:

    class Count(OperatorMode):
        def call(self, overload, args, kwargs):
            self.seen.append(overload)
            return overload(*args, **kwargs)

Every in-place operator is a computation and one `write(tensor, value)`, which modes and autograd
see too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from tensorplay import _C
from tensorplay.core import layout
from tensorplay.core.device import CPU, Device, check_available
from tensorplay.core.errors import (
    DataNeededError,
    DTypeError,
    GradientError,
    LayoutError,
    ShapeError,
)
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import arrays, door
from tensorplay.ops.kinds.composite import Composite, install_runner
from tensorplay.ops.kinds.pointwise import Plan, Pointwise
from tensorplay.ops.kinds.view import View
from tensorplay.ops.registry import Operator, Overload, to_metas
from tensorplay.ops.signature import Values, is_tensor

if TYPE_CHECKING:
    from types import TracebackType

    from tensorplay.tensor import Tensor

Result = TypeVar("Result")
Target: TypeAlias = "Callable[..., Any] | str"
"""What a public call names: a function, or the name of a method."""


class Mode:
    """An interceptor of calls inside a `with` block.

    The innermost mode of a level is asked first.
    """

    _tokens: list[Token[tuple[Mode, ...]]]

    def __enter__(self) -> Any:  # noqa: ANN401  # the mode itself, as its own type
        """Push."""
        if not hasattr(self, "_tokens"):
            self._tokens = []
        self._tokens.append(_modes.set((*_modes.get(), self)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Pop."""
        _modes.reset(self._tokens.pop())


class FunctionMode(Mode):
    """Sees public calls as written."""

    def call(self, target: Target, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401  # whatever the call gives
        """Handle a call: `target` is a public function, a function of `operator`, or a method's name."""
        raise NotImplementedError

    def read_data(self, tensor: Tensor, what: str) -> np.ndarray[Any, np.dtype[Any]] | None:
        """The data that `what` (`item()`, `bool()`, …) asks of a tensor; None where it has none."""
        del what
        array: np.ndarray[Any, np.dtype[Any]] | None = tensor.array
        return array

    def check_grad(self, tensor: Tensor, *, is_assigned: bool) -> None:
        """Refuse to have the `.grad` of a tensor read or assigned, if that can't be right here."""

    def check_missing(self, tensor: Tensor, name: str) -> None:
        """Refuse an attribute that a tensor lacks, if something else is the reason than that nobody set it."""


class OperatorMode(Mode):
    """Sees overloads with normalized arguments, and writes into tensors.

    A *transform* (a level of forward mode, a batch) changes what calls compute: a function mode
    outside of it sees what it makes of them, not what the user wrote inside.
    """

    is_transform: bool = False

    def call(self, overload: Overload, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401  # whatever the call gives
        """Handle an operator call; `overload(*args, **kwargs)` goes on below this mode."""
        raise NotImplementedError

    def call_values(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """Handle a call given by its canonical values: what comes first, and leads to `call`."""
        overload = operator.overload_of(values)
        args, kwargs = overload.shown(values)
        return self.call(overload, args, kwargs)

    def write(self, tensor: Tensor, value: Tensor) -> None:
        """Handle an in-place change: `tensor` takes the contents of `value` (same shape and dtype)."""
        write(tensor, value)

    def refuse_data(self, tensor: Tensor, what: str) -> None:
        """Raise where `what` (`item()`, `bool()`, …) asks for the data of a tensor that has none here."""


_modes: ContextVar[tuple[Mode, ...]] = ContextVar("tensorplay modes", default=())
_grad_mode: ContextVar[bool] = ContextVar("tensorplay grad mode", default=True)

current_modes = _modes.get
"""The stack of modes, outermost first."""
is_grad_enabled = _grad_mode.get
"""Whether calls are recorded for the backward pass."""


@contextmanager
def set_grad_enabled(enabled: bool) -> Iterator[None]:  # the one thing it says
    """Switch recording for the backward pass inside a `with` block."""
    token = _grad_mode.set(enabled)
    try:
        yield
    finally:
        _grad_mode.reset(token)


def push_grad_mode(enabled: bool) -> Token[bool]:
    """Switch recording on or off until `pop_grad_mode(token)`."""
    return _grad_mode.set(enabled)


def pop_grad_mode(token: Token[bool]) -> None:
    """Undo `push_grad_mode`."""
    _grad_mode.reset(token)


@contextmanager
def without_modes() -> Iterator[None]:
    """Switch all modes off inside a `with` block."""
    token = _modes.set(())
    try:
        yield
    finally:
        _modes.reset(token)


@contextmanager
def with_modes(modes: tuple[Mode, ...]) -> Iterator[None]:
    """Have these modes on inside a `with` block, as when `current_modes()` returned them."""
    token = _modes.set(modes)
    try:
        yield
    finally:
        _modes.reset(token)


def current_function_mode() -> FunctionMode | None:
    """The innermost function mode."""
    return next((mode for mode in reversed(_modes.get()) if isinstance(mode, FunctionMode)), None)


def _asked_first(modes: tuple[Mode, ...]) -> FunctionMode | None:
    """The innermost function mode, where no transform stands inside of it."""
    for mode in reversed(modes):
        if isinstance(mode, FunctionMode):
            return mode
        if isinstance(mode, OperatorMode) and mode.is_transform:
            return None
    return None


def innermost_transform() -> OperatorMode | None:
    """The innermost transform, where no function mode stands inside of it."""
    for mode in reversed(_modes.get()):
        if isinstance(mode, FunctionMode):
            return None
        if isinstance(mode, OperatorMode) and mode.is_transform:
            return mode
    return None


@contextmanager
def below(mode: Mode) -> Iterator[None]:
    """Switch a mode off inside a `with` block, as while it handles a call."""
    token = _modes.set(_below(_modes.get(), mode))
    try:
        yield
    finally:
        _modes.reset(token)


def refuse_data(tensor: Tensor, what: str) -> None:
    """Let the modes say why a tensor has no data."""
    for mode in reversed(_modes.get()):
        if isinstance(mode, OperatorMode):
            mode.refuse_data(tensor, what)


def _below(modes: tuple[Mode, ...], mode: Mode) -> tuple[Mode, ...]:
    """The stack without a mode and without the modes of its level inside it."""
    level = FunctionMode if isinstance(mode, FunctionMode) else OperatorMode
    place = modes.index(mode)
    return modes[:place] + tuple(each for each in modes[place + 1 :] if not isinstance(each, level))


# ---- function level -----------------------------------------------------------------------------------


def call_function(
    target: Target, body: Callable[..., Result], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Result:
    """A public call: to the innermost function mode, else to `body(*args, **kwargs)`."""
    modes = _modes.get()
    mode = _asked_first(modes)
    if mode is None:
        return body(*args, **kwargs)
    token = _modes.set(_below(modes, mode))
    try:
        return mode.call(target, args, kwargs)  # type: ignore[no-any-return]  # a mode gives what the body would
    finally:
        _modes.reset(token)


# ---- operator level -----------------------------------------------------------------------------------


def call(operator: Operator, values: Values) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """Call an operator on canonical values (one for each parameter).

    A function mode that is on sees it too: then user code called the operator itself.
    """
    kind = operator.kind
    modes = _modes.get()
    if modes and _asked_first(modes) is not None:
        return _call_shown(operator, values)
    try:
        if type(kind) is Composite and not operator.gradients:
            if operator.shortcut_kernel is not None and not modes and _is_plain(operator, values):
                found = _take_shortcut(operator, values)
                if found is not None:
                    return found
            return kind.decompose(operator, values)
        for mode in reversed(modes):
            if isinstance(mode, OperatorMode):
                token = _modes.set(_below(modes, mode))
                try:
                    return mode.call_values(operator, values)
                finally:
                    _modes.reset(token)
        return execute(operator, values)
    except AttributeError:  # perhaps a number, which lacks what tensors have
        operator.signature.refuse_others(values)
        raise


def _call_shown(operator: Operator, values: Values) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """A call of an operator as a public call."""

    def body(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as the operator
        return call(operator, operator.signature.bind(args, kwargs))

    args, kwargs = operator.signature.given(values)
    return call_function(operator, body, args, kwargs)


def call_operator(
    target: Operator | Overload,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """Call an operator or overload with args and kwargs."""
    operator = target.operator if isinstance(target, Overload) else target
    return call(operator, operator.signature.bind(args, kwargs or {}))


Autograd: TypeAlias = Callable[[Operator, Values, "list[Tensor]"], Any]
AutogradWrite: TypeAlias = Callable[["Tensor", "Tensor"], None]
_autograd: list[Autograd] = []
_autograd_write: list[AutogradWrite] = []


def install_autograd(on_call: Autograd, on_write: AutogradWrite) -> None:
    """Let autograd see calls and writes that involve tensors that require a gradient.

    `on_call(operator, values, tensors)` computes with `compute(operator, values)` and gives the
    results their `grad_fn`; `on_write(tensor, value)` stores with `store(tensor, value)` and
    re-bases the tensor's history.
    """
    _autograd[:] = [on_call]
    _autograd_write[:] = [on_write]


def execute(operator: Operator, values: Values) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """Below the modes: autograd where a gradient is needed, then the kernel."""
    if _autograd and operator.not_differentiable is None and _grad_mode.get():
        for value in values:
            if isinstance(value, _C.TensorBase):
                if has_history(value):  # type: ignore[arg-type]  # a tensor
                    return _autograd[0](operator, values, operator.tensors(values))
            elif type(value) is tuple and any(
                is_tensor(each) and has_history(each) for each in value
            ):
                return _autograd[0](operator, values, operator.tensors(values))
    return compute(operator, values)


def compute(operator: Operator, values: Values) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """Below autograd: the kernel on arrays, or the meta rule where a tensor has no data."""
    kind = operator.kind
    if kind.is_view:
        tensor: Any = values[0]
        if tensor.array is None:
            return _compute_meta(operator, values)
        found = kind.kernel(operator, (tensor.array, *values[1:]))
        return _view_result(_C.wrap_view(found, tensor), operator, values)
    if isinstance(kind, Composite):
        if operator.shortcut_kernel is not None and not _modes.get():
            found = _take_shortcut(operator, values)
            if found is not None:
                return found
        with set_grad_enabled(False):
            return kind.decompose(operator, values)
    plain: list[object] = []
    has_tensor = False
    for value in values:
        if isinstance(value, _C.TensorBase):
            array = value.array
            if array is None:
                return _compute_meta(operator, values)
            plain.append(array)
            has_tensor = True
        elif type(value) is tuple and any(is_tensor(each) for each in value):
            if any(is_tensor(each) and each.array is None for each in value):
                return _compute_meta(operator, values)
            plain.append(tuple(each.array if is_tensor(each) else each for each in value))
            has_tensor = True
        else:
            plain.append(value)
    if not has_tensor and creation_device(operator, values).type == "meta":
        return _compute_meta(operator, values)
    found = kind.kernel(operator, tuple(plain))
    if type(found) is tuple:
        return tuple(_C.wrap(each) for each in found)
    return _C.wrap(found)


def _take_shortcut(operator: Operator, values: Values) -> Any:  # noqa: ANN401  # a tensor or None
    """What a composite's own kernel makes of arrays; None where its parts must be run."""
    plain: list[object] = []
    for value in values:
        if isinstance(value, _C.TensorBase):
            if value.array is None:
                return None
            plain.append(value.array)
        else:
            plain.append(value)
    assert operator.shortcut_kernel is not None  # noqa: S101  # asked before
    found = operator.shortcut_kernel(*plain)
    return None if found is None else _C.wrap(found)


def creation_device(operator: Operator, values: Values) -> Device:
    """The device that a creation asks for; refused where it is not available."""
    place = operator.signature.places.get("device")
    device: Any = None if place is None else values[place]
    if device is None:
        return CPU
    check_available(device)
    return device  # type: ignore[no-any-return]  # bound as a Device


def _compute_meta(operator: Operator, values: Values) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    found = operator.kind.meta(operator, to_metas(values))
    if operator.kind.is_view:
        assert isinstance(found, TensorMeta)  # noqa: S101  # a view has one result
        result = tensor_of_meta(found, values[0].storage)  # type: ignore[attr-defined]  # a tensor
        return _view_result(result, operator, values)
    if isinstance(found, tuple):
        return tuple(tensor_of_meta(each) for each in found)
    return tensor_of_meta(found)


_tensor_class: list[type[Tensor]] = []


def register_tensor_class(cls: type[Tensor]) -> None:
    """Set the class of results."""
    _tensor_class[:] = [cls]
    _C.register_tensor_class(cls)


def tensor_of_meta(meta: TensorMeta, storage: _C.Storage | None = None) -> Tensor:
    """A tensor without data; `storage` where it shares another's memory."""
    cls = _tensor_class[0]
    tensor = cls.__new__(cls)
    tensor.meta = meta
    tensor.dtype = meta.dtype
    tensor.storage = _C.Storage() if storage is None else storage
    return tensor


class ViewStep:
    """How a view was made: `operator(source, *arguments)`. `base` is the tensor at the end of the chain.

    Its autograd history follows that of `root`: the base, or the last tensor on the chain that was
    detached; None for a detached tensor, which follows nobody. `history` is the root's
    `history_number` that the view's `grad_fn` belongs to.
    """

    __slots__ = ("arguments", "base", "history", "operator", "root", "source")

    def __init__(self, source: Tensor, operator: Operator, arguments: Values) -> None:
        """Link to the source."""
        self.source = source
        self.operator = operator
        self.arguments = arguments
        step: ViewStep | None = source._view  # noqa: SLF001  # the member `view`, which a method shadows
        self.base: Tensor = source if step is None else step.base
        self.root: Tensor | None = None
        self.history = 0
        if operator.not_differentiable is None:
            follows_source = step is None or step.root is None
            self.root = source if follows_source else step.root  # type: ignore[union-attr]  # a step if not
            self.history = history_number(source) if follows_source else step.history  # type: ignore[union-attr]  # its role says so


def history_number(tensor: Tensor) -> int:
    """What changes when an in-place write gives a tensor another `grad_fn`."""
    node = tensor.grad_fn
    return -1 if node is None else node.sequence


def has_history(tensor: Tensor) -> bool:
    """Whether a gradient may flow to a tensor: to itself, or to the tensor that its history follows."""
    if tensor.requires_grad:
        return True
    step = tensor._view  # noqa: SLF001  # a friend of that class
    return step is not None and step.root is not None and step.root.requires_grad


def _view_result(result: Tensor, operator: Operator, values: Values) -> Tensor:
    result._view = ViewStep(values[0], operator, values[1:])  # type: ignore[arg-type]  # noqa: SLF001  # a friend of that class
    return result


def view_steps(tensor: Tensor, start: Tensor | None = None) -> list[ViewStep]:
    """The steps from the base (or from `start`, a tensor on the chain) to this view, in order."""
    steps: list[ViewStep] = []
    step = tensor._view  # noqa: SLF001  # a friend of that class
    while step is not None:
        steps.append(step)
        step = None if step.source is start else step.source._view  # noqa: SLF001  # a friend of that class
    steps.reverse()
    return steps


def replay_view(base: Tensor, steps: Sequence[ViewStep]) -> list[Tensor]:
    """Apply view steps to a base: every intermediate tensor, the base first."""
    chain = [base]
    for step in steps:
        chain.append(call(step.operator, (chain[-1], *step.arguments)))
    return chain


def write_back(base: Tensor, steps: Sequence[ViewStep], value: Tensor) -> Tensor:
    """`base` after `value` was written through the view that `steps` make of it: inverse scatters, innermost first."""
    chain = replay_view(base, steps[:-1])
    for step, source in zip(reversed(steps), reversed(chain), strict=True):
        kind = step.operator.kind
        assert isinstance(kind, View)  # noqa: S101  # steps are views
        value = kind.scattered(step.operator, source.tensor_meta, step.arguments, source, value)
    return value


# ---- in place -------------------------------------------------------------------------------------------


def write(tensor: Tensor, value: Tensor) -> None:
    """`tensor` takes the contents of `value`, which has its shape and dtype."""
    modes = _modes.get()
    for mode in reversed(modes):
        if isinstance(mode, OperatorMode):
            token = _modes.set(_below(modes, mode))
            try:
                mode.write(tensor, value)
            finally:
                _modes.reset(token)
            return
    execute_write(tensor, value)


def execute_write(tensor: Tensor, value: Tensor) -> None:
    """Below the modes: autograd where a gradient is involved, then the memory."""
    if _autograd_write and _grad_mode.get() and (has_history(tensor) or has_history(value)):
        _autograd_write[0](tensor, value)
        return
    store(tensor, value)


def store(tensor: Tensor, value: Tensor) -> None:
    """Copy the data and count the write."""
    array = tensor.array
    if array is not None:
        if value.array is None:
            msg = "in-place operation: the new value has no data, the tensor has"
            raise DataNeededError(msg)
        check_writable(tensor)
        copy_over(array, value.array)
    storage = tensor.storage
    assert storage is not None  # noqa: S101  # tensors have one
    storage.bump()


def copy_over(array: Any, value: Any) -> None:  # noqa: ANN401  # arrays
    """`np.copyto` as if the value were read before anything is written.

    NumPy sees to that, but for vectors of different positive strides: ``x[::2] = x[1:6]`` reads what it wrote (NumPy 2.4).
    """
    if array.ndim == 1 and array.strides != value.strides and np.may_share_memory(array, value):
        value = value.copy()
    np.copyto(array, value)


def check_writable(tensor: Tensor) -> None:
    """Refuse to write where the result would be ambiguous or memory is read-only."""
    array = tensor.array
    assert array is not None  # noqa: S101  # asked for tensors with data
    storage = tensor.storage
    if storage is not None and storage.is_inference and not _C.is_inference_mode_enabled():
        msg = (
            "in-place operation: a tensor that was made in inference_mode is changed outside of it; call "
            ".clone() first"
        )
        raise GradientError(msg)
    if not array.flags.c_contiguous and layout.has_internal_overlap(tensor.shape, tensor.strides):
        msg = (
            "in-place operation: several elements of the tensor are one in memory (it was expanded); "
            "call .clone() first"
        )
        raise LayoutError(msg)
    if not array.flags.writeable:
        msg = "in-place operation: the memory is read-only (it came from a read-only array); call .clone() first"
        raise LayoutError(msg)


_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def fit_value(name: str, tensor: Tensor, value: Tensor) -> Tensor:
    """A new value for `tensor` in its shape and dtype; refused where it does not fit."""
    if value.dtype is not tensor.dtype:
        if _RANK[value.dtype.kind] > _RANK[tensor.dtype.kind]:
            msg = f"{name}: a {value.dtype} result does not fit the {tensor.dtype} tensor; use the form without underscore"
            raise DTypeError(msg)
        value = value.to(tensor.dtype)
    if value.shape != tensor.shape:
        if layout.broadcast_shapes(name, [value.shape, tensor.shape]) != tensor.shape:
            msg = f"{name}: a result of shape {value.shape} does not fit the tensor's shape {tensor.shape}"
            raise ShapeError(msg)
        value = value.expand(tensor.shape)
    return value


def call_inplace(operator: Operator, values: Values) -> Tensor:
    """`op_` from `op`: compute, write through the tensor, return it."""
    tensor: Any = values[0]
    kind = operator.kind
    if type(kind) is Pointwise and not _modes.get() and _is_plain(operator, values):
        plain = tuple(value.array if is_tensor(value) else value for value in values)  # type: ignore[attr-defined]  # its role says so
        plan = kind.plan(operator, plain)
        if plan.result is tensor.dtype:
            check_writable(tensor)
            _write_into(kind, plan, operator, plain, tensor)
            tensor.storage.bump()
            return tensor  # type: ignore[no-any-return]  # a tensor
    value = call(operator, values)
    write(tensor, fit_value(f"{operator.name}_", tensor, value))
    return tensor  # type: ignore[no-any-return]  # an operator in place writes a tensor


def _write_into(
    kind: Pointwise, plan: Plan, operator: Operator, plain: Values, tensor: Tensor
) -> None:
    """A pointwise kernel into the tensor's own memory; its operands must broadcast to it."""
    try:
        kind.run_plan(plan, operator, plain, tensor.array)
    except ValueError:
        shapes = [each.shape for each in plain if isinstance(each, np.ndarray)]
        shape = layout.broadcast_shapes(f"{operator.name}_", shapes)
        if shape == tensor.shape:
            raise
        msg = f"{operator.name}_: a result of shape {shape} does not fit the tensor's shape {tuple(tensor.shape)}"
        raise ShapeError(msg) from None


def _is_plain(operator: Operator, values: Values) -> bool:
    """Whether a call involves data only: no gradient to record, no tensor without data."""
    record = _grad_mode.get()
    return all(
        each.array is not None and not (record and has_history(each))
        for each in operator.tensors(values)
    )


def convert_array(array: Any, dtype: Any) -> Any:  # noqa: ANN401  # an ndarray and a DType
    """An array converted by the conversion rule."""
    return arrays.convert(array, dtype=dtype)


def _run_composite(operator: Operator, values: Values) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """A composite on arrays or metas, outside modes and autograd."""
    tensors = tuple(_as_tensor(each) for each in values)
    with without_modes(), set_grad_enabled(False):
        assert isinstance(operator.kind, Composite)  # noqa: S101  # installed for composites
        return operator.kind.decompose(operator, tensors)


def _as_tensor(value: Any) -> Any:  # noqa: ANN401  # an argument
    if isinstance(value, TensorMeta):
        return tensor_of_meta(value)
    if isinstance(value, np.ndarray):
        return _C.wrap(value)
    return tuple(_as_tensor(each) for each in value) if type(value) is tuple else value


door.install(call)
install_runner(_run_composite)
_C.register_context(_grad_mode, _modes, ())
