"""What the compiler and the derivatives cover: `tp.compiler.coverage()`, one record for each operator.

In: the registry. Out: a `Coverage`. Nothing is listed by hand: kinds say what lowers, declarations
what has derivatives, and of a composite its parts say both, found by running it on a sample: without
data, or with it where the parts depend on data.

>>> import tensorplay as tp
>>> found = tp.compiler.coverage()
>>> found["gelu"].lowering, found["linalg_qr"].lowering
('native', 'kernel')
>>> found["softmax"].differentiable, found["argmax"].differentiable
(True, False)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tensorplay import dispatch
from tensorplay.core.errors import RegistryError, TensorPlayError
from tensorplay.core.meta import TensorMeta
from tensorplay.core.readable import Readable
from tensorplay.dispatch import OperatorMode
from tensorplay.ops.kinds import Composite, Structured
from tensorplay.ops.kinds.kind import Kind
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg
from tensorplay.ops.signature import Values
from tensorplay.tensor import tensor_from_data

Lowering = Literal["native", "kernel"]
Call = tuple[tuple[object, ...], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class OperatorCoverage:
    """What stands for one operator."""

    name: str
    kind: str
    lowering: Lowering
    """`native`: compiled programs have loops of their own for it; `kernel`: they call eager kernels,
    those of `kernels`."""
    kernels: tuple[str, ...]
    """The operators whose eager kernels are called: itself, or parts of it."""
    differentiable: bool
    """Whether it has a gradient by some argument."""
    reason: str
    """Why there is no gradient."""
    forward_mode: bool
    """Whether it has a tangent."""
    batched: bool
    """Whether `func.vmap` does not have to call it once for each sample."""


@dataclass(frozen=True, slots=True)
class Coverage(Mapping[str, OperatorCoverage], Readable):
    """All operators by name."""

    operators: Mapping[str, OperatorCoverage]

    def __getitem__(self, name: str) -> OperatorCoverage:
        """The record of an operator."""
        return self.operators[name]

    def __iter__(self) -> Iterator[str]:
        """The names in order."""
        return iter(self.operators)

    def __len__(self) -> int:
        """How many operators there are."""
        return len(self.operators)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The operators that compiled programs call as they are: no part of them is another one."""
        return tuple(name for name, each in self.operators.items() if each.kernels == (name,))

    def counts(self) -> dict[str, int]:
        """How many operators there are, of each kind and lowering, and with each derivative."""
        records = list(self.operators.values())
        found = {"operators": len(records)}
        found.update(sorted(Counter(each.kind for each in records).items()))
        found.update(sorted(Counter(each.lowering for each in records).items()))
        for facet in ("differentiable", "forward_mode", "batched"):
            found[facet] = sum(bool(getattr(each, facet)) for each in records)
        return found

    def text(self) -> str:
        """A table: a row for each operator, then the counts and the kernels."""
        width = max(len(name) for name in self.operators)
        lines = [f"{'operator':{width}}  kind        lowering  gradient  tangent  batched"]
        for name, each in self.operators.items():
            marks = "".join(
                f"{'yes' if held else '-':{space}}"
                for held, space in (
                    (each.differentiable, 10), (each.forward_mode, 9), (each.batched, 8),
                )
            )  # fmt: skip
            called = "" if each.kernels in {(), (name,)} else ", ".join(each.kernels)
            row = f"{name:{width}}  {each.kind:10}  {each.lowering:8}  {marks}{called}"
            lines.append(row.rstrip())
        lines += ["", *(f"{what}: {count}" for what, count in self.counts().items())]
        return "\n".join([*lines, "", f"kernels: {', '.join(self.kernels)}"])


def coverage() -> Coverage:
    """Return what the compiler lowers and what has derivatives, for every operator of the registry."""
    from tensorplay.compiler.backends.stax import op_lowerings  # registers its rules

    del op_lowerings
    found: dict[str, OperatorCoverage] = {}
    for operator in sorted(tp, key=lambda each: each.name):
        _record(operator, found)
    return Coverage(dict(sorted(found.items())))


