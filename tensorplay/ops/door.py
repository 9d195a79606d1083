"""The one door from operators to the dispatcher, which lies in a higher layer and installs itself here.

Rules and composite bodies call operators; an operator calls `door.call(operator, values)`, where
`values` holds one entry for each parameter of its signature, defaults filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorplay.core.errors import RegistryError

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.tensor import Tensor

Call = Callable[["Operator", tuple[object, ...]], Any]


def _closed(operator: Operator, values: tuple[object, ...]) -> object:
    del values
    msg = f"{operator.name}: import tensorplay before calling operators"
    raise RegistryError(msg)


_call: list[Call] = [_closed]


def call(operator: Operator, values: tuple[object, ...]) -> Tensor:
    """Call an operator through the dispatcher.

    Typed as one tensor; several results are a tuple, which unpacks alike.
    """
    result: Tensor = _call[0](operator, values)
    return result


def install(function: Call) -> None:
    """Set the dispatcher."""
    _call[0] = function
