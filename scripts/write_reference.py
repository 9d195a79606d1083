#!/usr/bin/env python3
"""Write the reference: a page for each family of operators, from the registry.

python scripts/write_reference.py          writes docs/reference/
python scripts/write_reference.py --check  fails when a page is not current
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import tensorplay as tp
from tensorplay import dispatch, publishing
from tensorplay.compiler.covered import OperatorCoverage
from tensorplay.core import dtypes
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import TensorPlayError
from tensorplay.ops import describe
from tensorplay.ops.registry import Operator
from tensorplay.ops.samples import Arg, Sample

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE = "<!-- written by scripts/write_reference.py from the registry -->"
ALL = (
    dtypes.bool_, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint16, dtypes.uint32,
    dtypes.uint64, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128,
)  # fmt: skip
GROUPS = (
    ("bool", (dtypes.bool_,)),
    ("integers", tuple(each for each in ALL if each.is_integral and each.kind in "iu")),
    ("floats", tuple(each for each in ALL if each.kind not in "biuc")),
    ("complex", tuple(each for each in ALL if each.kind == "c")),
)
NAMESPACES = (
    ("tp.nn.functional", tp.nn.functional),
    ("tp.linalg", tp.linalg),
    ("tp.fft", tp.fft),
    ("tp.masked", tp.masked),
    ("tp.signal.windows", tp.signal.windows),
    ("tp.special", tp.special),
)
PROMPT = re.compile(r"(?:^[ ]*>>> .*\n?)(?:^[ ]*\S.*\n?)*", re.MULTILINE)


def accepted(operator: Operator) -> str:
    """The dtypes that tensors of an operator's first sample may have, in words."""
    samples = [each for each in (operator.samples or tuple)() if each.error is None]
    first = (
        next((each for value in samples[0].args for each in tensors(value)), None)
        if samples
        else None
    )
    if first is None:
        return ""
    found = {each for each in ALL if takes(operator, samples[0], first.dtype, each)}
    words: list[str] = []
    for name, members in GROUPS:
        held = [each for each in members if each in found]
        words += [name] if len(held) == len(members) else [each.name for each in held]
    return ", ".join(words)


def tensors(value: object) -> Iterator[Arg]:
    """The tensors of an argument."""
    if isinstance(value, Arg):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors(each)


def takes(operator: Operator, sample: Sample, old: DType, new: DType) -> bool:
    """Whether a call of the sample, on zeros, is accepted with the dtype of its first tensor exchanged everywhere.

    Other errors than those of dtypes say nothing: a matrix of zeros has no inverse.
    """

    def made(value: object) -> object:
        if isinstance(value, Arg):
            return tp.zeros(value.shape, dtype=new if value.dtype is old else value.dtype)
        if isinstance(value, (list, tuple)):
            return type(value)(made(each) for each in value)
        return value

    args, kwargs = map(made, sample.args), {k: made(v) for k, v in sample.kwargs.items()}
    try:
        dispatch.call(operator, operator.signature.bind([*args], kwargs))
    except TypeError:  # `DTypeError` is one
        return False
    except (TensorPlayError, ValueError):
        pass
    return True


def names(operator: Operator) -> list[str]:
    """Under which names users call it."""
    found = [
        f"{called}.{name}"
        for called, module in NAMESPACES
        for name in dir(module)
        if name != "annotations" and getattr(getattr(module, name), "__name__", "") == operator.name
    ]
    if operator.name in publishing.PUBLIC:
        found.append(f"tp.{operator.name}")
    found += [f"Tensor.{operator.name}"] if operator.is_method else []
    found += [f"Tensor.{operator.name}_"] if hasattr(tp.Tensor, f"{operator.name}_") else []
    return found


def refused(operator: Operator) -> str:
    """The errors that its declaration shows, by name."""
    samples = operator.samples() if operator.samples else iter(())
    return ", ".join(sorted({each.error.__name__ for each in samples if each.error is not None}))


def entry(operator: Operator, coverage: OperatorCoverage) -> Iterator[str]:
    """The section of an operator."""
    yield from (f"## {operator.name}", "", "```python", describe.signature(operator), "```", "")
    text = describe.documentation(operator)
    shown = PROMPT.sub(lambda part: f"```pycon\n{dedent(part[0]).rstrip()}\n```\n", text)
    yield from (shown.rstrip(), "")
    lowering = {"native": "loops of its own", "kernel": f"calls {', '.join(coverage.kernels)}"}
    derivatives = [
        word
        for word, held in (("reverse", coverage.differentiable), ("forward", coverage.forward_mode))
        if held
    ]
    rows = (
        ("names", ", ".join(f"`{each}`" for each in names(operator))),
        ("dtypes", accepted(operator)),
        ("derivatives", " and ".join(derivatives)),
        ("compiled", lowering.get(coverage.lowering, "its parts, which depend on data")),
        ("errors", refused(operator)),
    )
    yield from ("| | |", "|---|---|")
    yield from (f"| {what} | {said} |" for what, said in rows if said)
    yield ""


def pages() -> dict[str, str]:
    """The text of every page by its file name."""
    families: dict[str, list[Operator]] = defaultdict(list)
    for operator in sorted(tp.ops.tp, key=lambda each: each.name):
        if names(operator) and not operator.name.startswith("_"):
            families[operator.family].append(operator)
    coverage = tp.compiler.coverage()
    found: dict[str, str] = {}
    count = sum(map(len, families.values()))
    index = [
        "# Reference", "", NOTE, "",
        f"The {count} operators of TensorPlay by the file that declares them. `help(tp.gelu)` says the same.",
        "", "| page | operators |", "|---|---|",
    ]  # fmt: skip
    for family in sorted(families):
        stem = family.rpartition(".")[2]
        about = inspect.cleandoc(import_module(family).__doc__ or "").split("\n\n")[0]
        lines = [f"# {stem.replace('_', ' ')}", "", NOTE, "", about, ""]
        for operator in families[family]:
            lines += entry(operator, coverage[operator.name])
        found[f"{stem}.md"] = "\n".join(lines)
        links = ", ".join(f"[{each.name}]({stem}.md#{each.name})" for each in families[family])
        index.append(f"| [{stem.replace('_', ' ')}]({stem}.md) | {links} |")
    found["README.md"] = "\n".join([*index, ""])
    return found


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="fail when a page is not current")
    check = parser.parse_args().check
    wanted = pages()
    there = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    stale = sorted(
        name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name)
    )
    if check and stale:
        sys.stderr.write(
            f"{', '.join(stale)}: not current; run python scripts/write_reference.py\n"
        )
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stale:
        path = FOLDER / name
        if name in wanted:
            path.write_text(wanted[name])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
