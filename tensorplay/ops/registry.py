"""The registry: an operator is one declaration, and everything known of it hangs on one object.

`tensorplay.ops.tp` is the namespace: `tp.add` an `Operator`, `tp.add.Tensor` an `Overload` of it.

Facets of an operator: `name`, `kind`, `signature`, `overloads`, `doc`, `samples`, `meta`, `kernel`,
`vjp` (the pullback), `jvp` (the tangent), `lowering`, `shortcut` (of a composite). The kind derives what
the declaration leaves open; `freeze()` refuses what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tensorplay.core.errors import NotDifferentiableError, RegistryError
from tensorplay.ops import door
from tensorplay.ops.gradient import Gradient, Pullback, Result, Tangent, written_pullback
from tensorplay.ops.signature import Role, Signature, Values, is_tensor

if TYPE_CHECKING:
    from tensorplay.core.meta import TensorMeta
    from tensorplay.ops.batching import Rule
    from tensorplay.ops.kinds.kind import Kind
    from tensorplay.ops.samples import Sample
    from tensorplay.tensor import Tensor

BATCHED = "_batched"
"""How the names of operators end that are another one with a batch in front."""
Metas: TypeAlias = "TensorMeta | tuple[TensorMeta, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """A resolved signature of an operator; calling it calls the operator."""

    operator: Operator
    name: str
    omitted: frozenset[str] = frozenset()
    """Parameters that this signature does not have; they keep their defaults."""

    def __str__(self) -> str:
        """Text as in `tensorplay.ops.tp.add.Tensor`."""
        return f"tensorplay.ops.tp.{self.operator.name}.{self.name}"

    __repr__ = __str__

    @property
    def qualified_name(self) -> str:
        """The path in printed graphs: `tensorplay.ops.tp.add.Tensor`."""
        return str(self)

    @property
    def __name__(self) -> str:  # what graphs name nodes after
        """The operator's name."""
        return self.operator.name

    def normalize(
        self, args: Sequence[object], kwargs: Mapping[str, object] | None = None
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """The args and kwargs of a graph node, as in Listing 5.1."""
        return self.shown(self.operator.signature.bind(args, kwargs or {}))

    def shown(self, values: Values) -> tuple[tuple[object, ...], dict[str, object]]:
        """The args and kwargs of a graph node for a call."""
        return self.operator.signature.normalize(values, self.omitted)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object] | None = None) -> Values:
        """The call of args and kwargs."""
        return self.operator.signature.bind(args, kwargs or {})

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  # tensor or tuple
        """Call through the dispatcher."""
        return door.call(self.operator, self.operator.signature.bind(args, kwargs))

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        """Pickle by name."""
        return _overload_named, (self.operator.name, self.name)


def _overload_named(operator: str, name: str) -> Overload:
    return tp[operator].overload(name)


