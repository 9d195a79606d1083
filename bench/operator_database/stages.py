"""One entry of the database through all stages.

Comes in: an `OpInfo` and options. Goes out: an `Outcome`: passed and total for each stage and dtype,
and for each failure its stage, dtype, sample and reason. Stages: forward, method, inplace, backward,
second (gradient of the gradient), jvp, errors, compiled, compiled_backward.
"""

from __future__ import annotations

import functools
import random
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import tensorplay as tp
from bench.operator_database import compare, names, values
from tensorplay.autograd import forward_ad

STAGES = (
    "forward", "method", "inplace", "backward", "second", "jvp", "errors", "compiled",
    "compiled_backward",
)  # fmt: skip
GRADIENT_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.complex64)


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    stages: tuple[str, ...] = STAGES
    dtypes: tuple[str, ...] = ("float32", "float64", "bfloat16", "int64", "bool")
    samples: int = 24
    """For each operator, dtype and stage; spread over what the database offers."""
    compiled_samples: int = 5


@dataclass(slots=True)
class Outcome:
    """What became of an entry."""

    name: str
    variant: str
    absent: bool = False
    counts: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, stage: str, dtype: str, sample: object, reason: str | None) -> None:
        """Add a result."""
        pair = self.counts.setdefault(stage, {}).setdefault(dtype, [0, 0])
        pair[1] += 1
        if reason is None:
            pair[0] += 1
        else:
            self.failures.append(
                {
                    "stage": stage,
                    "dtype": dtype,
                    "sample": str(sample)[:300],
                    "reason": reason[:1000],
                }
            )


@dataclass(slots=True)
class Call:
    """One sample with the result that PyTorch gives; `theirs` takes the sample's tensors."""

    sample: Any
    text: str
    dtype: torch.dtype
    result: Any
    has_ties: bool = False
    """Whether results name other ones of equal elements; then derivatives do not compare."""

    @property
    def args(self) -> tuple[Any, ...]:
        """All positional arguments."""
        return (self.sample.input, *self.sample.args)


