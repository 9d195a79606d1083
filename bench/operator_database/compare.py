"""Whether two results agree: one shape and dtype, and elements within the operator's own tolerances.

Where they do not, the result in float64 decides: we agree when we are as near to it as PyTorch is.
Two programs that round differently are both right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

Reference = Callable[[], Any]
"""Computes the result in float64, or raises."""


def tolerances(info: Any, dtype: torch.dtype) -> dict[str, float]:  # an OpInfo
    """The widest tolerance that the entry's own tests use, never below the default of the dtype."""
    low = torch.complex64 if dtype is torch.complex64 else dtype
    default = {torch.float32: (1.3e-6, 1e-5), torch.complex64: (1.3e-6, 1e-5),
               torch.bfloat16: (1.6e-2, 1e-5), torch.float16: (1e-3, 1e-5)}  # fmt: skip
    rtol, atol = default.get(low, (1e-7, 1e-7))
    for each in info.decorators:
        for decorator in getattr(each, "decorators", (each,)):
            found = getattr(decorator, "d", None)
            if isinstance(found, dict) and dtype in found:
                tolerance = found[dtype]
                rtol = max(rtol, getattr(tolerance, "rtol", 0.0))
                atol = max(atol, getattr(tolerance, "atol", 0.0))
    return {"rtol": rtol, "atol": atol}


def disagreement(
    ours: Any,  # results in PyTorch's types
    theirs: Any,
    tolerance: dict[str, float],
    reference: Reference | None = None,
) -> str | None:
    """Why two results differ; None where they agree."""
    found = _structure(ours, theirs, tolerance, None, "")
    if found is None or reference is None or not found.startswith("values"):
        return found
    try:
        exact = reference()
        return _structure(ours, theirs, tolerance, exact, "")
    except Exception:  # there is no float64 form of the call
        return found


def _structure(
    ours: Any,
    theirs: Any,
    tolerance: dict[str, float],
    exact: Any,
    where: str,
) -> str | None:
    if isinstance(theirs, (tuple, list)):
        if not isinstance(ours, (tuple, list)):
            return f"structure{where}: a sequence of {len(theirs)}, ours is {type(ours).__name__}"
        if len(ours) != len(theirs):
            return f"structure{where}: {len(theirs)} results, ours {len(ours)}"
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            part = exact[k] if isinstance(exact, (tuple, list)) else None
            found = _structure(a, b, tolerance, part, f"{where}[{k}]")
            if found is not None:
                return found
        return None
    if isinstance(theirs, torch.Tensor):
        if not isinstance(ours, torch.Tensor):
            return f"structure{where}: a tensor, ours is {type(ours).__name__}"
        return _tensors(ours, theirs.detach(), tolerance, exact, where)
    if isinstance(theirs, (bool, int, float, complex)):
        a, b = torch.as_tensor(ours), torch.as_tensor(theirs)
        return _tensors(a, b, tolerance, None, where)
    return None if theirs is None or ours == theirs else f"object{where}: {theirs!r}, ours {ours!r}"


def _tensors(
    ours: torch.Tensor,
    theirs: torch.Tensor,
    tolerance: dict[str, float],
    exact: Any,
    where: str,
) -> str | None:
    if ours.shape != theirs.shape:
        return f"shape{where}: {tuple(theirs.shape)}, ours {tuple(ours.shape)}"
    if ours.dtype != theirs.dtype:
        return f"dtype{where}: {theirs.dtype}, ours {ours.dtype}"
    theirs = theirs.resolve_conj().resolve_neg()
    rounded = theirs.is_floating_point() or theirs.is_complex()
    limits = tolerance if rounded else {"rtol": 0.0, "atol": 0.0}
    if theirs.dtype in {torch.uint16, torch.uint32, torch.uint64}:
        ours, theirs = ours.to(torch.int64), theirs.to(torch.int64)
    close = torch.isclose(ours, theirs, equal_nan=True, **limits)
    if bool(close.all()):
        return None
    if rounded and isinstance(exact, torch.Tensor) and _as_near(ours, theirs, exact, close):
        return None
    place = tuple(int(each) for each in (~close).nonzero()[0])
    count = int((~close).sum())
    return (
        f"values{where}: {count} of {close.numel()} differ, first at {place}: "
        f"{theirs[place].item()!r}, ours {ours[place].item()!r}"
    )


