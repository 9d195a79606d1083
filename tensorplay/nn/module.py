"""`Module`: parameters, buffers and submodules in a tree, with one function to compute.

A module's attributes decide: assigning a `Parameter` or a `Module` registers it, `register_buffer`
registers a tensor that is state but not trained. Names are paths in the tree (``features.0.bias``).

>>> import tensorplay as tp
>>> model = tp.nn.Sequential(tp.nn.Linear(4, 8), tp.nn.ReLU())
>>> model
Sequential(
  (0): Linear(in_features=4, out_features=8, bias=True)
  (1): ReLU()
)
>>> [(name, tuple(p.shape)) for name, p in model.named_parameters()]
[('0.weight', (8, 4)), ('0.bias', (8,))]
"""

# ruff: noqa: SLF001 - a module reads the registries of the modules below it, which are of its own class

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tensorplay.autograd import no_grad
from tensorplay.core import dtypes
from tensorplay.core.errors import DTypeError
from tensorplay.functions import empty_like
from tensorplay.nn import hooks
from tensorplay.nn.hooks import Hooked
from tensorplay.nn.parameter import Buffer, Parameter, clear_grad, is_lazy
from tensorplay.nn.state import IncompatibleKeys, load_state, save_state
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType


_REGISTRIES = ("_parameters", "_buffers", "_modules")


