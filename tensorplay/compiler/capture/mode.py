"""`CaptureMode`: runs a function once on tensors without data, and records its public calls.

Arguments are replaced by stand-ins: tensors of the same class, shape, dtype and strides, without
data. A free tensor (global, closure, parameter, buffer) gets its stand-in when a call first meets
it: it is *lifted* to an input. So capture costs no tensor work, unless the program asks for data
(`bool(x)`, `x.item()`): then the calls so far are run on copies of the real inputs, and from there on
each call as it is recorded. The answer becomes a *data gate*.

[Note: what a call may be needed for] A call is needed for more than its value when it writes into a
tensor, draws random numbers, or switches gradient recording, for a tensor or altogether. Such nodes are in `effects`, with the
memory that they write.
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tensorplay import dispatch
from tensorplay._C import Storage, TensorBase
from tensorplay.autograd import backward
from tensorplay.autograd.inplace import InPlaceWrite
from tensorplay.autograd.tensor_state import attach, gradient_edge
from tensorplay.compiler.capture.captured_graph import (
    Argument,
    CapturedInput,
    Gate,
    Held,
    InputSource,
    Lifted,
)
from tensorplay.compiler.capture.places import Place
from tensorplay.compiler.capture.random_calls import draws_random_numbers
from tensorplay.compiler.capture.sampling import Sampling
from tensorplay.core.errors import CaptureError, DataNeededError
from tensorplay.core.source_line import user_line
from tensorplay.dispatch import FunctionMode, OperatorMode, Target
from tensorplay.graph import Graph, Node, SourceLine, map_leaves
from tensorplay.graph.node import LEAVES
from tensorplay.ops.registry import Operator
from tensorplay.ops.signature import Values
from tensorplay.tensor import Tensor

UNREADABLE: Final = frozenset({"data_ptr", "pickling", "__dlpack__"})
REFUSED: Final[Mapping[Target, str]] = {
    backward: "backward() adds to .grad of tensors outside of it: call autograd.grad and return the "
    "gradients, or call backward() on what the compiled function returns",
    "register_hook": "a hook on a tensor inside of it would run once, now: register hooks on its "
    "arguments or on what it returns, or write an autograd.Function",
    "register_post_accumulate_grad_hook": "a hook on a tensor inside of it would be set once, now: "
    "register hooks on its arguments",
    "retain_grad": "the tensors inside of it are gone when a backward pass runs: call retain_grad() on "
    "what it returns",
}
"""Public calls that can't become part of a graph, and what to do instead."""


class _GivenTensor(NamedTuple):
    """A tensor among the arguments: what to call it, the caller's, and what the function gets."""

    name: str
    tensor: Tensor
    stand_in: Tensor