def _as_near(
    ours: torch.Tensor, theirs: torch.Tensor, exact: torch.Tensor, close: torch.Tensor
) -> bool:
    """Whether our error is at most twice theirs, or a few roundings, where the two differ."""
    if exact.shape != ours.shape:
        return False
    wide = exact.detach().to(torch.complex128 if exact.is_complex() else torch.float64)
    epsilon = torch.finfo(theirs.dtype).eps
    error = (ours.to(wide.dtype) - wide).abs()
    error_theirs = (theirs.to(wide.dtype) - wide).abs()
    # Theirs may be NaN where there is a result: then ours must be right by itself.
    allowed = 2 * error_theirs.nan_to_num(0.0, torch.inf) + 4 * epsilon * wide.abs()
    finite = error_theirs[error_theirs.isfinite()]
    if finite.numel():
        allowed = torch.maximum(allowed, 2 * finite.max())
    largest = torch.finfo(theirs.dtype).max
    same = (
        (ours.to(wide.dtype) == wide.clamp(-largest, largest)) if not wide.is_complex() else close
    )
    same = same | (ours.to(wide.dtype) == wide) | (ours.isnan() & wide.isnan())
    return bool((close | (error <= allowed) | same).all())


def distribution(
    ours: Any,  # results in PyTorch's types
    theirs: Any,
    *,
    uninitialized: bool = False,
    by_channel: bool = False,
) -> str | None:
    """Why random results differ in kind: structure, shape, dtype, and, of many elements, mean and spread.

    With `by_channel`, elements that share their first two indices share one draw.
    """
    if isinstance(theirs, (tuple, list)):
        if not isinstance(ours, (tuple, list)) or len(ours) != len(theirs):
            return "structure: another number of results"
        found = [
            distribution(a, b, uninitialized=uninitialized, by_channel=by_channel)
            for a, b in zip(ours, theirs, strict=True)
        ]
        return next((each for each in found if each is not None), None)
    if not isinstance(theirs, torch.Tensor):
        return None
    if not isinstance(ours, torch.Tensor):
        return f"structure: a tensor, ours is {type(ours).__name__}"
    if ours.shape != theirs.shape:
        return f"shape: {tuple(theirs.shape)}, ours {tuple(ours.shape)}"
    if ours.dtype != theirs.dtype:
        return f"dtype: {theirs.dtype}, ours {ours.dtype}"
    if theirs.numel() < FEWEST or uninitialized:
        return None
    return _spread(ours, theirs, math.prod(theirs.shape[:2]) if by_channel else theirs.numel())


def same_up_to_ties(ours: Any, theirs: Any, input: Any) -> bool:
    """Whether results that hold indices differ only in which of several equal elements they name."""
    if isinstance(theirs, torch.Tensor):
        ours, theirs = (ours,), (theirs,)
    if not isinstance(theirs, (tuple, list)) or not isinstance(input, torch.Tensor):
        return False
    input = input.detach()
    dims = range(input.ndim)
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        if torch.equal(a, b) or torch.allclose(a.double(), b.detach().double(), equal_nan=True):
            continue
        if b.dtype is not torch.int64 or not any(_name_equals(a, b, input, dim) for dim in dims):
            return False
    return True


def _name_equals(a: torch.Tensor, b: torch.Tensor, input: torch.Tensor, dim: int) -> bool:
    for index in (a, b):
        if bool(((index < 0) | (index >= input.shape[dim])).any()):
            return False
    if a.ndim == input.ndim - 1:
        a, b = a.unsqueeze(dim), b.unsqueeze(dim)
    if a.ndim == 0:
        input, a, b, dim = input.flatten(), a.reshape(1), b.reshape(1), 0
    if a.ndim != input.ndim:
        return False
    if any(n > m for k, (n, m) in enumerate(zip(a.shape, input.shape, strict=True)) if k != dim):
        return False
    found, wanted = input.gather(dim, a), input.gather(dim, b)
    return bool(torch.isclose(found, wanted, rtol=0, atol=0, equal_nan=True).all())


def has_equal_neighbours(result: Any) -> bool:
    """Whether a sorted result holds equal elements, whose places any order may have."""
    return isinstance(result, torch.Tensor) and bool((result[1:] == result[:-1]).any())


FEWEST = 200
"""Elements from which on distributions are compared."""


def _spread(ours: torch.Tensor, theirs: torch.Tensor, draws: int) -> str | None:
    """The two-sample test of Kolmogorov and Smirnov, at a level of about 1e-6, for independent draws."""
    a, b = (each.detach().flatten().to(torch.float64).sort().values for each in (ours, theirs))
    points = torch.cat([a, b])
    count = a.numel()
    below_a = torch.searchsorted(a, points, right=True) / count
    below_b = torch.searchsorted(b, points, right=True) / count
    distance = float((below_a - below_b).abs().max())
    limit = 2.7 * (2 / draws) ** 0.5
    if distance <= limit:
        return None
    return f"distribution: the distance {distance:.3f} of two samples of {draws} draws is above {limit:.3f}"