class Module(Hooked):
    """The base class of everything that has parameters. Subclasses define ``forward``."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _transient_buffers: set[str]
    _compiled: Callable[..., Any] | None

    def __init__(self) -> None:
        """Start with no parameters, in training mode."""
        state = self.__dict__
        state["training"] = True
        for name in _REGISTRIES:
            state[name] = {}
        state["_transient_buffers"] = set()
        state["_hooks"] = None
        state["_compiled"] = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - subclasses say which
        """Compute. Call the module itself instead, so that hooks run."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, ...)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as forward
        """Run the pre-hooks, `forward` and the hooks."""
        if self._compiled is not None:
            return self._compiled(*args, **kwargs)
        return self._call(*args, **kwargs)

    def _call(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as forward
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return hooks.call(self, self._hooks, args, kwargs)

    def compile(self, **options: Any) -> None:  # noqa: ANN401 - tp.compile's options
        """Run calls of this module through ``tp.compile(..., **options)`` from now on.

        >>> import tensorplay as tp
        >>> layer = tp.nn.ReLU()
        >>> layer.compile()
        >>> layer(tp.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """
        from tensorplay.compiler.api import compile as compile_function

        self.__dict__["_compiled"] = compile_function(self._call, **options)

    # ------------------------------------------------------------------ attributes

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self.register_module(name, value)
        elif isinstance(value, Buffer) and name not in self._parameters:
            self.register_buffer(name, value, value.persistent)
        elif name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"{type(self).__name__}.{name} is a parameter: assign an nn.Parameter or "
                    f"None, not {type(value).__name__}"
                )
            self._parameters[name] = None
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"{type(self).__name__}.{name} is a submodule: assign a Module or None, "
                    f"not {type(value).__name__}"
                )
            self._modules[name] = None
        elif name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"{type(self).__name__}.{name} is a buffer: assign a Tensor or None, "
                    f"not {type(value).__name__}"
                )
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a parameter, buffer or module
        state = self.__dict__
        for registry in _REGISTRIES:
            entries = state.get(registry)
            if entries is None:
                raise AttributeError(
                    f"{type(self).__name__} has no attribute {name!r} yet: "
                    "call super().__init__() first"
                )
            if name in entries:
                return entries[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for registry in _REGISTRIES:
            if name in self.__dict__[registry]:
                del self.__dict__[registry][name]
                self._transient_buffers.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {name for registry in _REGISTRIES for name in self.__dict__[registry]}
        return sorted(names.union(super().__dir__()))

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make ``param`` one of the module's own, under ``name``."""
        self._claim(name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"parameter {name!r} must be an nn.Parameter or None, not {type(param).__name__}"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"parameter {name!r} is the result of a computation; a parameter must be a leaf"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make ``tensor`` state that is not trained; `state_dict` has it if ``persistent``."""
        self._claim(name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"buffer {name!r} must be a Tensor or None, not {type(tensor).__name__}"
            )
        self._buffers[name] = tensor
        if persistent:
            self._transient_buffers.discard(name)
        else:
            self._transient_buffers.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Make ``module`` a child, under ``name``."""
        self._claim(name, "_modules")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"child {name!r} must be a Module or None, not {type(module).__name__}")
        self._modules[name] = module

    def add_module(self, name: str, module: Module | None) -> None:
        """Make ``module`` a child, under ``name``."""
        self.register_module(name, module)

    def _claim(self, name: str, registry: str) -> None:
        """Check that ``name`` can be used in ``registry``, and take it from everywhere else."""
        if "_parameters" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before assigning {name!r}"
            )
        if not name or "." in name:
            raise KeyError(f"{name!r} cannot name an attribute: names are not empty, without '.'")
        if hasattr(type(self), name) and name not in self.__dict__[registry]:
            raise KeyError(f"{type(self).__name__} already has an attribute {name!r}")
        self.__dict__.pop(name, None)
        for other in _REGISTRIES:
            if other != registry:
                self.__dict__[other].pop(name, None)

    # ------------------------------------------------------------------ the tree

    def named_modules(
        self,
        memo: set[Module] | None = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and all below it with their paths, parents first.

        ``memo`` holds modules that are left out, and takes in those that were found.
        """
        seen: set[Module] = set() if memo is None else memo
        stack: list[tuple[str, Module]] = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if remove_duplicate and module in seen:
                continue
            seen.add(module)
            yield path, module
            stack.extend(
                (_join(path, name), child)
                for name, child in reversed(module._modules.items())
                if child is not None
            )

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all below it, each once unless told otherwise."""
        found = self.named_modules(remove_duplicate=remove_duplicate)
        return (module for _, module in found)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the modules directly below with their names, each once."""
        seen: set[Module] = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """Yield the modules directly below."""
        return (child for _, child in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield parameters with their paths, a shared one once unless told otherwise."""
        for path, parameter in self._entries("_parameters", prefix, recurse, remove_duplicate):
            if isinstance(parameter, Parameter):
                yield path, parameter

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield buffers with their paths, a shared one once unless told otherwise."""
        return self._entries("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _entries(
        self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Tensor]]:
        modules = (
            self.named_modules(None, prefix, remove_duplicate)
            if recurse
            else iter([(prefix, self)])
        )
        seen: set[int] = set()
        for path, module in modules:
            for name, tensor in module.__dict__[registry].items():
                if tensor is None or (remove_duplicate and id(tensor) in seen):
                    continue
                seen.add(id(tensor))
                yield _join(path, name), tensor

    def get_submodule(self, target: str) -> Module:
        """Return the module at a path such as ``"features.0"``; ``""`` is the module itself."""
        module = self
        for name in target.split(".") if target else ():
            child = module._modules.get(name)
            if child is None:
                raise AttributeError(f"{type(module).__name__} has no submodule {name!r}")
            module = child
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the module at a path, or add one to an existing parent (not if ``strict``)."""
        path, _, name = target.rpartition(".")
        if not name:
            raise ValueError("set_submodule needs the path of a submodule, not an empty one")
        parent = self.get_submodule(path)
        if strict and name not in parent._modules:
            raise AttributeError(f"{type(parent).__name__} has no submodule {name!r}")
        parent.register_module(name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a path such as ``"features.0.weight"``."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        parameter = module._parameters.get(name)
        if parameter is None:
            raise AttributeError(f"{type(module).__name__} has no parameter {name!r}")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a path such as ``"features.1.running_mean"``."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = module._buffers.get(name)
        if buffer is None:
            raise AttributeError(f"{type(module).__name__} has no buffer {name!r}")
        return buffer

    # ------------------------------------------------------------------ changes

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call ``fn`` on every module, children first."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and below; dropout and batch norm act on it."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Set evaluation mode here and below."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say of every parameter whether it wants a gradient."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    def to(
        self,
        *targets: DType | Device | str | Tensor | None,
        device: Device | str | None = None,
        dtype: DType | None = None,
        non_blocking: bool = False,
    ) -> Self:
        """Convert floating parameters and buffers to a dtype, and all of them to a device.

        A tensor stands for its dtype and device. Parameters stay the same objects, so that
        optimizers keep them.
        """
        del non_blocking
        wanted: list[DType | Device | str] = []
        for each in (*targets, device, dtype):
            if isinstance(each, Tensor):
                wanted += [each.device, each.dtype]
            elif each is not None:
                wanted.append(each)
        for each in wanted:
            if isinstance(each, dtypes.DType) and not each.is_differentiable:
                raise DTypeError(f"Module.to converts to floating dtypes, not {each}")
        return self._convert(lambda tensor: _converted(tensor, wanted))

    def _convert(self, convert: Callable[[Tensor], Tensor]) -> Self:
        """Convert every parameter, its gradient, and every buffer."""
        with no_grad():
            for module in self.modules():
                for parameter in module._parameters.values():
                    if is_lazy(parameter):
                        parameter.convert(convert(parameter.placeholder))
                    elif parameter is not None:
                        parameter.assign(convert(parameter.detach()))
                        if parameter.grad is not None:
                            parameter.grad = convert(parameter.grad)
                for name, buffer in module._buffers.items():
                    if is_lazy(buffer):
                        buffer.convert(convert(buffer.placeholder))
                    elif buffer is not None:
                        module._buffers[name] = convert(buffer)
        return self

    def type(self, dst_type: DType) -> Self:
        """Convert all parameters and buffers to a dtype, those of integers too."""
        return self._convert(lambda tensor: tensor.to(dst_type))

    def cpu(self) -> Self:
        """Move everything to the CPU."""
        return self.to("cpu")

    def to_empty(self, *, device: Device | str | None, recurse: bool = True) -> Self:
        """Replace parameters and buffers by ones without values on a device."""
        modules = self.modules() if recurse else iter([self])
        with no_grad():
            for module in modules:
                for parameter in module._parameters.values():
                    if parameter is not None:
                        parameter.assign(empty_like(parameter.detach(), device=device))
                for name, buffer in module._buffers.items():
                    if buffer is not None:
                        module._buffers[name] = empty_like(buffer, device=device)
        return self

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self.to(dtypes.float64)

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self.to(dtypes.float32)

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self.to(dtypes.bfloat16)

    # ------------------------------------------------------------------ state

    def state_dict(
        self,
        *,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Return parameters and persistent buffers by path; they share memory with the module.

        With ``keep_vars`` the parameters themselves, else detached tensors. They are added to
        ``destination``, if it is given. What `get_extra_state` returns is under ``_extra_state``.
        """
        return save_state(self, {} if destination is None else destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy a state into parameters and buffers, or take its tensors if ``assign``.

        Raise a `StateError` that lists every missing and unexpected key (if ``strict``) and every
        shape that differs, before anything is changed.
        """
        return load_state(self, state_dict, strict, assign)

    def get_extra_state(self) -> Any:  # noqa: ANN401 - whatever a subclass keeps
        """Return what else belongs into `state_dict`. Subclasses that have something define it."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def set_extra_state(self, state: Any) -> None:  # noqa: ANN401 - as above
        """Take what `get_extra_state` returned."""
        del state
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    # ------------------------------------------------------------------ text

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of the module's text."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = []
        for name, child in self._modules.items():
            text = repr(child).replace("\n", "\n  ")
            children.append(f"({name}): {text}")
        if not children and len(lines) <= 1:
            return f"{type(self).__name__}({extra})"
        return "\n  ".join([f"{type(self).__name__}(", *lines, *children]) + "\n)"


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _converted(tensor: Tensor, targets: list[DType | Device | str]) -> Tensor:
    for target in targets:
        if not isinstance(target, dtypes.DType) or tensor.dtype.kind in "fc":
            tensor = tensor.to(target)
    return tensor
