"""Written gradient rules, and the pullbacks that the autograd engine receives.

A rule's parameters say what it reads, so that exactly this is saved:

    @matmul.gradient("input")
    def _(grad: Tensor, other: Tensor) -> Tensor:
        return matmul(grad, other.mT)

- `grad`: the gradient of the result; `grads`: a tuple for operators with several results (None
  where there is none);
- `result` / `results`: what the operator returned;
- the name of a parameter: its argument; annotated `TensorMeta`, only its shape and dtype (nothing
  is saved);
- `needs`: which of the rule's names are wanted (a tuple of bools).

A rule for one name returns its gradient (a sequence for a list of tensors), a rule for several a
tuple. A gradient is afterwards summed to the argument's shape where it was broadcast, and converted
to its dtype.

Rules are written for real numbers. A holomorphic operator's rule `g ↦ Jᵀ g` also serves complex
ones: their gradient `Jᴴ g` is the conjugate of the rule's answer to the conjugate of `g`. Where that
is not so (`Operator.conjugates`: abs in it, or the conjugate transpose), the rule is written for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tensorplay.core.errors import RegistryError
from tensorplay.ops.signature import Role, Signature, Values, is_tensor, parameters_of

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.tensor import Tensor

Result: TypeAlias = Any
"""What an operator returns: a tensor, or a tuple of tensors."""
Grads: TypeAlias = "tuple[Tensor | None, ...]"
Tangent: TypeAlias = "Callable[[Operator, Values, Result, Sequence[Tensor | None]], Result]"


@dataclass(frozen=True, slots=True)
class Pullback:
    """What the backward pass needs of one call.

    `saved` are tensors, arguments or results. `pull(grads, saved, wanted)` takes the gradients of
    the results and gives one gradient for each tensor argument (in the order of
    `Operator.tensors`), None where `wanted` is False or the gradient is zero. It holds no tensor
    itself; `saved` may be replaced by equal tensors.
    """

    saved: tuple[Tensor, ...]
    pull: Callable[[Grads, Sequence[Tensor], Sequence[bool]], Grads]


_SPECIAL = frozenset({"grad", "grads", "result", "results", "needs"})


@dataclass(frozen=True, slots=True)
class Read:
    """One parameter of a rule: where its value comes from."""

    name: str
    place: int | None
    """The operator's parameter, None for the special names."""
    is_meta: bool