def _record(operator: Operator, found: dict[str, OperatorCoverage]) -> OperatorCoverage:
    known = found.get(operator.name)
    if known is None:
        parts = type(operator.kind) is Composite
        known = found[operator.name] = _of_parts(operator, found) if parts else _of_one(operator)
    return known


def _of_one(operator: Operator) -> OperatorCoverage:
    """An operator that its declaration and its kind say everything of."""
    kind = operator.kind
    by_kernel = isinstance(kind, Structured) and operator.lowering is None
    differentiable = operator.not_differentiable is None
    return OperatorCoverage(
        operator.name, kind.name, "kernel" if by_kernel else "native",
        (operator.name,) if by_kernel else (), differentiable, operator.not_differentiable or "",
        differentiable and _has_tangent(operator), _is_batched(operator),
    )  # fmt: skip


def _has_tangent(operator: Operator) -> bool:
    derived = type(operator.kind).tangent not in {Kind.tangent, Composite.tangent}
    return operator.written_tangent is not None or operator.linear or derived


def _is_batched(operator: Operator) -> bool:
    return operator.batching_rule is not None or type(operator.kind).batch is not Kind.batch


def _of_parts(operator: Operator, found: dict[str, OperatorCoverage]) -> OperatorCoverage:
    """A composite: what its parts are in the first sample that can be run."""
    mode = _Parts()
    for values in _calls(operator):
        mode.seen.clear()
        try:
            with mode:
                result = operator.kind.decompose(operator, values)  # type: ignore[attr-defined]  # a composite
        except TensorPlayError:
            continue
        break
    else:
        msg = f"{operator.name}: no sample can be run"
        raise RegistryError(msg)
    differentiable = any(each.requires_grad for each in _tensors(result))
    records = [_record(part, found) for part in mode.seen.values()]
    kernels = tuple(sorted({name for each in records for name in each.kernels}))
    through = [each for each in records if each.differentiable]
    own = bool(operator.gradients)
    return OperatorCoverage(
        operator.name, operator.kind.name, "kernel" if kernels else "native", kernels,
        differentiable, "" if differentiable else "no part of it passes a gradient on",
        differentiable
        and (_has_tangent(operator) if own else all(each.forward_mode for each in through)),
        all(each.batched for each in records),
    )  # fmt: skip


class _Parts(OperatorMode):
    """Collects the operators that are called."""

    def __init__(self) -> None:
        self.seen: dict[str, Operator] = {}

    def call_values(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # results
        """Note the operator, and go on."""
        self.seen[operator.name] = operator
        return dispatch.call(operator, values)


def _calls(operator: Operator) -> Iterator[Values]:
    """Calls with tensors that require a gradient where they can: the samples without data, then with it.

    At last those that must be refused with the required arguments alone: random operators may have
    no others.
    """
    samples = list(operator.samples()) if operator.samples is not None else []
    good = [(each.args, each.kwargs) for each in samples if each.error is None]
    required = sum(each.required for each in operator.signature.parameters)
    least: list[Call] = [(each.args[:required], {}) for each in samples if each.error is not None]
    for calls, with_data in ((good, False), (good, True), (least, True)):
        for args, kwargs in calls:
            given = {name: _argument(each, with_data) for name, each in kwargs.items()}
            yield operator.signature.bind([_argument(each, with_data) for each in args], given)


def _argument(value: Any, with_data: bool) -> Any:  # noqa: ANN401  # an argument
    if isinstance(value, Arg):
        if with_data:
            data = 0 if value.values is None else value.values
            tensor = tp.zeros(value.shape, dtype=value.dtype) + tensor_from_data(
                data, dtype=value.dtype
            )
        else:
            tensor = dispatch.tensor_of_meta(TensorMeta(value.shape, value.dtype))
        tensor.requires_grad = value.dtype.is_differentiable
        return tensor
    if isinstance(value, (tuple, list)):
        return tuple(_argument(each, with_data) for each in value)
    return value


def _tensors(result: Any) -> list[Any]:  # noqa: ANN401  # a tensor or a structure of them
    if isinstance(result, (tuple, list)):
        return [tensor for each in result for tensor in _tensors(each)]
    return [result] if hasattr(result, "requires_grad") else []


__all__ = ["Coverage", "OperatorCoverage", "coverage"]
