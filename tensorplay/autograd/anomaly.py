"""Anomaly mode: backward passes that fail, or produce NaN, name the line of the forward pass.

In: the mode, on while the forward pass runs and while the backward pass does. Out: errors with the
user's line.

>>> import tensorplay as tp
>>> x = tp.tensor(0.0, requires_grad=True)
>>> with tp.autograd.detect_anomaly():
...     try:
...         (x.sqrt() * 0).backward()
...     except tp.core.errors.GradientError as error:
...         print(str(error).splitlines()[0])
the backward pass of SqrtBackward produced NaN in the gradient of its input 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.errors import GradientError
from tensorplay.core.source_line import user_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from tensorplay.autograd.node import Node
    from tensorplay.tensor import Tensor


class _Anomaly:
    """The state of the mode, and the node whose backward pass runs."""

    __slots__ = ("check_nan", "enabled", "running")

    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True
        self.running: Node | None = None

    def origin(self) -> dict[str, Any]:
        """What a node notes when it is made: the user's line, and the backward pass that made it."""
        return {"line": user_line(), "parent": self.running}

    def check(self, node: Node, grads: Sequence[Tensor | None]) -> None:
        """Refuse NaN among what a node returned."""
        for number, grad in enumerate(grads):
            if grad is not None and grad.array is not None and _has_nan(grad.array):
                raise GradientError(
                    f"the backward pass of {node.title} produced NaN in the gradient of its input "
                    f"{number}{origin_text(node)}"
                )


def _has_nan(array: Any) -> bool:  # noqa: ANN401  # an array
    return array.dtype.kind not in "biu" and bool(np.any(array != array))  # noqa: PLR0124 - half types


def origin_text(node: Node) -> str:
    """Where the forward call of a node was made, for the end of a message."""
    parts: list[str] = []
    place: Node | None = node
    while place is not None and place._metadata is not None:  # noqa: SLF001 - empty for others
        line = place.metadata.get("line")
        if line is not None:
            parts.append(f"\n  {place.title} was recorded at\n    {line.location}")
        place = place.metadata.get("parent")
        if place is not None:
            parts.append(f"\n  in the backward pass of {place.title}")
    return "".join(parts)


anomaly = _Anomaly()


class set_detect_anomaly:  # noqa: N801 - used like a function, as its users know it
    """Switch anomaly mode on or off: at once, or for a ``with`` block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        """Switch now; leaving a ``with`` block restores what was before."""
        self._before = anomaly.enabled, anomaly.check_nan
        anomaly.enabled, anomaly.check_nan = mode, check_nan

    def __enter__(self) -> None:
        """Stay in the mode that the constructor set."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the mode."""
        anomaly.enabled, anomaly.check_nan = self._before


class detect_anomaly:  # noqa: N801 - as above
    """Switch anomaly mode on for a ``with`` block.

    Every node notes the line of its call. A backward pass that raises names it, and so does one that
    produces NaN, which is an error (unless ``check_nan`` is False). Both cost time: for debugging.
    """

    def __init__(self, check_nan: bool = True) -> None:
        """Choose whether NaN is an error."""
        self.check_nan = check_nan

    def __enter__(self) -> None:
        """Switch on."""
        self._outer = set_detect_anomaly(mode=True, check_nan=self.check_nan)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the mode."""
        self._outer.__exit__(kind, error, trace)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN is an error in anomaly mode."""
    return anomaly.check_nan
