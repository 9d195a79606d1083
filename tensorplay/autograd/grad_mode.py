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
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tensorplay import _C, dispatch
from tensorplay.dispatch import is_grad_enabled

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextvars import Token
    from types import TracebackType

P = ParamSpec("P")
T = TypeVar("T")

is_inference_mode_enabled = _C.is_inference_mode_enabled
"""Whether tensors made now are inference tensors."""


class _GradMode:
    """A mode for a ``with`` block or a decorated function."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._tokens: list[Token[bool]] = []

    def __enter__(self) -> None:
        self._tokens.append(dispatch.push_grad_mode(self.mode and not is_inference_mode_enabled()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        dispatch.pop_grad_mode(self._tokens.pop())

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Run ``function`` in this mode whenever it is called, a generator whenever it goes on."""
        if inspect.isgeneratorfunction(function):
            return _decorated_generator(self, function)

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.again():
                return function(*args, **kwargs)

        return wrapper

    def again(self) -> _GradMode:
        """The mode for one more block: threads may run a decorated function at the same time."""
        return _GradMode(self.mode)


def _decorated_generator(mode: _GradMode, function: Callable[P, Any]) -> Callable[P, Any]:
    """A generator function whose steps run in a mode; between them, the caller's mode is on."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
        with mode.again():
            steps = function(*args, **kwargs)
        step, given = steps.send, None
        while True:
            try:
                with mode.again():
                    value = step(given)
            except StopIteration as end:
                return end.value
            try:
                step, given = steps.send, (yield value)
            except GeneratorExit:
                with mode.again():
                    steps.close()
                raise
            except BaseException as error:  # noqa: BLE001 - handed to the generator
                step, given = steps.throw, error

    return wrapper


class no_grad(_GradMode):  # noqa: N801 - used like a function, as its users know it
    """Record nothing: results require no gradient.

    ``with no_grad():``, ``@no_grad()`` and ``@no_grad``.
    """

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:  # noqa: ANN401 - a mode or the function
        """Make a mode, or decorate at once."""
        return super().__new__(cls) if function is None else _GradMode(mode=False)(function)

    def __init__(self, function: None = None) -> None:
        """Take no arguments, unless as a decorator without parentheses."""
        del function
        super().__init__(mode=False)


class enable_grad(_GradMode):  # noqa: N801 - as above
    """Record, also inside of `no_grad`; ``@enable_grad`` needs no parentheses either."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:  # noqa: ANN401 - a mode or the function
        """Make a mode, or decorate at once."""
        return super().__new__(cls) if function is None else _GradMode(mode=True)(function)

    def __init__(self, function: None = None) -> None:
        """Take no arguments, unless as a decorator without parentheses."""
        del function
        super().__init__(mode=True)


class inference_mode(_GradMode):  # noqa: N801 - as above
    """Record nothing, and make *inference tensors*, which autograd may not keep.

    They can't be saved for a backward pass, be changed in place or be made to require a gradient
    outside of the mode (`GradientError`); a `clone()` made there can. A view is an inference tensor if
    its base is. Recording can't be switched on inside; ``inference_mode(False)`` leaves the mode.

    >>> import tensorplay as tp
    >>> with tp.inference_mode():
    ...     y = tp.ones(2)
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:  # noqa: ANN401 - a mode or the function
        """Make a mode, or decorate at once."""
        return super().__new__(cls) if isinstance(mode, bool) else inference_mode()(mode)

    def __init__(self, mode: bool = True) -> None:
        """Record nothing if ``mode``; else be as outside of all modes."""
        super().__init__(mode=not mode)
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_C.set_inference_mode(not self.mode))
        super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        _C.set_inference_mode(self._before.pop())

    def again(self) -> inference_mode:
        """As for the others."""
        return inference_mode(not self.mode)


class set_grad_enabled(_GradMode):  # noqa: N801 - as above
    """Switch recording on or off: at once, or for a ``with`` block or a decorated function."""

    def __init__(self, mode: bool) -> None:
        """Record from now on if ``mode``; leaving a ``with`` block restores what was before."""
        super().__init__(mode)
        self._tokens.append(dispatch.push_grad_mode(mode and not is_inference_mode_enabled()))

    def __enter__(self) -> None:
        """Stay in the mode that the constructor set."""

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorate: the mode is for the function only."""
        dispatch.pop_grad_mode(self._tokens.pop())
        return super().__call__(function)


__all__ = [
    "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled"
]  # fmt: skip
