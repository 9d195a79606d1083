"""Whether calls are recorded for a backward pass: context managers that also decorate functions.

>>> import tensorplay as tp
>>> x = tp.ones(2, requires_grad=True)
>>> with tp.no_grad():
...     y = x * 2
>>> y.requires_grad
False
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tensorplay import dispatch
from tensorplay.dispatch import is_grad_enabled

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from types import TracebackType

P = ParamSpec("P")
T = TypeVar("T")


class _GradMode:
    """A mode for a ``with`` block or a decorated function."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._tokens: list[Token[bool]] = []

    def __enter__(self) -> None:
        self._tokens.append(dispatch.push_grad_mode(self.mode))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        dispatch.pop_grad_mode(self._tokens.pop())

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Run ``function`` in this mode whenever it is called."""

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
            token = dispatch.push_grad_mode(self.mode)
            try:
                return function(*args, **kwargs)
            finally:
                dispatch.pop_grad_mode(token)

        return wrapper


class no_grad(_GradMode):  # noqa: N801 - used like a function, as its users know it
    """Record nothing: results require no gradient."""

    def __init__(self) -> None:
        """Take no arguments."""
        super().__init__(mode=False)


class enable_grad(_GradMode):  # noqa: N801 - as above
    """Record, also inside of `no_grad`."""

    def __init__(self) -> None:
        """Take no arguments."""
        super().__init__(mode=True)


class inference_mode(_GradMode):  # noqa: N801 - as above
    """Record nothing; ``inference_mode(False)`` records. Here it is the same as `no_grad`."""

    def __init__(self, mode: bool = True) -> None:
        """Record nothing if ``mode``."""
        super().__init__(mode=not mode)


class set_grad_enabled(_GradMode):  # noqa: N801 - as above
    """Switch recording on or off: at once, or for a ``with`` block or a decorated function."""

    def __init__(self, mode: bool) -> None:
        """Record from now on if ``mode``; leaving a ``with`` block restores what was before."""
        super().__init__(mode)
        self._tokens.append(dispatch.push_grad_mode(mode))

    def __enter__(self) -> None:
        """Stay in the mode that the constructor set."""

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorate: the mode is for the function only."""
        dispatch.pop_grad_mode(self._tokens.pop())
        return super().__call__(function)


__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled"]
