"""Signatures: the Python parameters of a declaration are its schema.

A parameter's annotation gives its *role*: what may be passed, how it is made canonical, and whether
it is a tensor.

    def add(input: Scalar, other: Scalar, *, alpha: Number = 1) -> Value

A *call* is a tuple with one canonical entry for each parameter. `normalize` turns it into the args
and kwargs of graph nodes: positional parameters positionally with defaults filled in, the
keyword-only ones in kwargs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tensorplay import _C
from tensorplay.core.device import as_device
from tensorplay.core.dtypes import DType, as_dtype, from_numpy_dtype, undefined
from tensorplay.core.errors import ArgumentError, RegistryError, ShapeError
from tensorplay.core.meta import TensorMeta

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

Sizes: TypeAlias = Sequence[int]
"""A shape: `(2, 3)` or, as the last positional argument of a call, `2, 3`."""
Size: TypeAlias = Sequence[int]
"""A list of integers; a single integer stands for a list of one."""
Dims: TypeAlias = int | Sequence[int] | None
"""Dimension numbers; None for all."""
Each: TypeAlias = int | Sequence[int]
"""One integer for all spatial dimensions, or one for each."""

Parts: TypeAlias = "Sequence[Tensor]"
"""Tensors: `(a, b)` or, as the last positional argument of a call, `a, b`."""

Values: TypeAlias = tuple[object, ...]


class Role(Enum):
    """What a parameter takes."""

    TENSOR = "tensor"
    SCALAR = "tensor or number"
    STATIC = "tensor or number, the number known to the scalar function"
    MASK = "tensor seen as bool, outside promotion"
    RAW = "tensor outside promotion"
    TENSORS = "sequence of tensors"
    SLOTS = "sequence of tensors and None"
    PARTS = "sequence of tensors, also as separate arguments"
    INDEX = "indices of the element, supplied by the interpretation"
    LINEAR = "linear index of the element, supplied by the interpretation"
    SIZES = "sizes, also as separate arguments"
    SIZE = "sequence of integers"
    DIMS = "dimension numbers or None"
    EACH = "one integer for all spatial dimensions, or one for each"
    DTYPE = "dtype or None"
    DEVICE = "device or None"
    PLAIN = "a Python value"


TENSOR_ROLES = frozenset({Role.TENSOR, Role.SCALAR, Role.STATIC, Role.MASK, Role.RAW})
NUMBER_ROLES = frozenset({Role.SCALAR, Role.STATIC})

_ROLES: dict[str, Role] = {
    "Value": Role.TENSOR, "Tensor": Role.TENSOR, "TensorMeta": Role.TENSOR, "Array": Role.TENSOR, "Scalar": Role.SCALAR, "Value | Number": Role.STATIC,
    "Tensor | Number": Role.STATIC,
    "Array | Number": Role.STATIC, "Mask": Role.MASK, "Raw": Role.RAW, "Index": Role.INDEX, "Linear": Role.LINEAR,
    "Sequence[Tensor]": Role.TENSORS, "Sequence[Tensor | None]": Role.SLOTS,
    "Sequence[Array]": Role.TENSORS, "Sequence[Array | None]": Role.SLOTS, "Parts": Role.PARTS, "Sizes": Role.SIZES,
    "Size": Role.SIZE, "Dims": Role.DIMS, "Each": Role.EACH, "DType": Role.DTYPE, "Device": Role.DEVICE,
    "int": Role.PLAIN, "float": Role.PLAIN, "bool": Role.PLAIN, "str": Role.PLAIN, "Number": Role.PLAIN,
    "int | float": Role.PLAIN, "object": Role.PLAIN, "Generator": Role.PLAIN,
}  # fmt: skip


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor, with data or without."""
    return isinstance(value, _C.TensorBase)


def has_dtype(value: object) -> bool:
    """Whether a value is a tensor, its metadata or an array."""
    return isinstance(value, (TensorMeta, np.ndarray)) or is_tensor(value)


