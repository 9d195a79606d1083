"""The functions of `tensorplay.array_api` against `array-api-strict`: how many drawn calls agree, eager and compiled.

    python bench/array_api.py [--examples 20] [--compiled 3] [--only linalg] [--write bench/results/array_api.md]

Eager calls are compared with the oracle; compiled ones, each function wrapped in `tensorplay.compile`, with eager
ones. The calls are those of `test/standard_calls.py`. Needs the extra `dev`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import hypothesis
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

import array_api_strict as strict
from standard_calls import CALLS, UNSET, Call, agree, function_named, plain, rebuilt, run

import tensorplay as tp
from tensorplay import array_api as xp


def drawn(name: str, count: int) -> list[Call]:
    """Draw calls of a function; the same ones each time."""
    found: list[Call] = []
    options = {
        "max_examples": count,
        "derandomize": True,
        "database": None,
        "deadline": None,
        "phases": [hypothesis.Phase.generate],
        "suppress_health_check": list(hypothesis.HealthCheck),
    }
    hypothesis.settings(**options)(hypothesis.given(CALLS[name])(lambda call: found.append(call)))()  # noqa: PLW0108  # it looks for the code
    return found


def check(name: str, found: Callable[[], object], expected: Callable[[], object]) -> str:
    """What is wrong with a result; nothing if it agrees."""
    try:
        agree(
            rebuilt(name, plain(found())),
            rebuilt(name, plain(expected())),
            values=name not in UNSET,
        )
    except Exception as error:  # noqa: BLE001  # whatever goes wrong is what the table counts
        return f"{type(error).__name__}: {error}".strip().replace("\n", " ")
    return ""


def main() -> None:
    """Run, print a table, and perhaps write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=20, help="eager calls of each function")
    parser.add_argument("--compiled", type=int, default=3, help="compiled calls of each function")
    parser.add_argument("--only", default="", help="functions whose names contain this")
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()
    strict.set_array_api_strict_flags(api_version="2025.12")  # it has all of 2024.12
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rows, problems = [], []
    for name in [each for each in CALLS if options.only in each]:
        eager = compiled = 0
        calls = drawn(name, options.examples)
        for call in calls:
            ours, theirs = partial(run, xp, name, call), partial(run, strict, name, call)
            wrong = check(name, ours, theirs)
            eager += not wrong
            problems += [f"{name}, eager: {wrong}\n    {call}"] if wrong else []
        few = calls[-options.compiled :] if options.compiled else []
        for call in few:
            ours = partial(run, xp, name, call)
            function = tp.compile(function_named(xp, name))
            wrong = check(name, partial(ours, function=function), ours)
            compiled += not wrong
            problems += [f"{name}, compiled: {wrong}\n    {call}"] if wrong else []
        rows.append((name, eager, len(calls), compiled, len(few)))
        print(f"{name:28} {eager:4}/{len(calls):<4} {compiled:4}/{len(few)}", flush=True)
    print("\n".join(problems))
    totals = [sum(row[k] for row in rows) for k in range(1, 5)]
    last = f"all {len(rows)} functions: eager {totals[0]} of {totals[1]}, compiled {totals[2]} of {totals[3]}"
    print(last)
    if options.write:
        lines = [
            "# tensorplay.array_api against array-api-strict, calls that agree",
            "",
            f"`{shlex.join(['python', 'bench/array_api.py', *sys.argv[1:]])}`, array-api-strict {strict.__version__}",
            "",
            "| function | eager | compiled |",
            "|---|---|---|",
        ]
        lines += [f"| {name} | {a} of {b} | {c} of {d} |" for name, a, b, c, d in rows]
        options.write.write_text("\n".join([*lines, "", last, ""]))


if __name__ == "__main__":
    main()