@dataclass(frozen=True, slots=True)
class Gradient:
    """A rule for the gradients of some parameters."""

    names: tuple[str, ...]
    function: Callable[..., Any]
    reads: tuple[Read, ...]

    @staticmethod
    def of(signature: Signature, names: tuple[str, ...], function: Callable[..., Any]) -> Gradient:
        """Read a rule's parameters."""
        reads: list[Read] = []
        for each in parameters_of(function):
            is_meta = isinstance(each.annotation, str) and "TensorMeta" in each.annotation
            is_special = each.name in _SPECIAL and not is_meta
            place = None if is_special else signature.places.get(each.name)
            if place is None and each.name not in _SPECIAL:
                msg = f"{signature.name}: a gradient rule reads {each.name!r}, which is no parameter of {signature}"
                raise RegistryError(msg)
            reads.append(Read(each.name, place, is_meta))
        return Gradient(names, function, tuple(reads))


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where a saved tensor goes back: argument `name`, or its element `item` of a list."""

    name: str
    item: int | None


def written_pullback(
    operator: Operator, values: Values, result: Result, needs: Sequence[bool]
) -> Pullback | None:
    """The pullback of an operator with written rules."""
    needed = _wanted_names(operator, values, needs)
    rules = [rule for rule in operator.gradients if any(name in needed for name in rule.names)]
    if not rules:
        return None
    saved: list[Any] = []
    slots: list[_Slot] = []
    fixed: dict[str, Any] = {}
    for rule in rules:
        for read in rule.reads:
            _save(read, values, result, saved, slots, fixed)
    layout = _argument_layout(operator, values)

    def pull(grads: Grads, tensors: Sequence[Tensor], wanted: Sequence[bool]) -> Grads:
        known = dict(fixed)
        names = {each.name for each, want in zip(layout, wanted, strict=True) if want}
        for slot, tensor in zip(slots, tensors, strict=True):
            if slot.item is None:
                known[slot.name] = tensor
            else:
                known[slot.name] = _with_item(known[slot.name], slot.item, tensor)
        turn = operator.turns_gradients and any(
            each is not None and each.dtype.is_complex for each in grads
        )
        if turn:
            grads = tuple(None if each is None else _conjugate(operator, each) for each in grads)
        known["grad"] = grads[0]
        known["grads"] = grads
        found: dict[str, Any] = {}
        for rule in rules:
            known["needs"] = tuple(name in names for name in rule.names)
            if not any(known["needs"]):
                continue
            answer = rule.function(*[_argument(known, read) for read in rule.reads])
            answers = (answer,) if len(rule.names) == 1 else answer
            found.update(zip(rule.names, answers, strict=True))
        answers = _flatten(layout, found, wanted)
        if turn:
            answers = tuple(
                None if each is None else _conjugate(operator, each) for each in answers
            )
        return answers

    return Pullback(tuple(saved), pull)


def _conjugate(operator: Operator, grad: Tensor) -> Tensor:
    if not grad.dtype.is_complex:
        return grad
    turned: Tensor = operator.sibling("conj_physical")(grad)
    return turned


def _argument(known: dict[str, Any], read: Read) -> Any:  # noqa: ANN401  # any argument
    return known[_meta_key(read.name) if read.is_meta else read.name]


def _meta_key(name: str) -> str:
    return f"meta of {name}"


def _save(
    read: Read,
    values: Values,
    result: Result,
    saved: list[Any],
    slots: list[_Slot],
    fixed: dict[str, Any],
) -> None:
    if read.place is None and read.name in {"grad", "grads", "needs"}:
        return
    name = _meta_key(read.name) if read.is_meta else read.name
    if name in fixed or any(slot.name == name for slot in slots):
        return
    value = result if read.place is None else values[read.place]
    if read.is_meta:
        fixed[name] = _metas(value)
    elif is_tensor(value):
        saved.append(value)
        slots.append(_Slot(name, None))
    elif type(value) is tuple and any(is_tensor(each) for each in value):
        fixed[name] = tuple(None if is_tensor(each) else each for each in value)
        for item, each in enumerate(value):
            if is_tensor(each):
                saved.append(each)
                slots.append(_Slot(name, item))
    else:
        fixed[name] = value


def _metas(value: Any) -> Any:  # noqa: ANN401  # tensor, tuple or None
    if is_tensor(value):
        return value.tensor_meta
    return tuple(_metas(each) for each in value) if type(value) is tuple else value


def _with_item(items: tuple[Any, ...], item: int, tensor: Tensor) -> tuple[Any, ...]:
    return (*items[:item], tensor, *items[item + 1 :])


@dataclass(frozen=True, slots=True)
class _Argument:
    """A tensor argument: its parameter, its place in a list, its shape and dtype."""

    name: str
    item: int | None
    meta: Any


def _argument_layout(operator: Operator, values: Values) -> tuple[_Argument, ...]:
    found: list[_Argument] = []
    for parameter, value in zip(operator.signature.parameters, values, strict=True):
        if is_tensor(value):
            found.append(_Argument(parameter.name, None, value.tensor_meta))  # type: ignore[attr-defined]  # its role says so
        elif parameter.role in {Role.TENSORS, Role.SLOTS, Role.PARTS} and type(value) is tuple:
            found += [
                _Argument(parameter.name, item, each.tensor_meta)
                for item, each in enumerate(value)
                if is_tensor(each)
            ]
    return tuple(found)


def _wanted_names(operator: Operator, values: Values, needs: Sequence[bool]) -> set[str]:
    layout = _argument_layout(operator, values)
    return {each.name for each, need in zip(layout, needs, strict=True) if need}


def _flatten(layout: tuple[_Argument, ...], found: dict[str, Any], needs: Sequence[bool]) -> Grads:
    grads: list[Any] = []
    for argument, need in zip(layout, needs, strict=True):
        grad = found.get(argument.name) if need else None
        if grad is not None and argument.item is not None:
            grad = grad[argument.item]
        grads.append(None if grad is None else fit_gradient(grad, argument.meta))
    return tuple(grads)


def fit_gradient(grad: Tensor, meta: Any) -> Tensor:  # noqa: ANN401  # a TensorMeta
    """A gradient summed over the dimensions along which its argument was broadcast, in the argument's dtype."""
    shape = meta.shape
    if grad.shape != shape:
        lead = grad.ndim - len(shape)
        stretched = [
            i + lead for i, size in enumerate(shape) if size == 1 and grad.shape[i + lead] != 1
        ]
        if lead or stretched:
            grad = grad.sum((*range(lead), *stretched), keepdim=True)
        if lead:
            grad = grad.reshape(shape)
    return grad if grad.dtype is meta.dtype else grad.to(meta.dtype)
