"""Pruning: entries of a parameter fixed at zero by a mask, ``parameter = parameter_orig · parameter_mask`` before each call.

A pruned parameter lives on as ``name_orig``, the mask is the buffer ``name_mask``; pruning again masks more
of what is left, and `remove` makes it permanent.

>>> import tensorplay as tp
>>> from tensorplay.nn.utils import prune
>>> layer = prune.l1_unstructured(tp.nn.Linear(4, 2), "weight", amount=0.5)
>>> sorted(layer.state_dict()), layer.weight_mask.sum().item()
(['bias', 'weight_mask', 'weight_orig'], 4.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.functions import cat, ones_like, rand, zeros
from tensorplay.linalg import vector_norm
from tensorplay.nn.hooks import forward_pre_hooks, remove_forward_pre_hook
from tensorplay.nn.utils.recomputed import Recomputed, attach, find
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tensorplay.nn.module import Module


class BasePruningMethod(Recomputed):
    """A way to choose what is pruned: subclasses define `compute_mask`. As a hook it applies the mask."""

    PRUNING_TYPE: str = "unstructured"
    """``"unstructured"``, ``"structured"`` or ``"global"``: what of a tensor that was pruned before may still be."""

    def __init__(self) -> None:
        """Methods have no settings of their own; `apply` says which parameter they prune."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The new mask by the importance ``t`` of each entry; it prunes what ``default_mask`` prunes, and more."""
        del t, default_mask
        raise NotImplementedError(f"{type(self).__name__} defines no compute_mask")

    def apply_mask(self, module: Module) -> Tensor:
        """The original times the mask."""
        name = self._tensor_name
        found: Tensor = getattr(module, f"{name}_orig") * getattr(module, f"{name}_mask")
        return found

    compute = apply_mask

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,  # noqa: ANN401  # the constructor's
        importance_scores: Tensor | None = None,
        **kwargs: Any,  # noqa: ANN401  # the constructor's
    ) -> BasePruningMethod:
        """Prune a parameter of a module by a method made with the arguments; return the hook."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        old = find(module, BasePruningMethod, name)
        with no_grad():
            if old is None:
                original = getattr(module, name)
                present, mask = original.detach(), ones_like(original.detach())
            else:
                original = getattr(module, f"{name}_orig")
                present, mask = old.apply_mask(module), getattr(module, f"{name}_mask")
            scores = present if importance_scores is None else importance_scores
            if tuple(scores.shape) != tuple(original.shape):
                raise ShapeError(
                    f"prune: importance_scores have the parameter's shape {tuple(original.shape)}, got "
                    f"{tuple(scores.shape)}"
                )
            if old is not None:
                container = old if isinstance(old, PruningContainer) else PruningContainer(old)
                container.add_pruning_method(method)
                method = container
            mask = method.compute_mask(scores, mask)
        if old is None:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
            module.register_buffer(f"{name}_mask", mask)
        else:
            remove_forward_pre_hook(module, old)
            module.register_buffer(f"{name}_mask", mask)
        attach(module, method)
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """A tensor with what the method chooses set to zero."""
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, mask)

    def remove(self, module: Module) -> None:
        """Make the pruned value the parameter, without mask or hook."""
        name = self._tensor_name
        original = getattr(module, f"{name}_orig")
        with no_grad():
            original.copy_(self.apply_mask(module))
        module.__dict__.pop(name, None)
        delattr(module, f"{name}_orig")
        delattr(module, f"{name}_mask")
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Methods that were applied to one parameter, one after another."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            if not self._pruning_methods:
                self._tensor_name = method._tensor_name  # noqa: SLF001  # of the same class
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter."""
        if method._tensor_name != self._tensor_name:  # noqa: SLF001  # of the same class
            raise ArgumentValueError(
                f"a PruningContainer of {self._tensor_name!r} takes no method of {method._tensor_name!r}"  # noqa: SLF001  # a friend of that class
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the latest method, chosen among what is left."""
        method = self._pruning_methods[-1]
        mask = default_mask
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, mask)
        if method.PRUNING_TYPE == "structured":
            dim = method.dim  # type: ignore[attr-defined]  # structured methods have one
            others = [d for d in range(t.ndim) if d != dim % t.ndim]
            left = (mask.sum(others) != 0).nonzero().squeeze(1)
            part = method.compute_mask(t.index_select(dim, left), mask.index_select(dim, left))
            return mask.index_copy(dim, left, part.to(mask.dtype))
        left = (mask.flatten() != 0).nonzero().squeeze(1)
        part = method.compute_mask(t.flatten()[left], mask.flatten()[left])
        return mask.flatten().index_copy(0, left, part.to(mask.dtype)).reshape(mask.shape)


# ---- methods -------------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prune nothing: a mask of ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is."""
        del t
        return default_mask


class _ByAmount(BasePruningMethod):
    """Prune a part (a float in [0, 1]) or a number of entries."""

    def __init__(self, amount: int | float) -> None:  # noqa: PYI041  # a number, or a part
        if amount < 0 or (isinstance(amount, float) and amount > 1.0):
            raise ArgumentValueError(
                f"prune: amount is a float in [0, 1] or a number of entries, got {amount}"
            )
        self.amount = amount

    def count(self, size: int) -> int:
        """How many of so many."""
        if isinstance(self.amount, float):
            return round(self.amount * size)
        if self.amount > size:
            raise ArgumentValueError(f"prune: amount={self.amount} is more than there are: {size}")
        return self.amount


def _without(order: Tensor, count: int, like: Tensor) -> Tensor:
    """A mask of the shape of ``like``: zero at the first ``count`` places of ``order``."""
    mask = ones_like(like).flatten()
    return mask.index_fill(0, order[:count], 0.0).reshape(like.shape)


class RandomUnstructured(_ByAmount):
    """Prune entries drawn at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zero at drawn places."""
        order = rand((t.numel(),)).argsort()
        return default_mask * _without(order, self.count(t.numel()), default_mask)


class L1Unstructured(_ByAmount):
    """Prune the entries of the smallest absolute values."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zero at the smallest."""
        order = t.abs().flatten().argsort(stable=True)
        return default_mask * _without(order, self.count(t.numel()), default_mask)


class _Structured(_ByAmount):
    """Prune whole slices along ``dim``."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def importance(self, t: Tensor) -> Tensor:
        """A number for each slice; the smallest are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zero in the slices of the least importance."""
        if t.ndim < 2:
            raise ShapeError(
                f"prune: slices are of at least two dimensions, got shape {tuple(t.shape)}"
            )
        size = t.shape[self.dim]
        order = self.importance(t).argsort(stable=True)
        kept = _without(order, self.count(size), zeros((size,), dtype=default_mask.dtype))
        shape = [1] * t.ndim
        shape[self.dim] = size
        return default_mask * kept.reshape(shape)


class RandomStructured(_Structured):
    """Prune slices along ``dim`` drawn at random."""

    def importance(self, t: Tensor) -> Tensor:
        """Random numbers."""
        return rand((t.shape[self.dim],))


class LnStructured(_Structured):
    """Prune the slices along ``dim`` of the smallest ``n``-norms."""

    def __init__(self, amount: float, n: float, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def importance(self, t: Tensor) -> Tensor:
        """The norms."""
        others = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        found: Tensor = vector_norm(t, float(self.n), others)
        return found


class CustomFromMask(BasePruningMethod):
    """Prune by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks."""
        del t
        if tuple(self.mask.shape) != tuple(default_mask.shape):
            raise ShapeError(
                f"prune: the mask has the parameter's shape {tuple(default_mask.shape)}, got "
                f"{tuple(self.mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


# ---- functions -----------------------------------------------------------------------------------


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones; return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune a part or a number of a parameter's entries, drawn at random; return the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune a part or a number of a parameter's entries, the smallest ones (by ``importance_scores``); return the module."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune a part or a number of a parameter's slices along ``dim``, drawn at random; return the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: float,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune a part or a number of a parameter's slices along ``dim``, those of the smallest ``n``-norms; return the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a mask of its shape; return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,  # noqa: ANN401  # the method's
) -> None:
    """Prune several parameters as if they were one: a part or a number of all their entries.

    >>> import tensorplay as tp
    >>> first, second = tp.nn.Linear(4, 3), tp.nn.Linear(3, 2)
    >>> places = [(first, "weight"), (second, "weight")]
    >>> global_unstructured(places, L1Unstructured, amount=0.5)
    >>> (first.weight_mask.sum() + second.weight_mask.sum()).item()
    9.0
    """
    places = list(parameters)
    given = {} if importance_scores is None else importance_scores
    tensors = [getattr(module, name).detach() for module, name in places]
    scores = [given.get(place, each) for place, each in zip(places, tensors, strict=True)]
    masks = [getattr(m, f"{n}_mask", None) for m, n in places]
    flat = [
        ones_like(each).flatten() if mask is None else mask.flatten()
        for mask, each in zip(masks, tensors, strict=True)
    ]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentValueError(
            f"global_unstructured: {pruning_method.__name__} prunes no single entries"
        )
    method._tensor_name = "all"  # noqa: SLF001  # of its own class
    with no_grad():
        every = PruningContainer(method)
        found = every.compute_mask(cat([each.flatten() for each in scores]), cat(flat))
    start = 0
    for (module, name), each in zip(places, tensors, strict=True):
        custom_from_mask(module, name, found[start : start + each.numel()].reshape(each.shape))
        start += each.numel()


def remove(module: Module, name: str) -> Module:
    """Make the pruned value of a parameter permanent; return the module."""
    hook = find(module, BasePruningMethod, name)
    if hook is None:
        raise ArgumentValueError(f"prune: {type(module).__name__}.{name} is not pruned")
    hook.remove(module)
    remove_forward_pre_hook(module, hook)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in forward_pre_hooks(each)
    )
