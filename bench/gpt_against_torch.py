#!/usr/bin/env python3
"""Trains the GPT of examples/char_gpt.py here and in PyTorch, from the same weights on the same batches.

    .venv/bin/python bench/gpt_against_torch.py --torch OTHER/bin/python [--steps 200] [--no-torch-compile]

PyTorch runs in its own interpreter (gpt_in_torch.py); weights and batches reach it as files. Both train in float32 and in
float64. In float64 the two agree as far as rounding lets them, so either is the truth that float32 is measured against:
ours must lie no farther from it than PyTorch's own float32 does. Results: OUT.json and OUT.md. Kernels of PyTorch are
compiled cold; so are ours where TP_CACHE_DIR names an empty folder.

`--record FILE` writes the losses of a short run on the LICENSE instead, which test/examples/test_char_gpt.py compares with.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import tensorplay as tp

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))

import char_gpt  # noqa: E402 - it lies there

RECORDED_SIZES = {"context": 16, "width": 32, "heads": 2, "layers": 2}
RECORDED_STEPS = 10


def draw_weights(model: tp.nn.Module, seed: int = 0) -> None:
    """Fill all matrices from ``U(-a, a)``, a = 0.02 √3, by the bits of NumPy's PCG64, which stay the same forever."""
    bits = np.random.PCG64(seed)
    with tp.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                raw = bits.random_raw(parameter.numel()) >> np.uint64(11)
                values = (raw * 2.0**-53 * 2.0 - 1.0) * (0.02 * 3.0**0.5)
                parameter.copy_(tp.from_numpy(values.reshape(tuple(parameter.shape))))


def pieces_of(text: char_gpt.Text, steps: int, count: int, context: int) -> np.ndarray:
    """Return batches (steps, 2, count, context): pieces at places that PCG64 draws, and the characters after each."""
    raw = np.random.PCG64(1).random_raw(steps * count) % np.uint64(len(text.train) - context)
    places = raw.astype(np.int64).reshape(steps, count)[..., None] + np.arange(context + 1)
    pieces = text.train[places]
    return np.stack([pieces[..., :-1], pieces[..., 1:]], 1)


def train(
    sizes: char_gpt.Sizes, batches: np.ndarray, dtype: tp.dtype, *, eager: bool
) -> dict[str, Any]:
    """Train here; return the loss of every step, before it, and its seconds."""
    trainer = char_gpt.Trainer(sizes, eager=eager, seed=0)
    draw_weights(trainer.model)
    trainer.model.to(dtype)
    losses, seconds = [], []
    for characters, after in batches:
        start = time.perf_counter()
        losses.append(trainer.step(tp.from_numpy(characters), tp.from_numpy(after)))
        seconds.append(time.perf_counter() - start)
    return {"losses": losses, "seconds": seconds}


