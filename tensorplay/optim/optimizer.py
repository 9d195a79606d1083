"""`Optimizer`: parameter groups, state, and a step that runs eagerly or compiled.

A subclass gives the names of its state tensors and one function, the *rule*, which updates lists of
tensors in place with operators only. All that changes from step to step is in tensors, the number
of the step included, so the same rule runs eagerly, compiled by `Optimizer.compile`, or as part of
a captured ``opt.step``.

>>> import tensorplay as tp
>>> w = tp.nn.Parameter(tp.ones(2))
>>> opt = tp.optim.SGD([w], lr=0.5)
>>> (w * w).sum().backward()
>>> opt.step()
>>> w.detach()
tensor([0., 0.])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypedDict

from tensorplay.autograd import RemovableHandle, enable_grad, no_grad
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError, TensorPlayError
from tensorplay.functions import as_tensor, tensor, zeros_like
from tensorplay.nn.hooks import add
from tensorplay.nn.parameter import clear_grad, is_lazy
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tensorplay.core.dtypes import DType

Group: TypeAlias = "dict[str, Any]"
Slots: TypeAlias = "dict[str, list[Tensor]]"
Rule: TypeAlias = "Callable[..., None]"


class How(TypedDict, total=False):
    """PyTorch's settings for how a step runs, not what it computes; `Optimizer.compile` decides that here."""

    foreach: bool | None
    fused: bool | None
    capturable: bool
    differentiable: bool


class OptimizerStateError(TensorPlayError):
    """A state dictionary does not fit the optimizer."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Parameters that are updated together: they have taken the same number of steps."""

    params: list[Tensor]
    grads: list[Tensor]
    slots: Slots
    step: Tensor


