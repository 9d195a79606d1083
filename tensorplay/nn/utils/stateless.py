"""`functional_call` under its older name; see `tensorplay.func.functional_call`."""

from __future__ import annotations

from tensorplay.func.modules import functional_call

__all__ = ["functional_call"]
