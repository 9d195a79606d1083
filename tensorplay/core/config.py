"""The few knobs: name, default, reason. Read once at import from the environment.

A knob is an attribute of `config`; tests change one with `config.override(verify=True)`.

>>> with config.override(verify=True):
...     config.verify
True
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path


def _flag(name: str, *, default: bool) -> bool:
    text = os.environ.get(name)
    return default if text is None else text.strip().lower() not in {"", "0", "false", "no", "off"}


def _integer(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    return int(text) if text else default


def _default_cache_dir() -> Path:
    given = os.environ.get("TP_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tensorplay"


@dataclass(frozen=True, slots=True)
class Knobs:
    """The values of all knobs."""

    cache_dir: Path
    """`TP_CACHE_DIR`: where compiled kernels and artifacts live."""
    dump_dir: Path | None
    """`TP_DUMP`: a folder that receives each stage of each compilation as a numbered file."""
    verify: bool
    """`TP_VERIFY`: run the verifiers between compiler stages (tests do; costs compile time)."""
    lower_debug: bool
    """`TP_STAX_LOWER_DEBUG`: name the operators that have no lowering rule."""
    recompile_limit: int
    """`TP_RECOMPILE_LIMIT`: specializations kept for one function before an error names the cause."""


class Config:
    """The current knobs; attribute access reads them."""

    def __init__(self, knobs: Knobs) -> None:
        self._knobs = knobs

    @property
    def cache_dir(self) -> Path:
        """The folder of compiled kernels and artifacts."""
        return self._knobs.cache_dir

    @property
    def dump_dir(self) -> Path | None:
        """The folder that receives each stage as a file, or None."""
        return self._knobs.dump_dir

    @property
    def verify(self) -> bool:
        """Whether verifiers run between the compiler's stages."""
        return self._knobs.verify

    @property
    def lower_debug(self) -> bool:
        """Whether operators without a lowering are reported."""
        return self._knobs.lower_debug

    @property
    def recompile_limit(self) -> int:
        """How many specializations one function may have."""
        return self._knobs.recompile_limit

    @contextlib.contextmanager
    def override(self, **values: object) -> Iterator[None]:
        """Change knobs inside a `with` block."""
        known = {field.name for field in fields(Knobs)}
        unknown = sorted(set(values) - known)
        if unknown:
            msg = f"config.override: no knob named {unknown}; the knobs are {sorted(known)}"
            raise TypeError(msg)
        before = self._knobs
        self._knobs = replace(before, **values)  # type: ignore[arg-type]  # names checked above
        try:
            yield
        finally:
            self._knobs = before


def _from_environment() -> Knobs:
    dump = os.environ.get("TP_DUMP")
    return Knobs(
        cache_dir=_default_cache_dir(),
        dump_dir=Path(dump) if dump else None,
        verify=_flag("TP_VERIFY", default=False),
        lower_debug=_flag("TP_STAX_LOWER_DEBUG", default=False),
        recompile_limit=_integer("TP_RECOMPILE_LIMIT", 64),
    )


config = Config(_from_environment())