HOOKS = ("step_pre", "step_post", "state_pre", "state_post", "load_pre", "load_post")


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step between its hooks; inside another one, as where a subclass calls `super().step`, without."""

    @wraps(step)
    def hooked(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as step
        self: Optimizer = args[0]
        before, after = self._hooks["step_pre"], self._hooks["step_post"]
        if self._is_stepping or not (before or after):
            return step(*args, **kwargs)
        for hook in tuple(before.values()):
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                args, kwargs = replaced
        self._is_stepping = True
        try:
            result = step(*args, **kwargs)
        finally:
            self._is_stepping = False
        for hook in tuple(after.values()):
            hook(self, args, kwargs)
        return result

    return hooked


def _no_rule(*args: object, **settings: object) -> None:
    raise NotImplementedError("this optimizer defines no rule")


class Optimizer:
    """The base class; a rule is called as ``rule(params, grads, slots, step, **settings)``.

    ``slots`` has a list of tensors for each name that `slot_names` gives, ``step`` is a 0-d tensor
    that the rule counts up.
    """

    rule: ClassVar[Rule] = staticmethod(_no_rule)
    counts_steps: ClassVar[bool] = True
    """Whether the number of steps belongs to the state, as PyTorch lays it out."""
    _is_stepping: bool = False

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        defaults: dict[str, Any],
        how: How | None = None,
    ) -> None:
        """Take parameters, or groups: dictionaries with ``params`` and settings of their own.

        Of ``how``, only ``differentiable=True`` is refused: a step here is no part of any graph.
        """
        if how is not None and how.get("differentiable"):
            raise ArgumentValueError(
                f"{type(self).__name__}: steps are not recorded for gradients, leave differentiable=False"
            )
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Tensor]] = {}
        self._dtypes: dict[Tensor, DType | None] = {}
        """The dtype of each parameter; None of one that has no shape yet, and so no state."""
        self.param_groups: list[Group] = []
        self._rule: Rule = type(self).rule
        self._hooks: dict[str, dict[int, Any]] = {kind: {} for kind in HOOKS}
        given: list[Tensor | Group] = [*params]
        if not given:
            raise ArgumentValueError(f"{type(self).__name__} got no parameters to optimize")
        tensors = [each for each in given if isinstance(each, Tensor)]
        groups = [{"params": tensors}] if tensors else []
        for group in [*groups, *(each for each in given if not isinstance(each, Tensor))]:
            self.add_param_group(group)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """Return the names of the state tensors that a parameter of ``group`` has."""
        raise NotImplementedError(f"{cls.__name__} names no state")

    @classmethod
    def new_slot(cls, name: str, param: Tensor, group: Group) -> Tensor:
        """Return a state tensor of a parameter as it is before the first step: zeros, unless a subclass knows better."""
        del name, group
        found: Tensor = zeros_like(param.detach())
        return found

    def add_param_group(self, group: Group) -> None:
        """Add parameters with settings of their own; what is not set comes from the defaults."""
        given = group["params"]
        params: list[Tensor] = [given] if isinstance(given, Tensor) else list(given)
        unknown = set(group) - set(self.defaults) - {"params", *SCHEDULED}
        if unknown:
            raise ArgumentValueError(
                f"{type(self).__name__} has no settings {sorted(unknown)}; "
                f"it has {sorted(self.defaults)}"
            )
        full = {
            "params": params,
            **self.defaults,
            **{k: v for k, v in group.items() if k != "params"},
        }
        self.check(full)
        step = tensor(0.0, dtype=dtypes.float64)
        for param in params:
            if param.grad_fn is not None:
                raise ArgumentValueError(
                    "an optimizer changes leaf tensors only; detach() makes one"
                )
            if param in self.state:
                raise ArgumentValueError(
                    "a parameter stands in two places of the optimizer's groups"
                )
            self.state[param] = {"step": step}
            if is_lazy(param):
                self._dtypes[param] = None
            else:
                self._give_slots(param, full)
        self.param_groups.append(full)

    def _give_slots(self, param: Tensor, group: Group) -> None:
        self._dtypes[param] = param.dtype
        for name in self.slot_names(group):
            self.state[param][name] = self.new_slot(name, param, group)

    def check(self, group: Group) -> None:
        """Refuse settings outside their domain."""
        lr = group["lr"]
        if not isinstance(lr, Tensor) and lr < 0.0:
            raise ArgumentValueError(f"the learning rate is at least 0, got {lr}")
        if group.get("weight_decay", 0.0) < 0.0:
            raise ArgumentValueError(f"weight decay is at least 0, got {group['weight_decay']}")
        eps = group.get("eps", 0.0)
        if any(
            each is not None and each < 0.0 for each in (eps if isinstance(eps, tuple) else (eps,))
        ):
            raise ArgumentValueError(f"eps is at least 0, got {eps}")
        if not all(0.0 <= beta < 1.0 for beta in group.get("betas", ())):
            raise ArgumentValueError(f"betas lie in [0, 1), got {group['betas']}")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                clear_grad(param, set_to_none)

    def compile(self, **options: Any) -> None:  # noqa: ANN401 - tp.compile's options
        """Run the rule through ``tp.compile(rule, **options)`` from now on."""
        from tensorplay.compiler.api import compile as compile_function

        self._rule = compile_function(type(self).rule, **options)

    @_hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # noqa: ANN401 - the closure's
        """Update every parameter that has a gradient; parameters without one stay as they are.

        ``closure``, if given, computes the loss anew with gradients, and its result is returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                settings = self._settings(group)
                for batch in self._batches(group):
                    self._rule(batch.params, batch.grads, batch.slots, batch.step, **settings)
        return loss

    def _settings(self, group: Group) -> dict[str, Any]:
        """Return a group's settings; the rate is a tensor, so changing it compiles nothing anew."""
        settings = {name: group[name] for name in self.defaults}
        if not isinstance(settings["lr"], Tensor):
            settings["lr"] = tensor(settings["lr"], dtype=dtypes.float64)
        return settings

    def _batches(self, group: Group) -> Iterator[Batch]:
        """Gather the parameters with gradients by their step count.

        Parameters share one counter until one of them misses a step; then the others get a fresh
        counter, so that each count says how often its parameter was updated.
        """
        active: dict[int, list[Tensor]] = {}
        resting: set[int] = set()
        for param in group["params"]:
            if self._dtypes[param] is not param.dtype:
                self._follow(param, group)
            counter = id(self.state[param]["step"])
            if param.grad is None:
                resting.add(counter)
            else:
                active.setdefault(counter, []).append(param)
        for counter, params in active.items():
            step = self.state[params[0]]["step"]
            if counter in resting:
                step = step.clone()
                for param in params:
                    self.state[param]["step"] = step
            slots = {
                name: [self.state[param][name] for param in params]
                for name in self.slot_names(group)
            }
            grads = [param.grad for param in params if param.grad is not None]  # none is, see above
            yield Batch(params, grads, slots, step)

    def _follow(self, param: Tensor, group: Group) -> None:
        """Convert the state of a parameter whose dtype was changed (``model.to(dtype)``), or make it."""
        if is_lazy(param):
            return
        old, self._dtypes[param] = self._dtypes[param], param.dtype
        if old is None:
            self._give_slots(param, group)
            return
        entry = self.state[param]
        for name, value in entry.items():
            if name != "step" and value.dtype is old and (value.ndim or not param.ndim):
                entry[name] = value.to(param.dtype)

    # ------------------------------------------------------------------ hooks

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 - as object's
        """Let the hooks run around a `step` that a subclass defines."""
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.__dict__["step"])  # type: ignore[method-assign]  # the same, with hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``.

        The optimizer is the first of ``args``, as in PyTorch.
        """
        return RemovableHandle(self._hooks["step_pre"], hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle(self._hooks["step_post"], hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict`."""
        return add(self._hooks["state_pre"], hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after `state_dict`; what it returns replaces the result."""
        return add(self._hooks["state_post"], hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before `load_state_dict`; what it returns is loaded instead.

        It gets a shallow copy of the state.
        """
        return add(self._hooks["load_pre"], hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after `load_state_dict`."""
        return add(self._hooks["load_post"], hook, prepend)

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """Return settings and state with parameters numbered in the order of the groups: PyTorch's layout.

        A parameter that was never updated has no state.
        """
        for hook in tuple(self._hooks["state_pre"].values()):
            hook(self)
        numbers: dict[Tensor, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers[param] = len(numbers)
            plain = {name: value for name, value in group.items() if name != "params"}
            groups.append({**plain, "params": [numbers[param] for param in group["params"]]})
        state = {}
        for param, entry in self.state.items():
            names = [
                name
                for name, value in entry.items()
                if (
                    self.counts_steps
                    if name == "step"
                    else value.shape != (0,) or not param.numel()
                )
            ]
            kept = {name: entry[name] for name in names}
            if kept and entry["step"].item() > 0.0:
                state[numbers[param]] = kept
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in tuple(self._hooks["state_post"].values()):
            replaced = hook(self, found)
            found = found if replaced is None else replaced
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take settings and state over from `state_dict` of an optimizer with equal groups, PyTorch's too."""
        for hook in tuple(self._hooks["load_pre"].values()):
            state_dict = dict(state_dict)
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        groups = state_dict["param_groups"]
        found = [len(group["params"]) for group in groups]
        own = [len(group["params"]) for group in self.param_groups]
        if found != own:
            raise OptimizerStateError(
                f"the state has groups of {found} parameters, the optimizer of {own}"
            )
        for group, saved in zip(self.param_groups, groups, strict=True):
            known = {*self.defaults, *SCHEDULED}
            group.update({name: value for name, value in saved.items() if name in known})
            counters: dict[float, Tensor] = {}
            for param, number in zip(group["params"], saved["params"], strict=True):
                entry = state_dict["state"].get(number)
                if entry is None:
                    fresh = {
                        name: self.new_slot(name, param, group) for name in self.slot_names(group)
                    }
                    entry = {"step": 0.0, **fresh}
                self._load_entry(param, entry, counters)
        for hook in tuple(self._hooks["load_post"].values()):
            hook(self)

    def _load_entry(
        self,
        param: Tensor,
        entry: Mapping[str, Tensor | float | None],
        counters: dict[float, Tensor],
    ) -> None:
        found = {name: value for name, value in entry.items() if value is not None}
        if not self.counts_steps:
            found.setdefault(
                "step", 1.0 if found else 0.0
            )  # all that matters is whether it was taken
        needed = {name for name, value in self.state[param].items() if tuple(value.shape) != (0,)}
        missing = needed - set(found)
        if missing and float(found.get("step", 1.0)) > 0.0:
            raise OptimizerStateError(f"the state lacks {sorted(missing)} of a parameter")
        count = float(found["step"])
        self.state[param]["step"] = counters.setdefault(count, tensor(count, dtype=dtypes.float64))
        for name, old in self.state[param].items():
            if name != "step" and name in found:
                with no_grad():
                    old.copy_(as_tensor(found[name]))


SCHEDULED = ("initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum", "swa_lr")
"""What learning rate schedulers keep in a group."""


def direction_of(param: Tensor, grad: Tensor, weight_decay: float, maximize: bool) -> Tensor:
    """Return the gradient, negated to maximize, with the weight decay added."""
    direction = -grad if maximize else grad
    return direction + weight_decay * param if weight_decay else direction
