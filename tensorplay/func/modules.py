"""`functional_call`, `stack_module_state`: modules as functions of their parameters.

>>> import tensorplay as tp
>>> from tensorplay import nn
>>> from tensorplay.func import functional_call, grad
>>> model = nn.Linear(2, 1, bias=False)
>>> def loss(weights, x):
...     return functional_call(model, weights, (x,)).sum()
>>> grad(loss)({"weight": tp.zeros(1, 2)}, tp.tensor([3.0, 4.0]))
{'weight': tensor([[3., 4.]])}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.functions import stack
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from tensorplay.nn import Module

State: TypeAlias = "Mapping[str, Tensor]"


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: State | Sequence[State],
    args: Any = None,  # noqa: ANN401 - what the module takes
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # noqa: ANN401 - what the module returns
    """Call a module with other tensors in place of its parameters and buffers.

    ``parameter_and_buffer_dicts`` maps the paths of `named_parameters` and `named_buffers` to
    tensors; several dictionaries count as one. What they don't name stays as it is, unless
    ``strict``. With ``tie_weights``, a tensor that the module has under several paths is replaced
    under all of them. The module is as before afterwards; what it writes into a buffer of the
    dictionary stays there.
    """
    dicts = (
        [parameter_and_buffer_dicts]
        if isinstance(parameter_and_buffer_dicts, Mapping)
        else list(parameter_and_buffer_dicts)
    )
    given: dict[str, Tensor] = {}
    for each in dicts:
        twice = sorted(set(each) & set(given))
        if twice:
            raise ArgumentValueError(f"functional_call: {twice[0]!r} is in several dictionaries")
        given.update(each)
    places = _places(module)
    unknown = sorted(set(given) - set(places))
    if unknown:
        raise ArgumentValueError(
            f"functional_call: the module has no parameter or buffer {unknown[0]!r}; it has "
            f"{', '.join(places)}"
        )
    if strict and set(places) - set(given):
        raise ArgumentValueError(
            f"functional_call: strict=True, but {min(set(places) - set(given))!r} is not given"
        )
    replaced: list[tuple[dict[str, Any], str, Any]] = []
    by_identity = {id(places[path][0][places[path][1]]): value for path, value in given.items()}
    try:
        for path, (registry, name) in places.items():
            own = registry[name]
            value = given.get(path, by_identity.get(id(own)) if tie_weights else None)
            if value is not None:
                replaced.append((registry, name, own))
                registry[name] = value
        if args is None:
            args = ()
        call_args = args if isinstance(args, tuple) else (args,)
        return module(*call_args, **(kwargs or {}))
    finally:
        for registry, name, own in replaced:
            registry[name] = own


def _places(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer of a module is kept, by path, shared ones under each."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for prefix, owner in module.named_modules(remove_duplicate=False):
        start = f"{prefix}." if prefix else ""
        registries: tuple[dict[str, Any], ...] = (owner._parameters, owner._buffers)  # noqa: SLF001  # a friend of that class
        for registry in registries:
            found.update(
                {
                    start + name: (registry, name)
                    for name, own in registry.items()
                    if own is not None
                }
            )
    return found


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of models of one class, stacked in front, for `vmap`.

    The parameters are leaves, which require gradients where those of the models do.
    """
    if not models:
        raise ArgumentError("stack_module_state: expected at least one model, found none")
    first = models[0]
    if any(type(each) is not type(first) for each in models):
        raise ArgumentError("stack_module_state: the models have to be of one class")
    if any(each.training != first.training for each in models):
        raise ArgumentError(
            "stack_module_state: the models have to be all in one mode, train or eval"
        )
    parameters = [dict(each.named_parameters()) for each in models]
    buffers = [dict(each.named_buffers()) for each in models]
    return _stacked(parameters), _stacked(buffers)


def _stacked(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for name, like in states[0].items():
        wants = {each[name].requires_grad for each in states}
        if len(wants) > 1:
            raise ArgumentError(
                f"stack_module_state: {name!r} requires a gradient in some of the models only"
            )
        with no_grad():
            whole = stack([each[name].detach() for each in states])
        found[name] = whole.requires_grad_() if like.requires_grad else whole
    return found