def dtype_of(value: Any) -> DType:  # noqa: ANN401  # a tensor, a meta or an array
    """The DType of a tensor, of its metadata or of an array."""
    found: DType = from_numpy_dtype(value.dtype) if isinstance(value, np.ndarray) else value.dtype
    return found


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, role, default (`inspect.Parameter.empty` when required)."""

    name: str
    role: Role
    default: object
    keyword_only: bool
    optional: bool
    annotation: str

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is inspect.Parameter.empty

    @property
    def takes_tensor(self) -> bool:
        """Whether a single tensor may be passed."""
        return self.role in TENSOR_ROLES

    @property
    def takes_number(self) -> bool:
        """Whether a Python number may stand for the tensor."""
        return self.role in NUMBER_ROLES


def _integers(value: object) -> tuple[Any, ...]:
    if hasattr(value, "__index__") and not is_tensor(value):
        return (_plain_integer(value),)
    return _integer_tuple(value)


def _integer_tuple(value: object) -> tuple[Any, ...]:
    if type(value) is tuple:
        found = value
    elif isinstance(value, Iterable) and not isinstance(value, str):
        found = tuple(value)
    else:
        msg = f"expected integers, found {value!r}"
        raise ArgumentError(msg)
    for each in found:
        if not hasattr(each, "__index__"):
            msg = f"expected integers, found {each!r} in {value!r}"
            raise ArgumentError(msg)
    if any(isinstance(each, (np.generic, _C.TensorBase)) for each in found):
        return tuple(_plain_integer(each) for each in found)
    return found


def _plain_integer(value: Any) -> Any:  # noqa: ANN401  # anything with an index
    """A NumPy integer or an integer tensor of one element as a Python integer.

    Others as they are.
    """
    is_wrapped: bool = isinstance(value, (np.generic, _C.TensorBase))
    return value.__index__() if is_wrapped else value


def to_sizes(value: object) -> tuple[Any, ...]:
    """A tuple of integers from an integer or a sequence."""
    return _integers(value)


def checked_sizes(name: str, size: Any) -> Any:  # noqa: ANN401  # sizes
    """The sizes of a tensor to make; negative ones are refused."""
    if any(each < 0 for each in size):
        msg = f"{name}: sizes must not be negative, found {tuple(size)}"
        raise ShapeError(msg)
    return size


def to_sizes_variadic(values: tuple[object, ...]) -> tuple[Any, ...]:
    """The tuple of `f(2, 3)` or `f((2, 3))`."""
    if len(values) == 1 and (not hasattr(values[0], "__index__") or is_tensor(values[0])):
        return _integer_tuple(values[0])
    return _integer_tuple(values)


def to_dims(value: object) -> tuple[Any, ...] | None:
    """A tuple of dimension numbers; None stays."""
    return None if value is None else _integers(value)


def to_slots(value: object) -> tuple[object, ...]:
    """A tuple of tensors and None."""
    if is_tensor(value) or not isinstance(value, Sequence):
        msg = f"expected a sequence of tensors, found {type(value).__name__}"
        raise ArgumentError(msg)
    return tuple(value)


def to_tensors(value: object) -> tuple[object, ...]:
    """A tuple of tensors."""
    found = to_slots(value)
    for each in found:
        if each is None or isinstance(
            each, (int, float, complex, str)
        ):  # nodes of graphs may stand for tensors
            msg = f"expected a sequence of tensors, found one with {type(each).__name__}"
            raise ArgumentError(msg)
    return found


def to_parts(value: object) -> tuple[object, ...]:
    """A tuple of tensors; one tensor stands for a sequence of one."""
    return (value,) if is_tensor(value) else to_tensors(value)


def to_parts_variadic(values: tuple[object, ...]) -> tuple[object, ...]:
    """The tuple of `f(a, b)` or `f((a, b))`."""
    return to_parts(values[0]) if len(values) == 1 else values


def to_dtype_or_none(value: object) -> object:
    """A DType; None and `undefined` mean that it was omitted."""
    return None if value is None or value is undefined else as_dtype(value)


def to_device_or_none(value: object) -> object:
    """A Device; None stays."""
    return None if value is None else as_device(value)  # type: ignore[arg-type]  # it checks


CONVERT: Mapping[Role, Callable[[Any], object]] = {
    Role.SIZES: to_sizes, Role.SIZE: to_sizes, Role.DIMS: to_dims, Role.EACH: to_sizes,
    Role.TENSORS: to_tensors, Role.SLOTS: to_slots, Role.PARTS: to_parts, Role.DTYPE: to_dtype_or_none, Role.DEVICE: to_device_or_none,
}  # fmt: skip
"""How a role makes an argument canonical; roles that are missing take it as it is."""
VARIADIC: Mapping[Role, Callable[[tuple[object, ...]], tuple[Any, ...]]] = {
    Role.SIZES: to_sizes_variadic,
    Role.PARTS: to_parts_variadic,
}
"""Roles whose last positional parameter also takes separate arguments, and what makes one of them."""


_NO_TENSORS = (int, float, complex, str, list, tuple, np.generic, np.ndarray)


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of an operator, without those that interpretations supply."""

    name: str
    parameters: tuple[Parameter, ...]
    supplied: tuple[Parameter, ...]
    places: Mapping[str, int]
    positional_count: int = field(init=False)
    """How many parameters may be given positionally."""
    keyword_names: tuple[str, ...] = field(init=False)
    """The names of those that are keyword-only, the last ones."""
    _defaults: tuple[object, ...] = field(init=False)
    _conversions: tuple[tuple[int, Parameter, Callable[[Any], object]], ...] = field(init=False)
    _required_count: int = field(init=False)
    _variadic: Callable[[tuple[object, ...]], tuple[Any, ...]] | None = field(init=False)

    def __post_init__(self) -> None:
        """Tables that make `bind` quick."""
        put = object.__setattr__
        count = sum(not each.keyword_only for each in self.parameters)
        put(self, "positional_count", count)
        put(self, "keyword_names", tuple(each.name for each in self.parameters[count:]))
        put(self, "_defaults", tuple(each.default for each in self.parameters))
        found = [
            (i, each, CONVERT[each.role])
            for i, each in enumerate(self.parameters)
            if each.role in CONVERT
        ]
        put(self, "_conversions", tuple(found))
        put(self, "_required_count", sum(each.required for each in self.parameters))
        last = VARIADIC.get(self.parameters[count - 1].role) if count else None
        put(self, "_variadic", last)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Values:
        """The call of `args` and `kwargs`: canonical, defaults filled in."""
        count = self.positional_count
        if len(args) > count and self._variadic is not None:
            args = (*args[: count - 1], self._variadic(tuple(args[count - 1 :])))
        if kwargs or len(args) > count or len(args) < self._required_count:
            values = self._with_keywords(args, kwargs)
        else:
            values = [*args, *self._defaults[len(args) :]]
        for place, parameter, convert in self._conversions:
            values[place] = self._convert(parameter, convert, values[place])
        return tuple(values)

    def _with_keywords(self, args: Sequence[object], kwargs: Mapping[str, object]) -> list[object]:
        """All arguments in the order of the parameters; refused where they do not fit."""
        count = self.positional_count
        if len(args) > count:
            msg = f"{self.name}() takes {count} positional arguments but {len(args)} were given; signature: {self}"
            raise ArgumentError(msg)
        values: list[object] = list(args)
        used = 0
        for place, parameter in enumerate(self.parameters):
            if parameter.name in kwargs:
                if place < len(args):
                    msg = f"{self.name}() got {parameter.name!r} twice; signature: {self}"
                    raise ArgumentError(msg)
                values.append(kwargs[parameter.name])
                used += 1
            elif place >= len(args):
                if parameter.required:
                    msg = f"{self.name}() misses {parameter.name!r}; signature: {self}"
                    raise ArgumentError(msg)
                values.append(parameter.default)
        if used != len(kwargs):
            unknown = sorted(set(kwargs) - set(self.places))
            msg = (
                f"{self.name}() has no parameter {', '.join(map(repr, unknown))}; signature: {self}"
            )
            raise ArgumentError(msg)
        return values

    def _convert(
        self, parameter: Parameter, convert: Callable[[Any], object], value: object
    ) -> object:
        if value is None and parameter.optional:
            return None
        try:
            return convert(value)
        except ArgumentError as error:
            msg = f"{self.name}(): {parameter.name}: {error}"
            raise ArgumentError(msg) from None

    def refuse_others(self, values: Values) -> None:
        """Raise `ArgumentError` where something of Python's own stands for a tensor."""
        for parameter, value in zip(self.parameters, values, strict=True):
            needs_tensor = parameter.takes_tensor and not parameter.takes_number
            if not needs_tensor or (value is None and parameter.optional):
                continue
            if value is None or isinstance(value, _NO_TENSORS):
                msg = (
                    f"{self.name}(): {parameter.name} must be a tensor, found "
                    f"{type(value).__name__}: {value!r:.80}; tensorplay.tensor() makes one of numbers"
                )
                raise ArgumentError(msg)

    def normalize(
        self, values: Values, omitted: frozenset[str] = frozenset()
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """The args and kwargs of a graph node: tuples as lists, an omitted dtype as `undefined`."""
        args: list[object] = []
        kwargs: dict[str, object] = {}
        for parameter, value in zip(self.parameters, values, strict=True):
            if parameter.name in omitted:
                continue
            shown = value
            if parameter.role is Role.DTYPE and value is None:
                shown = undefined
            elif parameter.role is not Role.PLAIN and type(value) is tuple:
                shown = list(value)
            if parameter.keyword_only:
                kwargs[parameter.name] = shown
            else:
                args.append(shown)
        return tuple(args), kwargs

    def given(self, values: Values) -> tuple[tuple[object, ...], dict[str, object]]:
        """The shortest args and kwargs that bind to this call: defaults left out."""
        args: list[object] = []
        kwargs: dict[str, object] = {}
        for parameter, value in zip(self.parameters, values, strict=True):
            if parameter.keyword_only:
                if not _is_default(parameter, value):
                    kwargs[parameter.name] = value
            else:
                args.append(value)
        positional = [each for each in self.parameters if not each.keyword_only]
        while args and _is_default(positional[len(args) - 1], args[-1]):
            args.pop()
        return tuple(args), kwargs

    def __str__(self) -> str:
        """Text as in `add(input: Scalar, other: Scalar, *, alpha: Number = 1)`."""
        parts: list[str] = []
        star = False
        for each in self.parameters:
            if each.keyword_only and not star:
                parts.append("*")
                star = True
            default = "" if each.required else f" = {each.default!r}"
            parts.append(f"{each.name}: {each.annotation}{default}")
        return f"{self.name}({', '.join(parts)})"


def _is_default(parameter: Parameter, value: object) -> bool:
    default = parameter.default
    return type(value) is type(default) and not is_tensor(value) and bool(value == default)


class Declared(NamedTuple):
    """A parameter of a Python function; `inspect.Parameter.empty` where there is no default or annotation."""

    name: str
    annotation: object
    default: object
    keyword_only: bool


def parameters_of(function: Callable[..., object]) -> list[Declared]:
    """Read a function's parameters. Plain ones without `inspect.signature`, which takes 0.1 ms: there are hundreds."""
    told = hasattr(function, "__wrapped__") or hasattr(function, "__signature__")
    if type(function) is not FunctionType or told:
        return [
            Declared(each.name, each.annotation, each.default, each.kind is each.KEYWORD_ONLY)
            for each in inspect.signature(function).parameters.values()
        ]
    code, notes, empty = function.__code__, function.__annotations__, inspect.Parameter.empty
    count, total = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    given = function.__defaults__ or ()
    defaults = {
        **dict(zip(names[count - len(given) : count], given, strict=True)),
        **(function.__kwdefaults__ or {}),
    }
    return [
        Declared(name, notes.get(name, empty), defaults.get(name, empty), place >= count)
        for place, name in enumerate(names[:total])
    ]


def signature_of(name: str, function: Callable[..., object]) -> Signature:
    """Read a declaration's signature; every annotation must name a role."""
    parameters: list[Parameter] = []
    supplied: list[Parameter] = []
    for each in parameters_of(function):
        text = each.annotation
        if not isinstance(text, str):
            msg = f"{name}: annotations must be strings (from __future__ import annotations)"
            raise RegistryError(msg)
        optional = text.endswith(" | None")
        role = _ROLES.get(text.removesuffix(" | None"))
        if role is None:
            msg = f"{name}: parameter {each.name!r} has annotation {text!r}; the roles are {sorted(_ROLES)}"
            raise RegistryError(msg)
        parameter = Parameter(each.name, role, each.default, each.keyword_only, optional, text)
        (supplied if role in {Role.INDEX, Role.LINEAR} else parameters).append(parameter)
    places = {each.name: i for i, each in enumerate(parameters)}
    return Signature(name, tuple(parameters), tuple(supplied), places)
