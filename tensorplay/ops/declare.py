"""Declarations: the decorators that turn a function into an operator.

    @pointwise(promotion=FLOAT, method=True)
    def erf(input: Value) -> Value:
        "Error function."
        return ops.erf(input)

    @erf.sample
    def _(): yield sample(Arg((3, 4)))

`method=True` also makes `Tensor.erf`, `inplace=True` also `erf_`; the function of a `factory` takes
`requires_grad=`. The operator joins `tensorplay.ops.tp`, and the public functions follow the
registry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorplay.ops.kinds.composite import Composite
from tensorplay.ops.kinds.index import Form, Index
from tensorplay.ops.kinds.pointwise import COMMON, FLOAT, Pointwise, PromotionRule, ResultRule
from tensorplay.ops.kinds.reduction import Reduction, same_dtype
from tensorplay.ops.kinds.reduction import ResultRule as ReductionResult
from tensorplay.ops.kinds.reinterpreted import Layout, Reinterpreted
from tensorplay.ops.kinds.structured import Structured
from tensorplay.ops.kinds.view import Inverse, StridedView, View
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.signature import Role, signature_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.core.dtypes import DType
    from tensorplay.core.meta import TensorMeta
    from tensorplay.ops.batching import Rule
    from tensorplay.ops.kinds.kind import Kind
    from tensorplay.ops.monoids import Monoid
    from tensorplay.ops.registry import Metas

Declare = Callable[[Callable[..., Any]], Operator]


def declare(
    function: Callable[..., Any],
    kind: Kind,
    *,
    name: str | None = None,
    method: bool = False,
    public: bool = True,
    inplace: bool | str = False,
    **facets: Any,  # noqa: ANN401  # effect, linear, not_differentiable: checked by Operator
) -> Operator:
    """Declare an operator of any kind.

    `inplace` may be the name of the method that writes, where that is not the operator's with an
    underscore.
    """
    title = name or function.__name__
    operator = Operator(
        title, kind, signature_of(title, function), function.__doc__ or "", function, function.__module__,
        is_method=method, is_function=public, has_inplace=bool(inplace),
        inplace_name=inplace if isinstance(inplace, str) else f"{title}_", **facets,
    )  # fmt: skip
    return tp.declare(operator)


def pointwise(
    *,
    promotion: PromotionRule = COMMON,
    result: ResultRule | None = None,
    shape: Callable[..., Sequence[int]] | None = None,
    name: str | None = None,
    method: bool = False,
    public: bool = True,
    inplace: bool = False,
    factory: bool = False,
    conjugates: bool = False,
    not_differentiable: str | None = None,
) -> Declare:
    """Declare a pointwise operator by its scalar function.

    `result` fixes the dtype of the result (a dtype, or a function of the call); `shape` gives the
    shape of operators whose operands do not (creation). Parameters annotated `Index` and `Linear`
    are supplied, not passed.
    """

    def decorate(function: Callable[..., Any]) -> Operator:
        supplied = {
            each.role: each.name for each in signature_of(function.__name__, function).supplied
        }
        kind = Pointwise(
            function, promotion=promotion, result=result, shape=shape,
            index_name=supplied.get(Role.INDEX), linear_name=supplied.get(Role.LINEAR),
        )  # fmt: skip
        return declare(function, kind, name=name, method=method, public=public, inplace=inplace,
                       is_factory=factory, conjugates=conjugates, not_differentiable=not_differentiable)  # fmt: skip

    return decorate


def reduction(
    monoid: Monoid,
    *,
    result: ReductionResult = same_dtype,
    after: Callable[..., Any] | None = None,
    name: str | None = None,
    method: bool = True,
    public: bool = True,
    linear: bool = False,
    conjugates: bool = False,
    needs_elements: bool = False,
    not_differentiable: str | None = None,
) -> Declare:
    """Declare a reduction by its monoid and the scalar functions before (the declared one) and `after` it."""

    def decorate(function: Callable[..., Any]) -> Operator:
        kind = Reduction(function, monoid, result, needs_elements=needs_elements)
        kind.after_fn = after
        return declare(function, kind, name=name, method=method, public=public, inplace=False, linear=linear,
                        conjugates=conjugates, not_differentiable=not_differentiable)  # fmt: skip

    return decorate


def view(
    *,
    inverse: Inverse | None = None,
    scatter: str | None = None,
    copies: bool = False,
    strided: bool = False,
    name: str | None = None,
    method: bool = True,
    public: bool = True,
    not_differentiable: str | None = None,
) -> Declare:
    """Declare a view by its index map.

    A `strided` one is a layout of the whole storage (as_strided).
    """

    def decorate(function: Callable[..., Any]) -> Operator:
        make = StridedView if strided else View
        kind = make(function, inverse=inverse, scatter=scatter, copies=copies)
        return declare(function, kind, name=name, method=method, public=public, inplace=False, linear=True,
                       not_differentiable=not_differentiable)  # fmt: skip

    return decorate


def reinterpreted(
    dtype: Callable[[DType], DType], *, inverse: Inverse, method: bool = True
) -> Callable[[Callable[[TensorMeta], Layout]], Operator]:
    """Declare a view of the same memory as another dtype by the function that gives its layout."""

    def decorate(function: Callable[[TensorMeta], Layout]) -> Operator:
        return declare(
            function, Reinterpreted(function, dtype, inverse), method=method, linear=True
        )

    return decorate


def index(
    *,
    meta: Callable[..., Metas],
    form: Callable[..., Form],
    name: str | None = None,
    method: bool = False,
    public: bool = True,
    linear: bool = False,
    inplace: bool = False,
    not_differentiable: str | None = None,
    batching: Rule | None = None,
) -> Declare:
    """Declare an index operator by its form; the declared function is the NumPy kernel.

    `batching` replaces the rule that follows from the form where the operator itself can do it.
    """

    def decorate(function: Callable[..., Any]) -> Operator:
        return declare(function, Index(function, meta, form), name=name, method=method, public=public,
                        inplace=inplace, linear=linear, not_differentiable=not_differentiable,
                        batching_rule=batching)  # fmt: skip

    return decorate


def composite(
    *,
    name: str | None = None,
    method: bool = False,
    public: bool = True,
    inplace: bool | str = False,
    factory: bool = False,
    not_differentiable: str | None = None,
) -> Declare:
    """Declare an operator as a function over operators."""

    def decorate(function: Callable[..., Any]) -> Operator:
        return declare(function, Composite(), name=name, method=method, public=public, inplace=inplace,
                       is_factory=factory, not_differentiable=not_differentiable)  # fmt: skip

    return decorate


def structured(
    *,
    meta: Callable[..., Metas],
    name: str | None = None,
    method: bool = False,
    public: bool = True,
    inplace: bool = False,
    factory: bool = False,
    effect: bool = False,
    linear: bool = False,
    conjugates: bool = False,
    not_differentiable: str | None = None,
    batching: Rule | None = None,
) -> Declare:
    """Declare an operator whose kernel (the declared function, on NumPy arrays) and meta rule are written out.

    `batching` says what it does for a batch of samples: a rule of `ops.batching` (`leading`, where
    the kernel takes any number of leading dimensions), or a written one.
    """

    def decorate(function: Callable[..., Any]) -> Operator:
        return declare(function, Structured(function, meta), name=name, method=method, public=public,
                        inplace=inplace, is_factory=factory, effect=effect, linear=linear, conjugates=conjugates,
                        not_differentiable=not_differentiable, batching_rule=batching)  # fmt: skip

    return decorate


__all__ = [
    "COMMON",
    "FLOAT",
    "composite",
    "declare",
    "index",
    "pointwise",
    "reduction",
    "reinterpreted",
    "structured",
    "view",
]
