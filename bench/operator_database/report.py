"""The outcomes as JSON and as a page: totals, a row for each operator, what is missing, what fails and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.operator_database.stages import STAGES

Outcomes = Mapping[str, Mapping[str, Any]]
"""By entry: its name, with the variant's after a dot."""


def load(path: Path) -> dict[str, dict[str, Any]]:
    """The outcomes of earlier runs, which this one adds to."""
    if not path.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(path.read_text())["operators"]
    return found


def totals(outcomes: Outcomes) -> dict[str, list[int]]:
    """Passed and total for each stage."""
    found: dict[str, list[int]] = {stage: [0, 0] for stage in STAGES}
    for outcome in outcomes.values():
        for stage, by_dtype in outcome["counts"].items():
            for passed, total in by_dtype.values():
                found[stage][0] += passed
                found[stage][1] += total
    return {stage: pair for stage, pair in found.items() if pair[1]}


def missing(outcomes: Outcomes) -> list[str]:
    """Operators that there are not here."""
    return sorted({outcome["name"] for outcome in outcomes.values() if outcome["absent"]})


def write(path: Path, outcomes: Outcomes, command: str) -> None:
    """`path.json` and `path.md`."""
    document = {
        "command": command,
        "totals": totals(outcomes),
        "missing": missing(outcomes),
        "operators": outcomes,
    }
    path.with_suffix(".json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    path.with_suffix(".md").write_text(page(outcomes, command))


def page(outcomes: Outcomes, command: str) -> str:
    """The page."""
    found = totals(outcomes)
    passed, total = (sum(pair[k] for pair in found.values()) for k in (0, 1))
    lines = ["# PyTorch's operator database as oracle", "", f"`{command}`", ""]
    compared = sum(not each["absent"] for each in outcomes.values())
    share = 100 * passed / max(total, 1)
    lines += [
        f"{compared} entries compared, {passed} of {total} samples agree ({share:.2f} %).",
        "",
    ]
    lines += ["| stage | agree | of | % |", "|---|--:|--:|--:|"]
    lines += [f"| {stage} | {a} | {b} | {100 * a / b:.2f} |" for stage, (a, b) in found.items()]
    absent = missing(outcomes)
    lines += [
        "",
        f"## Missing ({len(absent)})",
        "",
        ", ".join(f"`{each}`" for each in absent) or "none",
    ]
    lines += ["", "## Operators", "", "| operator | " + " | ".join(STAGES) + " |"]
    lines += ["|---" * (len(STAGES) + 1) + "|"]
    for key, outcome in sorted(outcomes.items()):
        if not outcome["absent"]:
            lines.append(
                f"| {key} | " + " | ".join(_cell(outcome, stage) for stage in STAGES) + " |"
            )
    lines += ["", "## What fails", ""]
    for key, outcome in sorted(outcomes.items()):
        lines += failure_lines(key, outcome["failures"])
    notes = [f"- {key}: {note}" for key, each in sorted(outcomes.items()) for note in each["notes"]]
    if notes:
        lines += ["", "## Notes", "", *notes]
    return "\n".join(lines) + "\n"


def _cell(outcome: Mapping[str, Any], stage: str) -> str:
    pairs = outcome["counts"].get(stage, {}).values()
    total = sum(pair[1] for pair in pairs)
    return f"{sum(pair[0] for pair in pairs)}/{total}" if total else ""


def failure_lines(key: str, failures: Sequence[Mapping[str, str]]) -> list[str]:
    """One line for each reason of a stage, with one sample and the number of its like."""
    groups: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for each in failures:
        groups.setdefault((each["stage"], each["reason"].split("(")[0][:60]), []).append(each)
    lines = []
    for (stage, _), found in groups.items():
        dtypes = ", ".join(sorted(Counter(each["dtype"] for each in found if each["dtype"])))
        first = found[0]
        sample = first["sample"].replace("|", "\\|").replace("\n", " ")
        reason = first["reason"].replace("|", "\\|").replace("\n", " ")
        lines.append(f"- **{key}** {stage} ×{len(found)} {dtypes}: `{sample}`: {reason}")
    return lines
