"""Public functions and methods, generated from the registry.

For each operator a Python function with the operator's own parameters, so that Python itself binds
the arguments (as dataclasses generate `__init__`). The text of `tensorplay.relu`:

    def relu(input):
        if _modes():
            return _through(_target[0], _operator, (input,), {})
        if type(input) is _T and not (input.requires_grad and _grad()):
            ... the kernel for input.dtype, found in a dictionary ...
        return _call(_operator, (input,))

The fast path serves contiguous tensors of one dtype and one shape (or a number); everything else
takes `dispatch.call`, and so does what a finalizer calls inside of a kernel, which may not enter the quiet
context again (`RuntimeError`; see `ops.quiet`).
"""

from __future__ import annotations

import inspect
import operator as python_operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from tensorplay import _C, dispatch
from tensorplay.core.errors import ArgumentError
from tensorplay.ops import quiet
from tensorplay.ops.describe import annotations_of, documentation
from tensorplay.ops.kinds.pointwise import Pointwise, number_array
from tensorplay.ops.registry import Operator
from tensorplay.ops.signature import (
    CONVERT,
    TENSOR_ROLES,
    VARIADIC,
    Parameter,
    Role,
    Values,
    is_tensor,
)
from tensorplay.tensor import Tensor, from_numpy

Function = Callable[..., Any]
T = TypeVar("T")

NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}
"""Parameters that have a second name, NumPy's, to be given by keyword."""
_ABSENT = object()

_SMALL = 1 << 16
"""Elements up to which the fast path lets NumPy allocate; larger results come from the pool."""


