"""`tp.compile`: the front door.

>>> import tensorplay as tp
>>> @tp.compile
... def f(x, w):
...     return (tp.relu(x + w) * 2).sum(-1)
>>> f(tp.ones(2, 3), tp.ones(3))
tensor([12., 12.])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tensorplay import _C
from tensorplay.compiler.backends import find_backend
from tensorplay.compiler.driver import Request, Specialization
from tensorplay.compiler.options import Options, resolve_options
from tensorplay.compiler.specialize.compiled_function import ALL, STATE, CompiledFunction
from tensorplay.compiler.statistics import reset_counts
from tensorplay.compiler.target import host_target
from tensorplay.core.config import config
from tensorplay.core.errors import ArgumentError, ArgumentValueError

if TYPE_CHECKING:
    from tensorplay.compiler.explain import Explanation

F = TypeVar("F", bound=Callable[..., Any])


class Compiled(CompiledFunction):
    """What `tp.compile` returns for a function."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the function; the copy compiles it anew."""
        request = self.request
        return _again, (self.function, request.backend.name, request.options, request.strict_native)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:  # noqa: ANN401  # the function's
        """Return every stage of compiling a call with these arguments. Nothing is run."""
        from tensorplay.compiler.explain import explain_call

        return explain_call(self.function, args, kwargs, self.request)

    def specialized(self, made: Specialization) -> None:
        """Write the stages into the folder that `TP_DUMP` names."""
        if config.dump_dir is not None:
            from tensorplay.compiler.explain import dump, explain_specialization

            dump(explain_specialization(made, self.request), self.name, config.dump_dir)


class CompiledModule(Compiled):
    """What `tp.compile` returns for a module: attributes, state and class are the module's."""

    __slots__ = ()

    def __init__(self, module: Callable[..., Any], request: Request) -> None:
        super().__init__(module, request)
        object.__setattr__(self, "__dict__", module.__dict__)

    @property  # type: ignore[misc]  # isinstance(compiled, nn.Module) holds
    def __class__(self) -> type:
        return type(self.function)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the module has
        return getattr(self.function, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in STATE:
            object.__setattr__(self, name, value)
        else:
            setattr(self.function, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.function, name)

    def __repr__(self) -> str:
        return f"compiled {self.function!r}"


@overload
def compile(
    function: F,
    *,
    backend: str = "stax",
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
    dynamic: bool | None = None,
    strict_native: bool = False,
) -> F: ...
@overload
def compile(
    function: None = None,
    *,
    backend: str = "stax",
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
    dynamic: bool | None = None,
    strict_native: bool = False,
) -> Callable[[F], F]: ...
def compile(
    function: Callable[..., Any] | None = None,
    *,
    backend: str = "stax",
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
    dynamic: bool | None = None,
    strict_native: bool = False,
) -> Any:
    """Return `function` (or a module) compiled; without it, a decorator.

    Calls give what uncompiled calls give: values, strides, aliasing, gradients of any order, written
    inputs. The function runs as Python once for each kind of call, so its side effects on Python
    objects happen then. Tensors that it finds in globals, closures and modules are inputs like its
    arguments; numbers and everything else are constants, compared at each call.

    - `backend`: `"stax"` makes kernels; `"aot_eager"` and `"eager"` run its input graphs.
    - `mode`, `options`: see `tensorplay.compiler.options`; options override the mode's.
    - `strict_native`: where kernels can't be made, raise, instead of interpreting with a warning.
    - `dynamic`: sizes are constants of a compiled function; `True` is refused.

    Raises `CaptureError`, at a call, where the function can't be captured.
    """
    if dynamic:
        raise ArgumentValueError(
            "compile: dynamic=True isn't available: each combination of sizes is compiled for itself"
        )
    resolved = resolve_options(mode, options)

    def decorate(function: Any) -> Any:  # noqa: ANN401  # any callable
        return _again(function, backend, resolved, strict_native)

    find_backend(backend)
    return decorate if function is None else decorate(function)


def _again(function: Any, backend: str, options: Options, strict_native: bool) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """Compile a function or a module on this machine, as one was asked for, perhaps on another."""
    request = Request(
        backend=find_backend(backend),
        options=options,
        strict_native=strict_native,
        target=host_target(_C.get_num_threads()),
    )
    if isinstance(function, CompiledFunction):
        function = function.function
    if not callable(function):
        raise ArgumentError(f"compile: expected a function or a module, not {function!r}")
    if isinstance(getattr(function, "_parameters", None), dict):
        return CompiledModule(function, request)
    return Compiled(function, request)


def reset() -> None:
    """Forget every specialization of every compiled function, and start counting anew."""
    for compiled in list(ALL):
        compiled.forget()
    reset_counts()


__all__ = ["Compiled", "CompiledModule", "compile", "reset"]
