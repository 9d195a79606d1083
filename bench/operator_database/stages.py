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
from bench.operator_database.arguments import (
    as_leaves,
    copies,
    inputs_of,
    mapped,
    widened,
    widened_leaf,
    widened_number,
)
from bench.operator_database.gradients import filled, random_like, two_gradients
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
                result = self.info.op(*copies(args), **copies(kwargs))
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
            theirs = method(*copies(call.args), **copies(call.sample.kwargs))
        except Exception:  # this sample is not one of the method
            return
        ours = getattr(tp.Tensor, name, None)
        reason = f"no method {name}" if ours is None else self._attempt(ours, call, theirs)
        self._count("method", call, reason)

    def _inplace(self, call: Call, inplace: Any) -> None:  # a method of theirs
        args, kwargs = copies(call.args), copies(call.sample.kwargs)
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
        wide = call.sample.transform(widened_number if whole else widened)
        _seed()
        return self.info.op(wide.input, *wide.args, **wide.kwargs)

    # ---- derivatives

    def _theirs_within(self, *args: Any, **kwargs: Any) -> Any:  # results
        """Their operator on its domain: the database makes a triangle or a Hermitian matrix of an argument.

        Outside of it one triangle is not read, and what a derivative there is, is a convention.
        """
        return self.info.gradcheck_wrapper(self.info.op, *args, **kwargs)

    def _ours_within(self, *args: Any, **kwargs: Any) -> Any:  # results
        return self._within_ours()(*args, **kwargs)

    def _within_ours(self) -> Callable[..., Any]:
        """Our function on the declared domain; without `self`, through which a capture would have to look."""
        if self.info.name.startswith("masked."):
            return lambda *args, **kwargs: self._ours_under_masks(args, kwargs)
        return functools.partial(names.over_ours(self.info.gradcheck_wrapper), self.ours)

    def _ours_under_masks(self, args: Any, kwargs: Any) -> tp.Tensor:
        """Our result, 0 where the wrapper of the database makes theirs 0: where all is masked out."""

        @functools.wraps(self.info.op)
        def ones(*args: Any, **kwargs: Any) -> torch.Tensor:
            return torch.ones_like(self.info.op(*args, **kwargs), dtype=torch.bool)

        theirs, named = mapped((args, kwargs), values.torch_of)
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
        args, kwargs = as_leaves(call.args), as_leaves(call.sample.kwargs)
        inputs = inputs_of(args, kwargs)
        try:
            outputs = self._process(call, self._theirs_within(*args, **kwargs))
            if not outputs or not inputs:
                return
            twice = self.info.supports_gradgrad and "second" in self.options.stages
            grads, second = two_gradients(torch, outputs, inputs, twice=twice)
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
            found, _ = two_gradients(tp, outputs, leaves, twice=False)
        except Exception as error:
            self._count("backward", call, _short(error))
            if second is not None:
                self._count("second", call, _short(error))
            return
        tolerance = compare.tolerances(self.info, call.dtype)
        if "backward" in self.options.stages:
            exact = lambda: self._exact_gradients(call)[0]
            reason = compare.disagreement(
                values.back(filled(found, leaves)), filled(grads, inputs), tolerance, exact
            )
            self._count("backward", call, reason)
        if second is None:
            return
        try:
            _, found_second = two_gradients(tp, outputs, leaves, twice=True)
            nothing = [None] * len(leaves)  # as where no gradient depends on anything
            ours_second = values.back(filled(found_second or nothing, leaves))
        except Exception as error:
            self._count("second", call, _short(error))
            return
        exact = lambda: self._exact_gradients(call)[1]
        self._count(
            "second",
            call,
            compare.disagreement(ours_second, filled(second, inputs), tolerance, exact),
        )

    def _exact_gradients(self, call: Call) -> tuple[Any, Any]:
        wide = call.sample.transform(widened_leaf)
        args = (wide.input, *wide.args)
        inputs = inputs_of(args, wide.kwargs)
        outputs = self._process(call, self._theirs_within(*args, **wide.kwargs))
        twice = self.info.supports_gradgrad and "second" in self.options.stages
        grads, second = two_gradients(torch, outputs, inputs, twice=twice, rounded=call.dtype)
        return filled(grads, inputs), None if second is None else filled(second, inputs)

    def _forward_mode(self, call: Call) -> None:
        args, kwargs = as_leaves(call.args), as_leaves(call.sample.kwargs)
        inputs = inputs_of(args, kwargs)
        if not inputs:
            return
        tangents = {id(each): random_like(each, 7 + k) for k, each in enumerate(inputs)}
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
                    *mapped(ours_args, change), **mapped(ours_kwargs, change)
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
                id(each): theirs_ad.make_dual(each.detach(), random_like(each, 7 + k, rounded))
                for k, each in enumerate(inputs)
            }
            swap = lambda each: dual.get(id(each), each)
            result = self._theirs_within(*mapped(args, swap), **mapped(kwargs, swap))
            process = call.sample.output_process_fn_grad
            outputs = values.tensors_in(result if process is None else process(result))
            expected = [theirs_ad.unpack_dual(each).tangent for each in outputs]
            return expected, [each.detach() for each in outputs]

    def _exact_tangents(self, call: Call) -> tuple[Any, ...]:
        wide = call.sample.transform(widened_leaf)
        args = (wide.input, *wide.args)
        inputs = inputs_of(args, wide.kwargs)
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
            inputs = inputs_of(call.args, sample.kwargs)
            try:
                outputs = self._process(call, self._theirs_within(*call.args, **sample.kwargs))
                grads = None
                if inputs and outputs:
                    grads, _ = two_gradients(torch, outputs, inputs, twice=False)
            except Exception:
                grads = None
            plans.append((call, inputs, grads))
        try:
            results = self._compiled_results(self._within_ours(), calls, bridge)
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
                found, _ = two_gradients(tp, outputs, leaves, twice=False)
                reason = compare.disagreement(
                    values.back(filled(found, leaves)),
                    filled(grads, inputs),
                    compare.tolerances(self.info, call.dtype),
                    lambda call=call: self._exact_gradients(call)[0],
                )
            except Exception as error:
                reason = _short(error)
            reasons.append(reason)
        return reasons


# ---- samples and texts


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    """At most `count` of the items, evenly spread; all for 0."""
    if not count or len(items) <= count:
        return list(items)
    return [items[k * len(items) // count] for k in range(count)]


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
