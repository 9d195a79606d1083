#!/usr/bin/env python3
"""What compilation and a call cost: import, cold and warm first call, a long chain, the overhead of a call.

    .venv/bin/python bench/compile_time.py [--runs 5] [--out bench/results/compile_time]

Each number comes from processes of its own: `cold` starts with an empty cache folder, `warm` is the next
process with the same folder. The least of the runs is reported beside the median, since the machine is shared.
Writes OUT.json and OUT.md, with the command and the machine in them.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CLOCK = "import sys, time, json\npc = time.perf_counter\n"

IMPORT = CLOCK + "t = pc()\nimport tensorplay\nprint(json.dumps({'import': pc() - t}))\n"

FIRST_CALL = (
    CLOCK
    + """
import tensorplay as tp
x, w = tp.randn(64, 128), tp.randn(64, 128)
def f(x, w):
    return (tp.relu(x + w) * 2).sum(-1)
t = pc()
cf = tp.compile(f, strict_native=True)
cf(x, w)
first = pc() - t
t = pc()
def g(x):
    m = x.amax(-1, keepdim=True)
    e = tp.exp(x - m)
    return e / e.sum(-1, keepdim=True)
tp.compile(g, strict_native=True)(x)
print(json.dumps({"first": first, "second function": pc() - t}))
"""
)

CHAIN = (
    CLOCK
    + """
import tensorplay as tp
def f(x):
    for k in range(DEPTH):
        x = (tp.sin(x), x * 1.0001, x + 0.5)[k % 3]
    return x
x = tp.randn(64)
tp.compile(lambda x: x + 1, strict_native=True)(x)
t = pc()
tp.compile(f, strict_native=True)(x)
print(json.dumps({"chain": pc() - t}))
"""
)

OVERHEAD = (
    CLOCK
    + """
import gc
import tensorplay as tp
f = tp.compile(lambda x: x * 2 + 1, strict_native=True)
x = tp.randn(8)
many = [tp.randn(8) for _ in range(256)]
f(x)
for y in many:
    f(y)
gc.disable()
def least(run, calls=500, samples=31):
    times = []
    for _ in range(samples):
        t = pc()
        run(calls)
        times.append((pc() - t) / calls)
    return min(times)
def same(calls):
    for _ in range(calls):
        f(x)
def new(calls):
    for k in range(calls):
        f(many[k & 255])
def eager(calls):
    for _ in range(calls):
        x * 2 + 1
print(json.dumps({"same tensor": least(same), "new tensor": least(new), "eager": least(eager)}))
"""
)

# name -> the most it may take, in seconds, and where the number comes from
TARGETS = {
    "import tensorplay": 0.25,
    "cold first call of Example 1.1": 0.5,
    "warm first call of Example 1.1": 0.06,
    "chain of 1500 operators": 5.0,
    "call of x*2+1, same tensor": 2e-6,
    "call of x*2+1, new tensor": 4e-6,
}


def first_in_line() -> None:
    """Give this process and its children real-time priority, as root may."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))


def measure(program: str, cache: str, *, urgent: bool) -> dict[str, float]:
    """Run a program in a fresh process and read the JSON that it prints."""
    child = subprocess.run(
        [sys.executable, "-c", program],
        preexec_fn=first_in_line if urgent else None,
        env={**os.environ, "TP_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        raise SystemExit(f"a measured program failed:\n{child.stderr}")
    return dict(json.loads(child.stdout))


def collect(runs: int, depths: list[int], *, urgent: bool) -> dict[str, list[float]]:
    """All numbers, each with one sample a run."""
    samples: dict[str, list[float]] = {}

    def add(name: str, seconds: float) -> None:
        samples.setdefault(name, []).append(seconds)

    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            add("import tensorplay", measure(IMPORT, cache, urgent=urgent)["import"])
            cold, warm = (measure(FIRST_CALL, cache, urgent=urgent) for _ in range(2))
            add("cold first call of Example 1.1", cold["first"])
            add("warm first call of Example 1.1", warm["first"])
            add("cold softmax after it", cold["second function"])
            add("warm softmax after it", warm["second function"])
            for depth in depths:
                program = CHAIN.replace("DEPTH", str(depth))
                add(f"chain of {depth} operators", measure(program, cache, urgent=urgent)["chain"])
            calls = measure(OVERHEAD, cache, urgent=urgent)
            add("call of x*2+1, same tensor", calls["same tensor"])
            add("call of x*2+1, new tensor", calls["new tensor"])
            add("call of x*2+1, eager", calls["eager"])
    return samples


def in_words(seconds: float) -> str:
    """A duration in the unit that fits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def markdown(samples: dict[str, list[float]], command: str) -> str:
    """The table that people read."""
    lines = [
        f"`{command}`",
        "",
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores,",
    ]
    lines[-1] += f" Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    lines += ["", "| what | least | median | at most | holds |", "|---|---|---|---|---|"]
    for name, times in samples.items():
        target = TARGETS.get(name)
        goal = in_words(target) if target else ""
        holds = "" if target is None else "yes" if min(times) <= target else "**no**"
        middle = in_words(statistics.median(times))
        lines.append(f"| {name} | {in_words(min(times))} | {middle} | {goal} | {holds} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--depths", type=int, nargs="*", default=[100, 375, 750, 1500])
    parser.add_argument(
        "--urgent", action="store_true", help="real-time priority, on a loaded machine"
    )
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.md")
    given = parser.parse_args()
    samples = collect(given.runs, given.depths, urgent=given.urgent)
    command = " ".join(["python", "bench/compile_time.py", *sys.argv[1:]])
    text = markdown(samples, command)
    print(text)
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.with_suffix(".json").write_text(
            json.dumps({"command": command, "samples": samples}, indent=1)
        )
        given.out.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