@dataclass(slots=True, eq=False, repr=False)
class Operator:
    """One declaration and its facets."""

    name: str
    kind: Kind
    signature: Signature
    doc: str
    function: Callable[..., Any]
    """The declared function."""
    family: str
    """The library module that declares it."""
    is_method: bool = False
    is_function: bool = True
    has_inplace: bool = False
    inplace_name: str = ""
    """What the method that writes in place is called."""
    is_factory: bool = False
    """Whether the public function takes `requires_grad`."""
    effect: bool = False
    """Whether a call does more than return a value (draws random numbers): never merged or dropped."""
    linear: bool = False
    """Whether the operator is linear in its tensor operands, so that it is its own tangent."""
    conjugates: bool = False
    """Whether the gradient rules are written for complex numbers too.

    Otherwise the rule of a holomorphic operator is applied to the conjugate of the gradient, and conjugated.
    """
    not_differentiable: str | None = None
    """Why there is no derivative, where there is none."""
    samples: Callable[[], Iterator[Sample]] | None = None
    aliases: tuple[str, ...] = ()
    """Other names of the same function and methods; `ops.library.aliases` declares them."""
    overloads: dict[str, Overload] = field(default_factory=dict)
    gradients: list[Gradient] = field(default_factory=list)
    written_tangent: Tangent | None = None
    batching_rule: Rule | None = None
    """The written batching rule (see `ops.batching`), where the kind's own is not used."""
    shortcut_kernel: Callable[..., Any] | None = None
    """What computes a composite on arrays without its parts; see `shortcut`."""
    lowering: Callable[..., Any] | None = None
    """Set by `register_lowering` where the kind's own lowering is not used."""

    def __repr__(self) -> str:
        """Text as in `tensorplay.ops.tp.add`."""
        return f"tensorplay.ops.tp.{self.name}"

    @property
    def qualified_name(self) -> str:
        """The path in printed graphs: `tensorplay.ops.tp.add`."""
        return repr(self)

    @property
    def turns_gradients(self) -> bool:
        """Whether complex gradients are conjugated before and after the rules (`ops.gradient`)."""
        return not self.conjugates and not self.linear

    @property
    def __name__(self) -> str:  # what graphs name nodes after
        """The operator's name."""
        return self.name

    def __call__(self, *args: object, **kwargs: object) -> Tensor:
        """Call through the dispatcher.

        Typed as one tensor; several results are a tuple, which unpacks alike.
        """
        return door.call(self, self.signature.bind(args, kwargs))

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Pickle by name."""
        return _operator_named, (self.name,)

    def __getattr__(self, name: str) -> Overload:
        """Overloads are attributes."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self.overload(name)

    # ---- overloads and calls

    def overload(self, name: str) -> Overload:
        """The overload called `name`, made when first asked for."""
        found = self.overloads.get(name)
        if found is None:
            omitted = self.kind.overload_names(self).get(name)
            if omitted is None:
                names = ", ".join(sorted(self.kind.overload_names(self)))
                msg = f"{self!r} has no overload {name!r}; it has {names}"
                raise AttributeError(msg)
            found = self.overloads[name] = Overload(self, name, omitted)
        return found

    def overload_of(self, values: Values) -> Overload:
        """The overload that a call resolves to."""
        name = self.kind.overload_name(self, values)
        return self.overloads.get(name) or self.overload(name)

    def tensors(self, values: Values) -> list[Tensor]:
        """The tensor arguments of a call in order, those in lists included."""
        found: list[Any] = []
        for value in values:
            if is_tensor(value):
                found.append(value)
            elif type(value) is tuple:
                found.extend(each for each in value if is_tensor(each))
        return found

    # ---- facets

    def meta(self, *args: object, **kwargs: object) -> Metas:
        """Shapes, dtypes and strides of the result; tensors may be tensors or `TensorMeta`s."""
        return self.kind.meta(self, to_metas(self.signature.bind(args, kwargs)))

    def kernel(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  # array or tuple
        """The result on NumPy arrays."""
        return self.kind.kernel(self, self.signature.bind(args, kwargs))

    def vjp(self, values: Values, result: Result, needs: Sequence[bool]) -> Pullback | None:
        """How gradients of `result` become gradients of the tensor arguments that `needs` marks.

        None where the operator has no gradient at all (integer results, for instance).
        """
        if self.not_differentiable is not None:
            msg = f"{self.name} has no gradient: {self.not_differentiable}"
            raise NotDifferentiableError(msg)
        if self.gradients:
            return written_pullback(self, values, result, needs)
        return self.kind.pullback(self, values, result, needs)

    def jvp(self, values: Values, result: Result, tangents: Sequence[Tensor | None]) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """The tangent of `result` for tangents of the tensor arguments (None is zero)."""
        if self.written_tangent is not None:
            return self.written_tangent(self, values, result, tangents)
        return self.kind.tangent(self, values, result, tangents)

    # ---- other operators

    def sibling(self, name: str) -> Operator:
        """Another operator of the registry."""
        return tp[name]

    def derived(
        self,
        name: str,
        kind: Kind,
        signature: Signature,
        doc: str,
        function: Callable[..., Any],
    ) -> Operator:
        """An operator that follows from this one.

        Found by its name, not listed among the declared.
        """
        return Operator(name, kind, signature, doc, function, self.family, is_function=False)

    # ---- parts of a declaration

    def gradient(self, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare a gradient rule for the parameters `names`; see `ops.gradient`."""

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            given = {name for rule in self.gradients for name in rule.names}
            twice = sorted(given & set(names))
            if twice:
                msg = f"{self.name}: a gradient for {twice} is declared twice"
                raise RegistryError(msg)
            self.gradients.append(Gradient.of(self.signature, names, function))
            return function

        return declare

    def tangent(self, function: Tangent) -> Tangent:
        """Declare a forward-mode rule `(operator, values, result, tangents) -> tangents of the result`."""
        self.written_tangent = function
        return function

    def shortcut(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declare a function of arrays that computes what the parts of a composite do, in fewer passes over memory.

        It takes the operator's arguments by position, and returns None where it doesn't serve.
        """
        self.shortcut_kernel = function
        return function

    def batching(self, function: Rule) -> Rule:
        """Declare a batching rule `(operator, values, metas, size) -> results`; see `ops.batching`."""
        self.batching_rule = function
        return function

    def sample(self, function: Callable[[], Iterator[Sample]]) -> Callable[[], Iterator[Sample]]:
        """Declare sample calls."""
        self.samples = function
        return function


def to_metas(values: Values) -> Values:
    """Tensors replaced by their `TensorMeta`s."""
    return tuple(_to_meta(value) for value in values)


def _to_meta(value: object) -> object:
    if is_tensor(value):
        return value.tensor_meta  # type: ignore[attr-defined]  # a Tensor
    if type(value) is tuple:
        return tuple(_to_meta(each) for each in value)
    return value


def _operator_named(name: str) -> Operator:
    return tp[name]


class Namespace:
    """`tensorplay.ops.tp`: operators by name, those derived from others made when first asked for."""

    def __init__(self) -> None:
        """Start empty."""
        self._operators: dict[str, Operator] = {}
        self._aliases: dict[str, Operator] = {}
        self._frozen = False

    def __getitem__(self, name: str) -> Operator:
        """The operator called `name`, which may be an alias of it."""
        found = self._operators.get(name) or self._aliases.get(name)
        if found is None:
            found = self._derive(name)
        if found is None:
            msg = f"there is no operator {name!r}"
            raise RegistryError(msg)
        return found

    def __getattr__(self, name: str) -> Operator:
        """The operator called `name`."""
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except RegistryError as error:
            raise AttributeError(str(error)) from None

    def __contains__(self, name: str) -> bool:
        """Whether an operator is declared."""
        return name in self._operators

    def __iter__(self) -> Iterator[Operator]:
        """All declared operators, in order of declaration."""
        return iter(list(self._operators.values()))

    def __dir__(self) -> list[str]:
        """Names, for completion."""
        return sorted(self._operators)

    def _derive(self, name: str) -> Operator | None:
        if name.endswith(BATCHED):
            of_sample = self[name.removesuffix(BATCHED)]
            return of_sample.kind.batched(of_sample)
        base, mark, _ = name.rpartition("_backward")
        while mark:
            if base in self._operators or "_backward" in base or base.endswith(BATCHED):
                try:
                    return self[base].kind.companion_named(self[base], name)
                except RegistryError:
                    return None
            base, mark, _ = base.rpartition("_backward")
        return None

    def declare(self, operator: Operator) -> Operator:
        """Declare an operator; a second declaration of a name is refused."""
        if operator.name in self._operators:
            msg = f"operator {operator.name!r} is declared twice"
            raise RegistryError(msg)
        if operator.name in self._aliases:
            msg = f"operator {operator.name!r} is an alias of {self._aliases[operator.name]!r}"
            raise RegistryError(msg)
        self._operators[operator.name] = operator
        for listener in self._listeners:
            listener(operator)
        return operator

    def also_called(self, name: str, *others: str) -> None:
        """Give the operator `name` other names, which mean the same object."""
        operator = self._operators[name]
        for other in others:
            if other in self._operators or other in self._aliases:
                msg = f"{other!r} cannot be an alias of {operator!r}: it is {self[other]!r}"
                raise RegistryError(msg)
            self._aliases[other] = operator
        operator.aliases = (*operator.aliases, *others)

    _listeners: tuple[Callable[[Operator], None], ...] = ()

    def on_declaration(self, listener: Callable[[Operator], None]) -> None:
        """Call `listener` for every operator declared from now on (the public functions follow the registry)."""
        self._listeners = (*self._listeners, listener)

    def freeze(self) -> None:
        """Check that every declaration is complete; names all that is missing."""
        missing: list[str] = []
        for operator in self:
            missing += [f"{operator.name}: {what}" for what in _missing(operator)]
        if missing:
            msg = "incomplete declarations:\n  " + "\n  ".join(missing)
            raise RegistryError(msg)


def _missing(operator: Operator) -> Iterator[str]:
    if not operator.doc.strip():
        yield "no docstring"
    if operator.samples is None:
        yield "no samples"
    if not operator.gradients and operator.not_differentiable is None:
        reason = operator.kind.missing_gradient(operator)
        if reason is not None:
            yield f"no gradient ({reason}); declare one or state why there is none"
    known = {each.name for each in operator.signature.parameters}
    for rule in operator.gradients:
        strange = sorted(set(rule.names) - known)
        if strange:
            yield f"a gradient for unknown parameters {strange}"


tp = Namespace()
"""All operators: `tensorplay.ops.tp`."""

__all__ = ["Namespace", "Operator", "Overload", "Role", "to_metas", "tp"]
