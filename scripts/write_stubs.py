#!/usr/bin/env python3
"""Write the type stubs of the public functions and methods, which the registry makes at run time.

python scripts/write_stubs.py          writes tensorplay/functions.pyi and tensorplay/_operator_methods.pyi
python scripts/write_stubs.py --check  fails when they are not current
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tensorplay
from tensorplay import publishing
from tensorplay.ops import describe
from tensorplay.ops.registry import Operator
from tensorplay.ops.registry import tp as registry
from tensorplay.ops.signature import VARIADIC, Parameter

ROOT = Path(__file__).resolve().parent.parent / "tensorplay"

HEADER = '''"""{title} (written by scripts/write_stubs.py from the registry)."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType
from tensorplay.core.random import Generator
from tensorplay.tensor import Tensor
{imports}
_bool: TypeAlias = bool
_int: TypeAlias = int
_float: TypeAlias = float
_Number: TypeAlias = bool | int | float | builtins.complex
_Operand: TypeAlias = Tensor | bool | int | float | builtins.complex
'''


def stub_type(parameter: Parameter) -> str:
    """The type that a caller may pass, in names that no function of the stub hides."""
    text = re.sub(r"\b(bool|int|float|complex)\b", r"_\1", describe.type_of(parameter))
    return text.replace("Tensor | Number", "_Operand").replace("Number", "_Number")


def parameters_of(operator: Operator, *, method: bool) -> str:
    """The text between the parentheses."""
    parts: list[str] = ["self"] if method else []
    own = operator.signature.parameters[1:] if method else operator.signature.parameters
    positional = [each for each in operator.signature.parameters if not each.keyword_only]
    star = False
    for each in own:
        if each.keyword_only and not star:
            parts.append("*")
            star = True
        if each.role in VARIADIC and not each.keyword_only and each is positional[-1]:
            parts.append(f"*{each.name}: {stub_type(each)}")
            star = True
        else:
            parts.append(f"{each.name}: {stub_type(each)}" + ("" if each.required else " = ..."))
    if operator.is_factory and not method:
        parts += [*([] if star else ["*"]), "requires_grad: _bool = ..."]
    return ", ".join(parts)


def functions_text() -> str:
    """tensorplay/functions.pyi."""
    imports: list[str] = []
    for name, function in sorted(publishing.PLAIN.items()):
        module = function.__globals__["__name__"]  # where it is written: __module__ is tensorplay
        own = "tensor_from_data" if name == "tensor" else name
        imports.append(f"from {module} import {own} as {name}")
    lines = [HEADER.format(title="The public functions", imports="\n".join(imports))]
    for operator in sorted(registry, key=lambda each: each.name):
        if operator.is_function:
            arguments = parameters_of(operator, method=False)
            for name in publishing.function_names(operator):
                result = "Tensor" if name.endswith("_") else describe.result_of(operator)
                lines.append(f"def {name}({arguments}) -> {result}: ...")
    names = ", ".join(f'"{name}"' for name in sorted(publishing.PUBLIC))
    lines += ["", "PUBLIC: set[str]", f"__all__ = [{names}]", ""]
    return "\n".join(lines)


def methods_text() -> str:
    """tensorplay/_operator_methods.pyi."""
    title = "The methods of Tensor that are attached at run time"
    lines = [HEADER.format(title=title, imports=""), "class OperatorMethods:"]
    for operator in sorted(registry, key=lambda each: each.name):
        arguments = parameters_of(operator, method=True)
        names = [operator.name, *operator.aliases]
        if operator.is_method and operator.name not in publishing.WRITTEN:
            result = describe.result_of(operator)
            lines += [f"    def {name}({arguments}) -> {result}: ..." for name in names]
        names = publishing.inplace_names(operator)
        lines += [f"    def {name}({arguments}) -> Tensor: ..." for name in names]
    lines += [f"    {line}" for line in dunders()]
    lines += [f"    {line}" for line in OTHERS.strip().splitlines()]
    return "\n".join([*lines, ""])


def dunders() -> Iterator[str]:
    """Python's operators."""
    for name, symbol in publishing.BINARY.items():
        plain = symbol.rstrip("_")
        yield f"def __{plain}__(self, other: _Operand) -> Tensor: ..."
        yield f"def __r{plain}__(self, other: _Operand) -> Tensor: ..."
        if registry[name].has_inplace:
            yield f"def __i{plain}__(self, other: _Operand) -> Tensor: ..."
    for name in sorted(publishing.COMPARISON):
        comment = (
            "  # type: ignore[override]  # a tensor of truth values" if name in {"eq", "ne"} else ""
        )
        yield f"def __{name}__(self, other: _Operand) -> Tensor: ...{comment}"
    for symbol in publishing.UNARY.values():
        yield f"def __{symbol}__(self) -> Tensor: ..."


OTHERS = """
def __getitem__(self, index: Any) -> Tensor: ...
def __setitem__(self, index: Any, value: Any) -> None: ...
def copy_(self, src: Tensor, non_blocking: _bool = ...) -> Tensor: ...
def fill_(self, value: _Operand) -> Tensor: ...
def zero_(self) -> Tensor: ...
def allclose(
    self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...
) -> _bool: ...
def equal(self, other: Tensor) -> _bool: ...
def is_nonzero(self) -> _bool: ...
def is_same_size(self, other: Tensor) -> _bool: ...
def var(
    self, dim: _int | Sequence[_int] | None = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *,
    correction: _Number | None = ...,
) -> Tensor: ...
def std(
    self, dim: _int | Sequence[_int] | None = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *,
    correction: _Number | None = ...,
) -> Tensor: ...
def scatter(
    self, dim: _int, index: Tensor, src: _Operand | None = ..., *, value: _Number | None = ...,
    reduce: str | None = ...,
) -> Tensor: ...
def scatter_(
    self, dim: _int, index: Tensor, src: _Operand | None = ..., *, value: _Number | None = ...,
    reduce: str | None = ...,
) -> Tensor: ...
def index_put(
    self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...
) -> Tensor: ...
def index_put_(
    self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...
) -> Tensor: ...
def as_strided_(
    self, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = ...
) -> Tensor: ...
def squeeze_(self, dim: _int | Sequence[_int] | None = ...) -> Tensor: ...
def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor: ...
def swapdims_(self, dim0: _int, dim1: _int) -> Tensor: ...
def t_(self) -> Tensor: ...
def transpose_(self, dim0: _int, dim1: _int) -> Tensor: ...
def unsqueeze_(self, dim: _int) -> Tensor: ...
def nonzero(self, *, as_tuple: _bool = ...) -> Any: ...
def where(self, condition: Tensor, other: _Operand) -> Tensor: ...
def polygamma(self, n: _int) -> Tensor: ...
@property
def T(self) -> Tensor: ...
@property
def mT(self) -> Tensor: ...
@property
def H(self) -> Tensor: ...
def backward(
    self, gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ...,
    inputs: Tensor | Sequence[Tensor] | None = ...,
) -> None: ...
def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any: ...
def retain_grad(self) -> None: ...
"""


def formatted(text: str, path: Path) -> str:
    """The text as `ruff format` and the import sorter leave it."""
    command = [str(Path(sys.executable).with_name("ruff"))]
    for step in (["check", "--fix", "--quiet"], ["format", "--quiet"]):
        run = subprocess.run(  # noqa: S603  # the project's own formatter
            [*command, *step, "--stdin-filename", str(path), "-"],
            input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip
        text = run.stdout
    return text


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="fail when the stubs are not current")
    check = parser.parse_args().check
    stale: list[Path] = []
    for name, text in (
        ("functions.pyi", functions_text()),
        ("_operator_methods.pyi", methods_text()),
    ):
        path = ROOT / name
        wanted = formatted(text, path)
        if not path.exists() or path.read_text() != wanted:
            stale.append(path)
            if not check:
                path.write_text(wanted)
    if check and stale:
        names = ", ".join(path.name for path in stale)
        sys.stderr.write(f"{names}: not current; run python scripts/write_stubs.py\n")
        return 1
    return 0


if __name__ == "__main__":
    del tensorplay
    sys.exit(main())