def through_modes(
    target: dispatch.Target, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """A public call while modes are on: as the user wrote it, without arguments that equal their defaults."""
    raw = (*args, *(kwargs[name] for name in operator.signature.keyword_names))
    shown_args, shown_kwargs = operator.signature.given(raw)

    def body(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
        return dispatch.call(operator, operator.signature.bind(args, kwargs))

    return dispatch.call_function(target, body, shown_args, shown_kwargs)


def make_function(operator: Operator) -> Function:
    """The public function of an operator."""
    holder: list[Any] = []
    function = _generate(operator, operator.name, "function", holder)
    holder.append(function)
    return function


def make_method(operator: Operator) -> Function:
    """The method of `Tensor`: the first parameter is the tensor."""
    return _generate(operator, operator.name, "method", [operator.name])


def make_inplace_method(operator: Operator) -> Function:
    """The method with an underscore: computes, then writes into the tensor."""
    name = operator.inplace_name
    return _generate(operator, name, "inplace", [name])


def _generate(operator: Operator, name: str, form: str, target: list[Any]) -> Function:
    """Names of the generated text begin with an underscore, so that parameters may have any name."""
    inplace = form == "inplace"
    namespace: dict[str, Any] = {
        "_modes": dispatch.current_modes,
        "_through": _inplace_through_modes if inplace else through_modes,
        "_target": target,
        "_operator": operator,
        "_call": dispatch.call_inplace if inplace else dispatch.call,
    }
    parameters = operator.signature.parameters
    header, shown, keywords, values, prelude = _text_parts(name, parameters, namespace)
    makes_leaf = operator.is_factory and form == "function"
    if makes_leaf:
        header += "requires_grad=False" if header.endswith("*, ") else ", requires_grad=False"
    result = "_made =" if makes_leaf else "return"
    lines = [
        f"def {name}({header}):",
        *prelude,
        "    if _modes():",
        f"        {result} _through(_target[0], _operator, ({shown}), {{{keywords}}})",
    ]
    if makes_leaf:
        lines.append(f"    else: _made = _call(_operator, ({values}))")
        lines.append("    return _made.requires_grad_() if requires_grad else _made")
    else:
        lines += [] if inplace else _fast_path(operator, namespace)
        lines.append(f"    return _call(_operator, ({values}))")
    source = "\n".join(lines) + "\n"
    exec(compile(source, f"<tensorplay {name}>", "exec"), namespace)  # noqa: S102  # our own generated text
    function: Function = namespace[name]
    function.__module__ = "tensorplay"
    function.__qualname__ = name if form == "function" else f"Tensor.{name}"
    text = documentation(operator)
    function.__doc__ = f"`{operator.name}` in place: {text}" if inplace else text
    function.__annotations__ = annotations_of(operator)
    if any(each.name in NUMPY_NAMES for each in parameters):
        function.__signature__ = _shown_signature(function)  # type: ignore[attr-defined]  # for inspect
    return function


def _shown_signature(function: Function) -> inspect.Signature:
    """The signature as it is documented: each parameter under its own name alone."""
    signature = inspect.signature(function)
    parameters = [
        each.replace(default=each.empty) if each.default is _ABSENT else each
        for name, each in signature.parameters.items()
        if name not in NUMPY_NAMES.values()
    ]
    return signature.replace(parameters=parameters)


def _text_parts(
    name: str, parameters: tuple[Parameter, ...], namespace: dict[str, Any]
) -> tuple[str, str, str, str, list[str]]:
    """Parameter list, positional arguments, keyword arguments, canonical values, and first lines."""
    header: list[str] = []
    renamed = [each for each in parameters if each.name in NUMPY_NAMES and not each.keyword_only]
    unchecked: list[str] = []
    shown: list[str] = []
    keywords: list[str] = []
    values: list[str] = []
    prelude: list[str] = []
    positional = [each for each in parameters if not each.keyword_only]
    star = False
    for each in parameters:
        if each.keyword_only and not star:
            star = True
            header.append("*")
        variadic = each.role in VARIADIC and not each.keyword_only and each is positional[-1]
        if variadic:
            star = True
            namespace["_variadic"] = VARIADIC[each.role]
            header += [f"*_{each.name}_items", f"{each.name}=None"]
            prelude.append(
                f"    if {each.name} is None: {each.name} = _variadic(_{each.name}_items)"
            )
        elif each.required and not each.keyword_only and (unchecked or each in renamed):
            # what follows a parameter of two names can't be required, either
            unchecked.append(each.name)
            header.append(f"{each.name}=_absent")
        elif each.required:
            header.append(each.name)
        else:
            namespace[f"_default_{each.name}"] = each.default
            header.append(f"{each.name}=_default_{each.name}")
        if each.keyword_only:
            keywords.append(f"{each.name!r}: {each.name}")
        else:
            shown.append(f"{each.name},")
        if each.role in CONVERT:
            namespace[f"_to_{each.name}"] = CONVERT[each.role]
            guard = f"None if {each.name} is None else " if each.optional else ""
            values.append(f"{guard}_to_{each.name}({each.name}),")
        else:
            values.append(f"{each.name},")
    if renamed:
        namespace.update(_absent=_ABSENT, _one_of=one_of, _missing=_missing)
        header += [] if star else ["*"]
    for each in renamed:
        ours, theirs = each.name, NUMPY_NAMES[each.name]
        default = "_absent" if each.required else f"_default_{ours}"
        header.append(f"{theirs}=_absent")
        prelude.append(
            f"    if {theirs} is not _absent: {ours} = _one_of({name!r}, {ours!r}, {ours}, {default}, {theirs!r}, {theirs})"
        )
    if unchecked:
        prelude += [
            f"    if {' or '.join(f'{each} is _absent' for each in unchecked)}:",
            f"        raise _missing({name!r}, {{{', '.join(f'{each!r}: {each}' for each in unchecked)}}})",
        ]
    return ", ".join(header), " ".join(shown), ", ".join(keywords), " ".join(values), prelude


def one_of(
    function: str, name: str, value: object, default: object, other: str, other_value: T
) -> T:
    """The value of a parameter that was given by its other name, refused where it was given by both."""
    if value is not default:
        msg = f"{function}() got {name} and {other}, two names of one parameter; give one of them"
        raise ArgumentError(msg)
    return other_value


def _missing(function: str, values: Mapping[str, object]) -> ArgumentError:
    names = [repr(name) for name, value in values.items() if value is _ABSENT]
    plural = "" if len(names) == 1 else "s"
    msg = f"{function}() missing {len(names)} required positional argument{plural}: {' and '.join(names)}"
    return ArgumentError(msg)


def _inplace_through_modes(
    target: str, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:  # noqa: ANN401  # the tensor
    names = operator.signature.keyword_names
    shown_args, shown_kwargs = operator.signature.given((*args, *(kwargs[name] for name in names)))

    def body(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
        return dispatch.call_inplace(operator, operator.signature.bind(args, kwargs))

    return dispatch.call_function(target, body, shown_args, shown_kwargs)


# ---- the fast path ----------------------------------------------------------------------------------


def _fast_path(operator: Operator, namespace: dict[str, Any]) -> list[str]:
    """Lines that serve the plain case of a pointwise operator of one or two operands.

    None for others.
    """
    kind = operator.kind
    if (
        not isinstance(kind, Pointwise)
        or kind.shape is not None
        or kind.index_name
        or kind.linear_name
    ):
        return []
    parameters = operator.signature.parameters
    operands = [each for each in parameters if each.role in TENSOR_ROLES]
    others = [each.name for each in parameters if each.role not in TENSOR_ROLES]
    if not 1 <= len(operands) <= 2 or any(
        each.role is Role.STATIC or each.optional for each in operands
    ):
        return []
    if any(each.role in CONVERT for each in parameters):
        return []
    kernels: dict[Any, Any] = {}
    namespace.update(
        _T=Tensor,
        _grad=dispatch.is_grad_enabled,
        _get=kernels.get,
        _wrap=_C.wrap,
        _local=quiet.LOCAL,
        _number=number_array,
        _numbers=frozenset({int, float, bool}),
        _small=_SMALL,
        _prepare=_Preparation(operator, kernels),
    )
    names = {
        "first": operands[0].name,
        "second": operands[-1].name,
        "values": ", ".join(each.name for each in parameters),
        "more": "".join(f", {name}" for name in others),
    }
    text = _UNARY if len(operands) == 1 else _BINARY
    if len(operands) == 2 and operands[1].role is Role.SCALAR:
        text += _WITH_NUMBER
    return text.format(**names).splitlines()


_UNARY = """\
    if type({first}) is _T and not (({first}.requires_grad or {first}._view is not None) and
    _grad()):
        _a = {first}.array
        if _a is not None and _a.ndim and _a.flags.c_contiguous and _a.size <= _small:
            _k = _get(({first}.dtype{more},))
            if _k is None: _k = _prepare(({first}.dtype{more},), ({values},))
            if _k:
                try: return _wrap(_local.context.run(_k, _a))
                except RuntimeError: pass
"""
_BINARY = """\
    if type({first}) is _T and not (({first}.requires_grad or {first}._view is not None) and
    _grad()):
        _a = {first}.array
        if _a is not None and _a.ndim and _a.flags.c_contiguous and _a.size <= _small:
            _d = {first}.dtype
            if type({second}) is _T:
                _b = {second}.array
                if (
                    _b is not None and {second}.dtype is _d and _a.shape == _b.shape and
                    _b.flags.c_contiguous and not (({second}.requires_grad or {second}._view is not
                    None) and _grad())
                ):
                    _k = _get((_d, _T{more}))
                    if _k is None: _k = _prepare((_d, _T{more}), ({values},))
                    if _k:
                        try: return _wrap(_local.context.run(_k, _a, _b))
                        except RuntimeError: pass
"""
_WITH_NUMBER = """\
            elif type({second}) in _numbers:
                _k = _get((_d, type({second}){more}))
                if _k is None: _k = _prepare((_d, type({second}){more}), ({values},))
                if _k:
                    try: return _wrap(_local.context.run(_k, _a, _number({second}, _d)))
                    except RuntimeError: pass
"""


class _Preparation:
    """Finds the kernel of a key at its first use; `False` where the plain case does not apply."""

    def __init__(self, operator: Operator, kernels: dict[Any, Any]) -> None:
        self.operator = operator
        self.kernels = kernels

    def __call__(self, key: Any, values: Values) -> Any:  # noqa: ANN401  # a key, a kernel or False
        kernel: Any = False
        kind = self.operator.kind
        assert isinstance(kind, Pointwise)  # noqa: S101  # asked for those only
        plan = kind.plan(self.operator, values)
        names = [each.name for each in self.operator.signature.parameters if each.takes_tensor]
        tensors = [each for each in values if is_tensor(each)]
        same_type = all(plan.computation.compute is each.dtype for each in tensors)  # type: ignore[attr-defined]  # its role says so
        if same_type and plan.is_plain and list(plan.ready().inputs) == names:
            kernel = plan.ready().fresh
        if len(self.kernels) < 1024:  # attributes by value: keep it bounded
            self.kernels[key] = kernel
        return kernel


# ---- operators of Python ------------------------------------------------------------------------------

_NUMBERS = (bool, int, float, complex, np.generic)


def _is_operand(value: object) -> bool:
    return isinstance(value, (*_NUMBERS, np.ndarray)) or is_tensor(value)


def _as_operand(value: Any) -> Any:  # noqa: ANN401  # an operand
    """An array as a tensor over its memory, so that a result is a tensor with its gradient."""
    return from_numpy(value) if isinstance(value, np.ndarray) else value


def make_binary_dunder(operator: Operator, symbol: str, *, reflected: bool) -> Function:
    """`__add__`, `__radd__` and their like: the function mode sees `operator.add`."""
    function = make_method(operator)
    python_function = getattr(python_operator, symbol)
    modes = dispatch.current_modes

    def body(a: Any, b: Any) -> Any:  # noqa: ANN401  # operands
        return dispatch.call(operator, operator.signature.bind((a, b), {}))

    def dunder(self: Tensor, other: Any) -> Any:  # noqa: ANN401  # any operand
        if type(other) is not Tensor:
            if not _is_operand(other):
                return NotImplemented
            other = _as_operand(other)
        if modes():
            return dispatch.call_function(python_function, body, (self, other), {})
        return function(self, other)

    def reflected_dunder(self: Tensor, other: Any) -> Any:  # noqa: ANN401  # any operand
        if not _is_operand(other):
            return NotImplemented
        other = _as_operand(other)
        if modes():
            return dispatch.call_function(python_function, body, (other, self), {})
        return dispatch.call(operator, operator.signature.bind((other, self), {}))

    return reflected_dunder if reflected else dunder


def make_unary_dunder(operator: Operator, symbol: str) -> Function:
    """`__neg__` and its like."""
    python_function = getattr(python_operator, symbol)

    def body(a: Any) -> Any:  # noqa: ANN401  # an operand
        return dispatch.call(operator, operator.signature.bind((a,), {}))

    def dunder(self: Tensor) -> Any:  # noqa: ANN401  # a tensor
        return dispatch.call_function(python_function, body, (self,), {})

    return dunder


def make_inplace_dunder(operator: Operator, symbol: str) -> Function:
    """`__iadd__` and its like: the function mode sees `operator.iadd`."""
    python_function = getattr(python_operator, symbol)

    def body(a: Any, b: Any) -> Any:  # noqa: ANN401  # operands
        return dispatch.call_inplace(operator, operator.signature.bind((a, b), {}))

    def dunder(self: Tensor, other: Any) -> Any:  # noqa: ANN401  # any operand
        if not _is_operand(other):
            return NotImplemented
        return dispatch.call_function(python_function, body, (self, _as_operand(other)), {})

    return dunder
