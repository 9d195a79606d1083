"""What has a text is printed as that text: `print(e.partition)` shows what `e.partition.text()` gives.

>>> class Greeting(Readable):
...     def text(self):
...         return "good day"
>>> print(Greeting())
good day
"""

from __future__ import annotations


class Readable:
    """A phase of the compiler, or a table, that people read; its repr stays what it is made of."""

    __slots__ = ()

    def text(self) -> str:
        """Return it as people read it."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The text."""
        return self.text()
