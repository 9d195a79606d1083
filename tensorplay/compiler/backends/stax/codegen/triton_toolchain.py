"""Triton's compiler, the one place that imports it; it needs neither a GPU nor another framework.

In: a `TritonKernel` and a GPU target. Out: PTX. The package ``triton`` is optional: ``pip install 'tensorplay[triton]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorplay.compiler.backends.stax import codecache
from tensorplay.core.config import config
from tensorplay.core.errors import CompilerNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tensorplay.compiler.backends.stax.codegen.triton import TritonKernel
    from tensorplay.compiler.target import GpuTarget


def compile_ptx(
    kernel: TritonKernel, target: GpuTarget, blocks: Mapping[str, int] | None = None
) -> str:
    """Return a kernel's PTX for a target, with other sizes of blocks where given.

    The program's arithmetic isn't contracted (``enable_fp_fusion=False``), and subnormal numbers aren't flushed.
    """
    try:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as error:
        raise CompilerNotFoundError(
            "compiling for a GPU needs Triton, which isn't installed: pip install 'tensorplay[triton]'"
        ) from error
    signature = {p.name: p.type for p in kernel.parameters}
    constants = {**kernel.blocks, **(blocks or {})}
    source = ASTSource(
        fn=load_function(kernel),
        signature={**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs=constants,
    )
    options = {
        "num_warps": kernel.warps,
        "enable_fp_fusion": False,
        "enable_reflect_ftz": False,
    }
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(config.cache_dir / "triton-compiler")
        compiled = triton.compile(
            source,
            target=GPUTarget("cuda", target.capability, target.warp_size),
            options=options,
        )
    text: str = compiled.asm["ptx"]
    return text


def load_function(kernel: TritonKernel) -> Any:  # noqa: ANN401  # a function of an optional package
    """Return the kernel's function. Its module lies in the store, where Triton reads the source again."""

    def write(_: list[str], draft: Path) -> None:
        draft.write_text(kernel.source, encoding="utf-8")

    paths, _ = codecache.add("triton", ".py", [codecache.digest_of(kernel.source)], write)
    path = paths[0]
    scope: dict[str, object] = {"__name__": f"tensorplay_{path.stem}", "__file__": str(path)}
    exec(compile(kernel.source, str(path), "exec"), scope)  # noqa: S102  # the text is ours
    return scope[kernel.name]
