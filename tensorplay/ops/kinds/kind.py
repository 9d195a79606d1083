"""What every kind of operator answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tensorplay.core.errors import NotDifferentiableError, RegistryError
from tensorplay.ops import door
from tensorplay.ops.signature import is_tensor

if TYPE_CHECKING:
    from tensorplay.ops.gradient import Pullback, Result
    from tensorplay.ops.registry import Metas, Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

NO_NAMES: frozenset[str] = frozenset()


class Kind(ABC):
    """The interpretations of a declaration that its kind derives."""

    name: ClassVar[str]
    is_view: bool = False
    """Whether results share the memory of the first tensor argument."""

    @abstractmethod
    def meta(self, operator: Operator, values: Values) -> Metas:
        """The result's metadata; tensors in `values` are `TensorMeta`s."""

    @abstractmethod
    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # array or tuple
        """The result; tensors in `values` are NumPy arrays."""

    def pullback(
        self,
        operator: Operator,
        values: Values,
        result: Result,
        needs: Sequence[bool],
    ) -> Pullback | None:
        """The derived pullback; see `Operator.vjp`."""
        del values, result, needs
        msg = f"{operator.name} has no gradient rule; declare one with @{operator.name}.gradient"
        raise NotDifferentiableError(msg)

    def tangent(
        self,
        operator: Operator,
        values: Values,
        result: Result,
        tangents: Sequence[Tensor | None],
    ) -> Any:  # noqa: ANN401  # tensor or tuple
        """The derived tangent; see `Operator.jvp`. Linear operators are their own tangent."""
        del result
        if operator.linear:
            return linear_tangent(operator, values, tangents)
        msg = f"{operator.name} has no forward-mode rule; declare one with @{operator.name}.tangent"
        raise NotDifferentiableError(msg)

    def batch(self, operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """The derived batching rule (see `ops.batching`); `NotImplemented` where there is none."""
        del operator, values, metas, size
        return NotImplemented

    def batched(self, operator: Operator) -> Operator | None:
        """The operator with a batch in front as an operator of its own, where a kind derives one."""
        del operator
        return None

    def missing_gradient(self, operator: Operator) -> str | None:
        """Why `freeze` should ask for a written gradient; None where one is derived."""
        return None if operator.gradients else f"the kind {self.name} derives none"

    def overload_names(self, operator: Operator) -> Mapping[str, frozenset[str]]:
        """The names of all overloads, with the parameters that each leaves out."""
        del operator
        return {"default": NO_NAMES}

    def overload_name(self, operator: Operator, values: Values) -> str:
        """The name of the overload that a call resolves to."""
        del operator, values
        return "default"

    def companion_named(self, operator: Operator, name: str) -> Operator:
        """An operator derived from this one, such as `gelu_backward`."""
        msg = f"{operator.name} derives no operator named {name!r}"
        raise RegistryError(msg)


def linear_tangent(operator: Operator, values: Values, tangents: Sequence[Tensor | None]) -> Any:  # noqa: ANN401  # tensor or tuple
    """The operator applied to tangents in place of its one tensor argument (or list of tensors)."""
    queue = list(tangents)
    replaced: list[object] = []
    for value in values:
        if is_tensor(value):
            replaced.append(_tangent_or_zero(queue.pop(0), value))
        elif type(value) is tuple and any(is_tensor(each) for each in value):
            replaced.append(
                tuple(
                    _tangent_or_zero(queue.pop(0), each) if is_tensor(each) else each
                    for each in value
                )
            )
        else:
            replaced.append(value)
    return door.call(operator, tuple(replaced))


def _tangent_or_zero(tangent: Tensor | None, primal: Any) -> Tensor:  # noqa: ANN401  # a tensor
    """The tangent; zeros where there is none.

    The argument itself where it cannot have one (an index).
    """
    if tangent is not None:
        return tangent
    if not primal.dtype.is_differentiable:
        itself: Tensor = primal
        return itself
    zeros: Tensor = primal.new_zeros(primal.shape)
    return zeros