def train_in_torch(python: str, folder: Path, dtype: str, how: str) -> dict[str, Any]:
    """Train there."""
    script = str(Path(__file__).with_name("gpt_in_torch.py"))
    done = subprocess.run(
        [python, script, str(folder), dtype, how],
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")},  # compile cold
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def prepare(folder: Path, sizes: char_gpt.Sizes, batches: np.ndarray) -> None:
    """Write what PyTorch reads."""
    model = char_gpt.GPT(sizes)
    draw_weights(model)
    tp.save(model.state_dict(), folder / "weights.safetensors")
    np.save(folder / "batches.npy", batches)
    settings = {**asdict(sizes), "rate": char_gpt.RATE, "threads": tp.get_num_threads()}
    (folder / "sizes.json").write_text(json.dumps(settings))


def farthest(a: dict[str, Any], b: dict[str, Any], steps: int) -> float:
    """Return the largest difference of two runs' losses over the first steps."""
    pairs = zip(a["losses"][:steps], b["losses"][:steps], strict=True)
    return max(abs(x - y) for x, y in pairs)


def tell(runs: dict[str, dict[str, Any]], sizes: char_gpt.Sizes, shape: tuple[int, ...]) -> str:
    """Return both tables."""
    steps, _, count, context = shape
    marks = sorted({min(10, steps), min(50, steps), steps})
    first, last = (runs["torch float64"]["losses"][k] for k in (0, -1))
    lines = [
        f"{sizes}; {steps} steps of {count} × {context} characters, AdamW.",
        f"Losses from {first:.4f} to {last:.4f}. Largest difference of the losses over the first steps:",
        "",
        "| between | " + " | ".join(f"{n} steps" for n in marks) + " |",
        "|---|" + "---|" * len(marks),
    ]
    for one, other in (
        ("tensorplay float64", "torch float64"),
        ("torch float32", "torch float64"),
        ("tensorplay float32", "torch float64"),
        ("tensorplay float32 compiled", "torch float64"),
        ("tensorplay float32", "torch float32"),
        ("tensorplay float32 compiled", "torch float32"),
        ("tensorplay float32", "tensorplay float32 compiled"),
    ):
        row = " | ".join(f"{farthest(runs[one], runs[other], n):.1e}" for n in marks)
        lines.append(f"| {one}, {other} | {row} |")
    lines += [
        "",
        "| float32 | first step s | a step ms, median | least | characters a second |",
        "|---|---|---|---|---|",
    ]
    for name, run in runs.items():
        if "float32" in name:
            later = run["seconds"][2:]
            middle, least = statistics.median(later), min(later)
            speed = count * context / middle
            lines.append(
                f"| {name} | {run['seconds'][0]:.2f} | {middle * 1e3:.1f} | {least * 1e3:.1f} | {speed:,.0f} |"
            )
    return "\n".join(lines) + "\n"


def record(python: str, file: Path) -> None:
    """Write PyTorch's losses of a short run on the LICENSE."""
    text = char_gpt.Text((ROOT / "LICENSE").read_text())
    sizes = char_gpt.Sizes(len(text.alphabet), **RECORDED_SIZES)
    batches = pieces_of(text, RECORDED_STEPS, 4, sizes.context)
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), sizes, batches)
        runs = {d: train_in_torch(python, Path(name), d, "eager") for d in ("float32", "float64")}
    found = {
        "made by": "python bench/gpt_against_torch.py --torch PYTHON --record FILE",
        "torch": runs["float32"]["version"],
        "sizes": asdict(sizes),
        **{dtype: run["losses"] for dtype, run in runs.items()},
    }
    file.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    """Read the command line, train, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--torch", required=True, help="an interpreter that has PyTorch")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--no-torch-compile", action="store_true")
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "gpt")
    given = parser.parse_args()
    if given.record:
        record(given.torch, given.record)
        return
    text = char_gpt.Text(char_gpt.manual())
    sizes = char_gpt.Sizes(len(text.alphabet))
    batches = pieces_of(text, given.steps, given.batch, sizes.context)
    runs: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), sizes, batches)
        for dtype in ("float64", "float32"):
            runs[f"torch {dtype}"] = train_in_torch(given.torch, Path(name), dtype, "eager")
        if not given.no_torch_compile:
            compiled = train_in_torch(given.torch, Path(name), "float32", "compile")
            runs["torch float32 compiled"] = compiled
    runs["tensorplay float64"] = train(sizes, batches, tp.float64, eager=True)
    runs["tensorplay float32"] = train(sizes, batches, tp.float32, eager=True)
    runs["tensorplay float32 compiled"] = train(sizes, batches, tp.float32, eager=False)
    told = tell(runs, sizes, batches.shape)
    shown = shlex.join(["python", "bench/gpt_against_torch.py", "--torch", "PYTHON"])
    print(told)
    given.out.with_suffix(".md").write_text(
        f"`{shown} --steps {given.steps}`, torch {runs['torch float32']['version']}, "
        f"{tp.get_num_threads()} threads\n\n{told}"
    )
    given.out.with_suffix(".json").write_text(json.dumps(runs) + "\n")


if __name__ == "__main__":
    main()