class CaptureMode(FunctionMode):
    """The state of one capture. `places` tells where free tensors can be found again."""

    def __init__(self, places: Mapping[int, Place]) -> None:
        self.graph = Graph()
        self.inputs: list[CapturedInput] = []
        self.gates: list[Gate] = []
        self.effects: dict[Node, frozenset[Storage]] = {}
        self.memory: dict[Node, Storage] = {}
        self._places = places
        self._arguments: dict[int, _GivenTensor] = {}
        self._nodes: dict[int, Node] = {}
        self._stand_ins: dict[int, Tensor] = {}
        self._originals: dict[int, Tensor] = {}
        self._storages: dict[int, Storage] = {}
        self._kept: list[object] = []
        self._grad_mode = dispatch.is_grad_enabled()
        self._sampling: Sampling | None = None

    # ------------------------------------------------------------------ inputs

    def argument(self, index: int, tensor: Tensor, name: str) -> Tensor:
        """Add an input for argument number `index` and return its stand-in."""
        stand_in = self._add_input(tensor, name, Argument(index))
        self._arguments[id(stand_in)] = _GivenTensor(name, tensor, stand_in)
        return stand_in

    def stand_in(self, tensor: Tensor) -> Tensor:
        """Return a recorded tensor itself; for any other, the input that it is lifted to."""
        if id(tensor) in self._nodes:
            return tensor
        known = self._stand_ins.get(id(tensor))
        if known is not None:
            return known
        if tensor.array is None:
            raise capture_error(
                f"a tensor of shape {tuple(tensor.shape)} without data is used that was kept from "
                "another capture, or lives on the meta device: return tensors from the function "
                "instead of keeping them",
                user_line(),
            )
        place = self._places.get(id(tensor))
        source = Held(tensor) if place is None else Lifted(place)
        stand_in = self._add_input(tensor, "tensor" if place is None else place.name, source)
        self._stand_ins[id(tensor)] = stand_in
        self._originals[id(stand_in)] = tensor
        if self._sampling is not None:
            self._sampling.add_inputs(self.inputs[-1:])
        return stand_in

    def node_of(self, tensor: Tensor) -> Node:
        """Return the node of a tensor, lifting it if it is free."""
        return self._nodes[id(self.stand_in(tensor))]

    def is_recorded(self, value: object) -> bool:
        """Whether a value is a tensor of this capture, without data."""
        return id(value) in self._nodes

    def _add_input(self, tensor: Tensor, name: str, source: InputSource) -> Tensor:
        meta = tensor.tensor_meta
        stand_in: Tensor = TensorBase.__new__(type(tensor))
        stand_in.meta, stand_in.dtype = meta, tensor.dtype
        stand_in.storage = self._storages.setdefault(id(tensor.storage), Storage())
        stand_in.requires_grad = tensor.requires_grad
        if tensor.grad_fn is not None:
            node = InPlaceWrite((gradient_edge(_leaf_like(stand_in)),))
            node.describe_outputs((stand_in,))
            attach(stand_in, node, 0)
        place = self.inputs[-1].node if self.inputs else self.graph.end
        with self.graph.inserting_after(place):
            placeholder = self.graph.placeholder(name)
        placeholder.meta["val"] = meta
        self.inputs.append(CapturedInput(placeholder, source, tensor))
        self._note(placeholder, stand_in)
        return stand_in

    # ------------------------------------------------------------------ calls

    def call(self, target: Target, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401  # whatever the call gives
        """Record a public call."""
        line = user_line()
        args = tuple(
            arg if arg.__class__ in LEAVES else map_leaves(arg, self._to_stand_in) for arg in args
        )
        kwargs = {key: map_leaves(arg, self._to_stand_in) for key, arg in kwargs.items()}
        memories = _memories_in((args, kwargs))
        versions = [memory.version for memory in memories]
        self._follow_grad_mode()
        problem = REFUSED.get(target)
        if problem is not None:
            raise capture_error(problem, line)
        draws = draws_random_numbers(target)
        try:
            if memories and not draws:
                result = _run(target, args, kwargs)
            else:
                with MetadataOnly():
                    result = _without_data(_run(target, args, kwargs))
        except DataNeededError as error:
            raise capture_error(str(error), line) from error
        node = self._append(target, args, kwargs, line)
        written = frozenset(
            memory
            for memory, version in zip(memories, versions, strict=True)
            if memory.version != version
        )
        if written or draws or target == "requires_grad_":
            self.effects[node] = written
        if self._sampling is not None:
            self._sampling.run_call(node)
        return self._register(node, result)

    def _append(
        self,
        target: Target,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        line: SourceLine | None,
    ) -> Node:
        node_args = tuple(
            arg if arg.__class__ in LEAVES else map_leaves(arg, self._to_node) for arg in args
        )
        node_kwargs = {key: map_leaves(arg, self._to_node) for key, arg in kwargs.items()}
        if isinstance(target, str):
            node = self.graph.call_method(target, node_args, node_kwargs)
        else:
            node = self.graph.call_function(target, node_args, node_kwargs)
        if line is not None:
            node.meta["stack"] = line
        return node

    def _register(self, node: Node, result: object) -> object:
        """Note what a call returned, and return it with free tensors as themselves."""
        if isinstance(result, Tensor):
            original = self._originals.get(id(result))
            if original is not None:
                return original
            if id(result) not in self._nodes:
                node.meta["val"] = result.tensor_meta
                self._note(node, result)
            return result
        if isinstance(result, (tuple, list)) and any(map(_holds_tensors, result)):
            node.meta["val"] = map_leaves(
                tuple(result),
                lambda each: each.tensor_meta if isinstance(each, Tensor) else each,
            )
            for index, each in enumerate(result):
                if _holds_tensors(each) and id(each) not in self._nodes:
                    item = self.graph.call_function(python_operator.getitem, (node, index))
                    if self._sampling is not None:
                        self._sampling.run_call(item)
                    self._register(item, each)
        return result

    def _note(self, node: Node, tensor: Tensor) -> None:
        self._nodes[id(tensor)] = node
        self._kept.append(tensor)
        self.memory[node] = tensor.untyped_storage()

    def _to_stand_in(self, value: object) -> object:
        return self.stand_in(value) if isinstance(value, Tensor) else value

    def _to_node(self, value: object) -> object:
        return self._nodes[id(value)] if isinstance(value, Tensor) else value

    def _follow_grad_mode(self) -> None:
        """Record that the program switched gradient recording since the last call."""
        enabled = dispatch.is_grad_enabled()
        if enabled != self._grad_mode:
            self._grad_mode = enabled
            node = self.graph.call_function(dispatch.push_grad_mode, (enabled,))
            self.effects[node] = frozenset()
            if self._sampling is not None:
                self._sampling.run_call(node)

    # ------------------------------------------------------------------ data

    def check_grad(self, tensor: Tensor, *, is_assigned: bool) -> None:
        """Refuse to have `.grad` of an argument read, because the call doesn't pass it, or any assigned."""
        argument = self._arguments.get(id(tensor))
        if is_assigned:
            raise capture_error(
                f".grad of {'a tensor' if argument is None else argument.name} is assigned, which would happen once, now: assign it, or "
                "call zero_grad(), outside of the compiled function",
                user_line(),
            )
        if argument is not None:
            raise capture_error(
                f"{argument.name}.grad is read, but the gradient of an argument isn't passed; pass it",
                user_line(),
            )

    def check_missing(self, tensor: Tensor, name: str) -> None:
        """Refuse to have a user's attribute of an argument read: only data, not attributes, is passed and guarded."""
        argument = self._arguments.get(id(tensor))
        if argument is not None and name in vars(argument.tensor):
            raise capture_error(
                f"{argument.name}.{name} is read, but attributes that were set on a tensor aren't passed "
                "with it; pass the value",
                user_line(),
            )

    def check_attributes(self) -> None:
        """Refuse that attributes were set on arguments: the caller's tensors would not get them."""
        for argument in self._arguments.values():
            for name in vars(argument.stand_in):
                raise capture_error(
                    f"{argument.name}.{name} is assigned, which would happen once, now; return the value",
                    None,
                )

    def read_data(self, tensor: Tensor, what: str) -> np.ndarray[Any, np.dtype[Any]]:
        """Answer a question about data from a sample, and keep the answer as a gate."""
        line = user_line()
        if what in UNREADABLE:
            raise capture_error(f"{what} has no meaning while a function is captured", line)
        stand_in = self.stand_in(tensor)
        if self._sampling is None:
            self._sampling = Sampling(self.graph, self.inputs)
        node = self._append("clone", (stand_in,), {}, line)
        node.meta["val"] = stand_in.tensor_meta.contiguous()
        self._sampling.run_call(node)
        array = self._sampling.value(node).array
        if array is None:
            raise capture_error(f"{what} needs data of a tensor on the meta device", line)
        self.gates.append(Gate(node, what, answer(array, what)))
        view = array.view()
        view.flags.writeable = False
        return view


def answer(array: np.ndarray[Any, np.dtype[Any]], what: str) -> object:
    """Return what a program learns from data: the truth or the value of one element, else all bits."""
    if array.size != 1 or what not in {"bool()", "item()"}:
        return array.dtype.str, array.shape, array.tobytes()
    element = array.reshape(())
    return bool(element != 0) if what == "bool()" else element.tobytes()


def capture_error(problem: str, line: SourceLine | None) -> CaptureError:
    """Return an error that names the user's line."""
    where = "" if line is None else f"\n  {line.location}"
    return CaptureError(f"the function can't be captured: {problem}{where}")


def _holds_tensors(value: object) -> bool:
    """Whether a part of a result is a tensor, or a sequence with one."""
    if isinstance(value, (tuple, list)):
        return any(map(_holds_tensors, value))
    return isinstance(value, Tensor)


class MetadataOnly(OperatorMode):
    """Lets operators that make tensors from nothing make them without data."""

    def call_values(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """Run the meta rule where there is no tensor argument."""
        if operator.tensors(values):
            return dispatch.call(operator, values)
        dispatch.creation_device(operator, values)
        found = operator.kind.meta(operator, values)
        if isinstance(found, tuple):
            return tuple(map(dispatch.tensor_of_meta, found))
        return dispatch.tensor_of_meta(found)


def _without_data(result: Any) -> Any:  # noqa: ANN401  # what a public function returns
    """Return a new tensor without its data, so that all that is captured has none."""
    if not isinstance(result, Tensor) or result.array is None:
        return result
    twin = dispatch.tensor_of_meta(result.tensor_meta)
    twin.requires_grad = result.requires_grad
    return twin


def _run(target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401  # whatever the call gives
    if isinstance(target, str):
        return getattr(args[0], target)(*args[1:], **kwargs)
    return target(*args, **kwargs)


def _leaf_like(tensor: Tensor) -> Tensor:
    leaf = dispatch.tensor_of_meta(tensor.tensor_meta)
    leaf.requires_grad = True
    return leaf


def _memories_in(value: object) -> list[Storage]:
    """Return the storages of the tensors nested in arguments."""
    found: list[Storage] = []

    def visit(leaf: object) -> object:
        if isinstance(leaf, Tensor):
            found.append(leaf.untyped_storage())
        return leaf

    map_leaves(value, visit)
    return found
