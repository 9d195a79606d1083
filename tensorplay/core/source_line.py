"""Lines of the user's program: the innermost frame that is not of this package.

>>> def of_a_user():
...     return user_line()
>>> of_a_user().function
'of_a_user'
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from types import FrameType

OURS: Final = (
    str(Path(__file__).resolve().parent.parent) + "/", "<tensorplay ", "<graph ", contextlib.__file__
)  # fmt: skip
"""How the files of our own code begin, printed code and decorators of context managers included; other
frames are the user's."""


class SourceLine(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        """Return `model.py:12`."""
        return f"{self.file.rpartition('/')[2]}:{self.line}"

    @property
    def location(self) -> str:
        """The line as Python's tracebacks name it."""
        return f'File "{self.file}", line {self.line}, in {self.function}'


def user_line() -> SourceLine | None:
    """Return the innermost line of the program that is not of this package, if there is one."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 (documented; inspect is 50x slower)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    return SourceLine(code.co_filename, frame.f_lineno, code.co_name)


def at_user_line() -> str:
    """The end of a message that names the user's line; empty where there is none."""
    line = user_line()
    return "" if line is None else f"\n  {line.location}"
