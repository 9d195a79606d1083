"""PyTorch's operator database as oracle: every operator that both libraries have, called with its samples.

    scripts/oracle --ops 'cum*,add' --stages forward,backward --out build/oracle

Prints totals and the first failures, writes JSON and a page. Runs of parts add up in one JSON.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench.operator_database import names, report, workers
from bench.operator_database.stages import STAGES, Options


def main() -> int:
    """Run what the command line asks for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="scripts/oracle", description=__doc__)
    parser.add_argument(
        "--ops", default="*", help="names or patterns, by commas; a ! in front excludes"
    )
    parser.add_argument("--dtypes", default=",".join(Options().dtypes))
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--samples", type=int, default=Options().samples, help="0 for all")
    parser.add_argument("--compiled-samples", type=int, default=Options().compiled_samples)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one operator")
    parser.add_argument("--out", type=Path, default=Path("build/operator_database"))
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--show", type=int, default=40, help="lines about failures to print")
    given = parser.parse_args()
    options = Options(
        tuple(given.stages.split(",")),
        tuple(given.dtypes.split(",")),
        given.samples,
        given.compiled_samples,
    )
    entries = _entries(given.ops)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    outcomes = {} if given.fresh else report.load(given.out.with_suffix(".json"))
    start = time.perf_counter()
    fresh = {}
    running = workers.run(list(entries), options, count=given.workers, limit=given.limit)
    command = "scripts/oracle " + " ".join(sys.argv[1:])
    try:
        for place, found in tqdm(running, total=len(entries), unit="op", mininterval=5):
            key = entries[place]
            fresh[key] = _died(key, found) if isinstance(found, str) else found
            outcomes[key] = _merged(outcomes.get(key), fresh[key])
            if len(fresh) % 20 == 0:
                report.write(given.out, outcomes, command)
    except KeyboardInterrupt:
        print(f"stopped after {len(fresh)} of {len(entries)} entries")
    report.write(given.out, outcomes, command)
    print("\n".join(report.page(fresh, "").splitlines()[4:20]))
    lines = [
        line for key in sorted(fresh) for line in report.failure_lines(key, fresh[key]["failures"])
    ]
    print("\n".join(lines[: given.show]))
    print(f"{len(fresh)} entries in {time.perf_counter() - start:.0f} s; {given.out}.json, .md")
    return 0


def _entries(patterns: str) -> dict[int, str]:
    """Places in the database and names of the entries wanted."""
    from torch.testing._internal.common_methods_invocations import op_db

    wanted = patterns.split(",")
    plain = [each for each in wanted if not each.startswith("!")] or ["*"]
    refused = [each[1:] for each in wanted if each.startswith("!")]
    found = {}
    for place, info in enumerate(op_db):
        key = info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")
        if names.is_internal(info.name) or not any(_fits(info.name, each) for each in plain):
            continue
        if not any(_fits(info.name, each) for each in refused):
            found[place] = key
    return found


def _fits(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern)


def _died(key: str, reason: str) -> dict[str, Any]:
    failure = {"stage": "forward", "dtype": "", "sample": "", "reason": reason}
    return {
        "name": key, "variant": "", "absent": False, "counts": {"forward": {"": [0, 1]}},
        "failures": [failure], "notes": [],
    }  # fmt: skip


def _merged(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Stages that ran again take the place of what was known of them."""
    if old is None or new["absent"] or old["absent"]:
        return new
    kept = [each for each in old["failures"] if each["stage"] not in new["counts"]]
    return {**new, "counts": {**old["counts"], **new["counts"]}, "failures": kept + new["failures"]}


if __name__ == "__main__":
    sys.exit(main())