class Runner:
    """Runs the stages of one entry."""

    def __init__(self, info: Any, options: Options) -> None:  # an OpInfo
        self.info = info
        self.options = options
        self.outcome = Outcome(info.name, info.variant_test_name)
        self.is_random = names.draws(info)
        self.ours: Any = None

    def run(self) -> Outcome:
        """All stages of all dtypes."""
        found = names.ours(self.info)
        if isinstance(found, names.Absent):
            self.outcome.absent = True
            return self.outcome
        self.ours = found
        wanted = [getattr(torch, name) for name in self.options.dtypes]
        supported = [each for each in wanted if each in self.info.supported_dtypes("cpu")]
        differentiable = [
            each
            for each in wanted
            if each in GRADIENT_DTYPES
            and self.info.supports_autograd
            and each in self.info.supported_backward_dtypes("cpu")
        ]
        compiled: list[Call] = []
        for dtype in supported:
            calls = list(self._calls(dtype, requires_grad=False))
            for call in calls:
                self._plain(call)
            compiled += _spread(calls, self.options.compiled_samples)
        compiled_backward: list[Call] = []
        for dtype in differentiable if not self.is_random else ():
            calls = list(self._calls(dtype, requires_grad=True))
            for call in calls:
                self._derivatives(call)
            if dtype is not torch.float64:
                compiled_backward += _spread(calls, self.options.compiled_samples)
        if "errors" in self.options.stages:
            self._errors()
        if "compiled" in self.options.stages and compiled:
            self._compiled(compiled, self._forward_together, "compiled")
        if "compiled_backward" in self.options.stages and compiled_backward:
            self._compiled(compiled_backward, self._backward_together, "compiled_backward")
        return self.outcome

    # ---- samples

    def _calls(self, dtype: torch.dtype, *, requires_grad: bool) -> Iterator[Call]:
        _seed()
        try:
            samples = list(self.info.sample_inputs("cpu", dtype, requires_grad=requires_grad))
        except Exception as error:  # the database's own trouble
            self.outcome.notes.append(f"no samples of {dtype}: {_short(error)}")
            return
        for sample in _spread(samples, self.options.samples):
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            try:
                _seed()
                result = self.info.op(*_copies(args), **_copies(kwargs))
            except Exception:  # noqa: S112  # PyTorch refuses its own sample: no oracle
                continue
            yield Call(sample, _text(sample), dtype, result)

    def _count(self, stage: str, call: Call, reason: str | None) -> None:
        self.outcome.count(stage, str(call.dtype).removeprefix("torch."), call.text, reason)

    # ---- values

    def _plain(self, call: Call) -> None:
        stages = self.options.stages
        if "forward" in stages:
            self._count("forward", call, self._attempt(self.ours, call, call.result))
        method = self.info.method_variant
        if (
            "method" in stages
            and method is not None
            and isinstance(call.sample.input, torch.Tensor)
        ):
            self._method(call, method)
        inplace = self.info.inplace_variant
        can_write = isinstance(call.sample.input, torch.Tensor) and not call.sample.broadcasts_input
        if "inplace" in stages and inplace is not None and can_write:
            self._inplace(call, inplace)

    def _method(self, call: Call, method: Any) -> None:  # a method of theirs
        name = _name_of(method, self.info.name)
        try:
            theirs = method(*_copies(call.args), **_copies(call.sample.kwargs))
        except Exception:  # this sample is not one of the method
            return
        ours = getattr(tp.Tensor, name, None)
        reason = f"no method {name}" if ours is None else self._attempt(ours, call, theirs)
        self._count("method", call, reason)

    def _inplace(self, call: Call, inplace: Any) -> None:  # a method of theirs
        args, kwargs = _copies(call.args), _copies(call.sample.kwargs)
        try:
            inplace(*args, **kwargs)
        except Exception:  # refused for this sample (dtypes, overlapping memory)
            return
        ours = names.in_place(inplace, self.info.name)
        if ours is None:
            self._count("inplace", call, "no in-place form")
            return

        def write(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            ours(tensor, *args, **kwargs)
            return tensor

        self._count("inplace", call, self._attempt(write, call, args[0]))

    def _attempt(self, function: Callable[..., Any], call: Call, theirs: Any) -> str | None:
        bridge = values.Bridge()
        try:
            args, kwargs = bridge(call.args), bridge(call.sample.kwargs)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = values.back(function(*args, **kwargs))
        except Exception as error:  # whatever goes wrong is the finding
            return _short(error)
        return self._judge(found, theirs, call)

    def _judge(self, found: Any, theirs: Any, call: Call) -> str | None:
        if self.is_random:
            return compare.distribution(
                found,
                theirs,
                uninitialized="empty" in self.info.name,
                by_channel=names.draws_by_channel(self.info),
            )
        tolerance = compare.tolerances(self.info, call.dtype)
        reason = compare.disagreement(found, theirs, tolerance, lambda: self._exact(call))
        if self.info.name == "msort" and compare.has_equal_neighbours(theirs):
            call.has_ties = True
        process = call.sample.output_process_fn_grad
        if reason is None or not reason.startswith("values"):
            return reason
        if compare.same_up_to_ties(found, theirs, call.sample.input):
            call.has_ties = True
            return None
        if process is not None:
            try:  # eigenvectors have a free sign: the database says what of a result is determined
                again = compare.disagreement(process(found), process(theirs), tolerance)
            except Exception:  # it expects their type of result
                return reason
            return again
        return reason

    def _exact(self, call: Call) -> Any:  # results
        whole = not (call.dtype.is_floating_point or call.dtype.is_complex)
        wide = call.sample.transform(_widened_number if whole else _widened)
        _seed()
        return self.info.op(wide.input, *wide.args, **wide.kwargs)

    # ---- derivatives

    def _theirs_within(self, *args: Any, **kwargs: Any) -> Any:  # results
        """Their operator on its domain: the database makes a triangle or a Hermitian matrix of an argument.

        Outside of it one triangle is not read, and what a derivative there is, is a convention.
        """
        return self.info.gradcheck_wrapper(self.info.op, *args, **kwargs)

    def _ours_within(self, *args: Any, **kwargs: Any) -> Any:  # results
        if self.info.name.startswith("masked."):
            return self._ours_under_masks(args, kwargs)
        return names.over_ours(self.info.gradcheck_wrapper)(self.ours, *args, **kwargs)

    def _ours_under_masks(self, args: Any, kwargs: Any) -> tp.Tensor:
        """Our result, 0 where the wrapper of the database makes theirs 0: where all is masked out."""

        @functools.wraps(self.info.op)
        def ones(*args: Any, **kwargs: Any) -> torch.Tensor:
            return torch.ones_like(self.info.op(*args, **kwargs), dtype=torch.bool)

        theirs, named = _mapped((args, kwargs), values.torch_of)
        live = self.info.gradcheck_wrapper(ones, *theirs, **named)
        return tp.where(values.tensor_of(live), self.ours(*args, **kwargs), 0)

    def _derivatives(self, call: Call) -> None:
        stages = self.options.stages
        if "backward" in stages or "second" in stages:
            self._reverse(call)
        if "jvp" in stages and self.info.supports_forward_ad:
            self._forward_mode(call)

    def _process(self, call: Call, result: Any) -> list[Any]:
        process = call.sample.output_process_fn_grad
        found = result if process is None else process(result)
        return [each for each in values.tensors_in(found) if each.requires_grad]

    def _reverse(self, call: Call) -> None:
        args, kwargs = _leaves(call.args), _leaves(call.sample.kwargs)
        inputs = [each for each in _unique((*args, *kwargs.values())) if each.requires_grad]
        try:
            outputs = self._process(call, self._theirs_within(*args, **kwargs))
            if not outputs or not inputs:
                return
            twice = self.info.supports_gradgrad and "second" in self.options.stages
            grads, second = _two_gradients(torch, outputs, inputs, twice=twice)
        except Exception:  # no derivative there
            return
        bridge = values.Bridge(gradients=True)
        try:
            ours_args, ours_kwargs = bridge(args), bridge(kwargs)
            leaves = [bridge.known[id(each)] for each in inputs]
            plain = self._ours_within(*ours_args, **ours_kwargs)
            if self._judge(values.back(plain), call.result, call) is None and call.has_ties:
                return
            outputs = self._process(call, plain)
            found, _ = _two_gradients(tp, outputs, leaves, twice=False)
        except Exception as error:
            self._count("backward", call, _short(error))
            if second is not None:
                self._count("second", call, _short(error))
            return
        tolerance = compare.tolerances(self.info, call.dtype)
        if "backward" in self.options.stages:
            exact = lambda: self._exact_gradients(call)[0]
            reason = compare.disagreement(
                values.back(_filled(found, leaves)), _filled(grads, inputs), tolerance, exact
            )
            self._count("backward", call, reason)
        if second is None:
            return
        try:
            _, found_second = _two_gradients(tp, outputs, leaves, twice=True)
            nothing = [None] * len(leaves)  # as where no gradient depends on anything
            ours_second = values.back(_filled(found_second or nothing, leaves))
        except Exception as error:
            self._count("second", call, _short(error))
            return
        exact = lambda: self._exact_gradients(call)[1]
        self._count(
            "second",
            call,
            compare.disagreement(ours_second, _filled(second, inputs), tolerance, exact),
        )

    def _exact_gradients(self, call: Call) -> tuple[Any, Any]:
        wide = call.sample.transform(_widened_leaf)
        args = (wide.input, *wide.args)
        inputs = [each for each in _unique((*args, *wide.kwargs.values())) if each.requires_grad]
        outputs = self._process(call, self._theirs_within(*args, **wide.kwargs))
        twice = self.info.supports_gradgrad and "second" in self.options.stages
        grads, second = _two_gradients(torch, outputs, inputs, twice=twice, rounded=call.dtype)
        return _filled(grads, inputs), None if second is None else _filled(second, inputs)

    def _forward_mode(self, call: Call) -> None:
        args, kwargs = _leaves(call.args), _leaves(call.sample.kwargs)
        inputs = [each for each in _unique((*args, *kwargs.values())) if each.requires_grad]
        if not inputs:
            return
        tangents = {id(each): _random_like(each, 7 + k) for k, each in enumerate(inputs)}
        try:
            expected, shapes = self._tangents(call, args, kwargs, inputs)
        except Exception:  # no forward mode there
            return
        if all(each is None for each in expected):
            return
        bridge = values.Bridge()
        try:
            ours_args, ours_kwargs = bridge(args), bridge(kwargs)
            with forward_ad.dual_level(), tp.no_grad():
                ours_dual = {
                    id(bridge.known[id(each)]): forward_ad.make_dual(
                        bridge.known[id(each)], values.tensor_of(tangents[id(each)])
                    )
                    for each in inputs
                }
                change = lambda each: ours_dual.get(id(each), each)
                result = self._ours_within(
                    *_mapped(ours_args, change), **_mapped(ours_kwargs, change)
                )
                if self._judge(values.back(result), call.result, call) is None and call.has_ties:
                    return
                process = call.sample.output_process_fn_grad
                outputs = values.tensors_in(result if process is None else process(result))
                found = [forward_ad.unpack_dual(each).tangent for each in outputs]
                found = [None if each is None else values.torch_of(each) for each in found]
        except Exception as error:
            self._count("jvp", call, _short(error))
            return
        filled = lambda parts: tuple(
            torch.zeros_like(like) if each is None else each
            for each, like in zip(parts, shapes, strict=False)
        )
        tolerance = compare.tolerances(self.info, call.dtype)
        reason = compare.disagreement(
            filled(found), filled(expected), tolerance, lambda: self._exact_tangents(call)
        )
        self._count("jvp", call, reason)

    def _tangents(
        self,
        call: Call,
        args: Any,
        kwargs: Any,
        inputs: Sequence[torch.Tensor],
        rounded: torch.dtype | None = None,
    ) -> tuple[list[Any], list[torch.Tensor]]:
        """Tangents of their results, and the results."""
        from torch.autograd import forward_ad as theirs_ad

        with theirs_ad.dual_level(), torch.no_grad():
            dual = {
                id(each): theirs_ad.make_dual(each.detach(), _random_like(each, 7 + k, rounded))
                for k, each in enumerate(inputs)
            }
            swap = lambda each: dual.get(id(each), each)
            result = self._theirs_within(*_mapped(args, swap), **_mapped(kwargs, swap))
            process = call.sample.output_process_fn_grad
            outputs = values.tensors_in(result if process is None else process(result))
            expected = [theirs_ad.unpack_dual(each).tangent for each in outputs]
            return expected, [each.detach() for each in outputs]

    def _exact_tangents(self, call: Call) -> tuple[Any, ...]:
        wide = call.sample.transform(_widened_leaf)
        args = (wide.input, *wide.args)
        inputs = [each for each in _unique((*args, *wide.kwargs.values())) if each.requires_grad]
        expected, shapes = self._tangents(call, args, wide.kwargs, inputs, call.dtype)
        return tuple(
            torch.zeros_like(like) if each is None else each
            for each, like in zip(expected, shapes, strict=True)
        )

    # ---- errors

    def _errors(self) -> None:
        if self.info.error_inputs_func is None:
            return
        _seed()
        try:
            found = list(self.info.error_inputs("cpu"))
        except Exception as error:
            self.outcome.notes.append(f"no error inputs: {_short(error)}")
            return
        for each in found:
            sample = each.sample_input
            try:
                self.info.op(sample.input, *sample.args, **sample.kwargs)
            except Exception as error:
                theirs = error
            else:
                continue
            bridge = values.Bridge()
            try:
                args = bridge((sample.input, *sample.args))
                kwargs = bridge(sample.kwargs)
            except Exception:  # noqa: S112  # a device or a layout that there is not here
                continue
            reason: str | None = f"not refused: {_short(theirs)}"
            try:
                self.ours(*args, **kwargs)
            except (ValueError, TypeError, IndexError, RuntimeError, OverflowError) as error:
                reason = None if str(error) else "refused without a message"
            except Exception as error:
                reason = _short(error)
            self.outcome.count("errors", "", _text(sample), reason)

    # ---- compiled

    def _compiled(
        self,
        calls: Sequence[Call],
        run: Callable[[Sequence[Call]], list[str | None]],
        stage: str,
    ) -> None:
        """All calls in one compiled function; where one disagrees, each in its own."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            reasons = run(calls)
            if len(calls) > 1 and any(each is not None for each in reasons):
                reasons = [run([call])[0] for call in calls]
        for call, reason in zip(calls, reasons, strict=True):
            self._count(stage, call, reason)
        texts = {str(each.message)[:1000] for each in caught if "interpreted" in str(each.message)}
        self.outcome.notes += [f"{stage}: {text}" for text in sorted(texts)]

    def _compiled_results(
        self,
        function: Callable[..., Any],
        calls: Sequence[Call],
        bridge: values.Bridge,
    ) -> Any:
        def together(calls: Any) -> Any:
            return [function(*args, **kwargs) for args, kwargs in calls]

        tp.compiler.reset()
        inputs = [(bridge(call.args), bridge(call.sample.kwargs)) for call in calls]
        return tp.compile(together)(inputs)

    def _forward_together(self, calls: Sequence[Call]) -> list[str | None]:
        try:
            found = self._compiled_results(self.ours, calls, values.Bridge())
            return [
                self._judge(values.back(each), call.result, call)
                for each, call in zip(found, calls, strict=True)
            ]
        except Exception as error:
            return [_short(error)] * len(calls)

    def _backward_together(self, calls: Sequence[Call]) -> list[str | None]:
        reasons: list[str | None] = []
        bridge = values.Bridge(gradients=True)
        plans: list[tuple[Any, list[torch.Tensor], Any]] = []
        for call in calls:
            sample = call.sample
            inputs = [each for each in _unique((*call.args, *sample.kwargs.values()))
                      if each.requires_grad]  # fmt: skip
            try:
                outputs = self._process(call, self._theirs_within(*call.args, **sample.kwargs))
                grads = None
                if inputs and outputs:
                    grads, _ = _two_gradients(torch, outputs, inputs, twice=False)
            except Exception:
                grads = None
            plans.append((call, inputs, grads))
        try:
            results = self._compiled_results(self._ours_within, calls, bridge)
        except Exception as error:
            return [_short(error)] * len(calls)
        for (call, inputs, grads), result in zip(plans, results, strict=True):
            same = grads is not None and self._judge(values.back(result), call.result, call) is None
            if grads is None or (same and call.has_ties):
                reasons.append(None)
                continue
            leaves = [bridge.known[id(each)] for each in inputs]
            try:
                outputs = self._process(call, result)
                found, _ = _two_gradients(tp, outputs, leaves, twice=False)
                reason = compare.disagreement(
                    values.back(_filled(found, leaves)),
                    _filled(grads, inputs),
                    compare.tolerances(self.info, call.dtype),
                    lambda call=call: self._exact_gradients(call)[0],
                )
            except Exception as error:
                reason = _short(error)
            reasons.append(reason)
        return reasons


# ---- gradients, theirs and ours by the same text


def _two_gradients(
    library: Any,  # torch or tensorplay
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    *,
    twice: bool,
    rounded: torch.dtype | None = None,
) -> tuple[list[Any], list[Any] | None]:
    """Gradients for a fixed cotangent, then those of their weighted sum; None where there is none.

    The weights go by the place of the gradient: one library may know of a gradient that it depends
    on nothing where the other computes zeros.
    """
    cotangents = [_random_like(each, 100 + k, rounded) for k, each in enumerate(outputs)]
    grads = library.autograd.grad(
        outputs, inputs, cotangents, create_graph=twice, retain_graph=True, allow_unused=True
    )
    if not twice:
        return list(grads), None
    live = {k: each for k, each in enumerate(grads) if each is not None and each.requires_grad}
    if not live:
        return list(grads), None
    second = library.autograd.grad(
        list(live.values()), inputs, [_random_like(each, 200 + k, rounded) for k, each in live.items()],
        allow_unused=True, retain_graph=True,
    )  # fmt: skip
    return list(grads), list(second)


def _random_like(tensor: Any, seed: int, rounded: torch.dtype | None = None) -> Any:
    """A drawn tensor of either library; of a reference, with the numbers that the narrower dtype got."""
    generator = np.random.default_rng(seed)
    drawn = torch.from_numpy(np.asarray(generator.uniform(-1, 1, tuple(tensor.shape))))
    if rounded is not None:
        drawn = drawn.to(rounded.to_real()).to(torch.float64)
    if isinstance(tensor, torch.Tensor):
        return drawn.to(tensor.dtype)
    return values.tensor_of(drawn.to(values.TORCH_DTYPES[tensor.dtype]))


def _filled(grads: Sequence[Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """A missing gradient is zero."""
    return tuple(
        (torch.zeros_like(like) if isinstance(like, torch.Tensor) else tp.zeros_like(like))
        if each is None
        else each.detach()
        for each, like in zip(grads, inputs, strict=False)
    )


# ---- arguments


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    """At most `count` of the items, evenly spread; all for 0."""
    if not count or len(items) <= count:
        return list(items)
    return [items[k * len(items) // count] for k in range(count)]


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, (torch.Tensor, tp.Tensor)):
        return function(value)
    if isinstance(value, list):
        return [_mapped(each, function) for each in value]
    if type(value) is tuple:
        return tuple(_mapped(each, function) for each in value)
    if isinstance(value, dict):
        return {key: _mapped(each, function) for key, each in value.items()}
    return value


def _copies(value: Any) -> Any:
    """Arguments with fresh tensors of the same strides, so that a call changes nothing."""
    return _mapped(value, _copy)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.strided:
        return tensor
    tensor = tensor.detach()
    place = tensor.storage_offset()
    if not place:
        return tensor.clone()
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    whole = tensor.as_strided((count,), (1,), 0).clone()
    return whole.as_strided(tensor.shape, tensor.stride(), place)


def _leaves(value: Any) -> Any:
    """Arguments with tensors that are leaves, one for one."""
    known: dict[int, torch.Tensor] = {}

    def leaf(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in known:
            known[id(tensor)] = tensor.detach().requires_grad_(tensor.requires_grad)
        return known[id(tensor)]

    return _mapped(value, leaf)


def _unique(value: Any) -> list[torch.Tensor]:
    found: dict[int, torch.Tensor] = {}
    for each in values.tensors_in(value):
        found.setdefault(id(each), each)
    return list(found.values())


def _widened(value: Any) -> Any:
    wide = {torch.float32: torch.float64, torch.bfloat16: torch.float64, torch.float16: torch.float64,
            torch.complex64: torch.complex128}  # fmt: skip
    if isinstance(value, torch.Tensor) and value.dtype in wide:
        return value.detach().to(wide[value.dtype])
    if isinstance(value, torch.dtype):
        return wide.get(value, value)
    return value


def _widened_number(value: Any) -> Any:
    """Also integers, for a floating result of them: PyTorch converts them to the default dtype first."""
    if isinstance(value, torch.Tensor) and not (value.is_floating_point() or value.is_complex()):
        return value.to(torch.float64)
    return _widened(value)


def _widened_leaf(value: Any) -> Any:
    found = _widened(value)
    if isinstance(value, torch.Tensor) and value.requires_grad:
        return found.detach().requires_grad_()
    return found


def _name_of(function: Any, default: str) -> str:
    found: str = getattr(function, "__name__", default)
    return default if found.startswith("<") else found


def _seed() -> None:
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  # the database draws from it
    random.seed(0)


def _text(sample: Any) -> str:  # a sample
    def show(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            plain = "" if value.is_contiguous() else f" strides {tuple(value.stride())}"
            data = f"={value.tolist()}" if 0 < value.numel() <= 4 else ""
            return f"{dtype}{list(value.shape)}{plain}{data}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(show(each) for each in value) + "]"
        return repr(value)[:80]

    parts = [show(each) for each in (sample.input, *sample.args)]
    parts += [f"{name}={show(each)}" for name, each in sample.kwargs.items()]
    return ", ".join(parts)


def _short(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {str(error)[:900]}{place}"
