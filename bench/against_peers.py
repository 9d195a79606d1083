#!/usr/bin/env python3
"""Runs the peers' harness with our interpreter in three settings and judges the ratios.

    .venv/bin/python bench/against_peers.py --harness ../shared/peers [--settings keep,default,eager] [--nice -99]

The harness (compare.py, latency.py; `$TP_PEERS_HARNESS` names it too) keeps one worker process a peer and times them
in rotation. `keep`: every peer's freed memory stays mapped, which judges kernels. `default`: as users run
it, which judges the product. `eager`: nothing compiled, every row of the harness, against PyTorch's eager. Each setting is
written to OUT/SETTING.json and OUT/SETTING.md with its command.
"""

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

ROWS = "T1,T2,T3,T4,T5,T6,S,P1,P2,P11"
LARGE_OUTPUT = {"T2", "T3", "T4", "T6", "S1", "S2", "S3", "P1", "P2", "P11"}
KEEP = (
    "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824"
    ":glibc.malloc.trim_threshold=8589934592:glibc.malloc.arena_max=1"
)
COMPILED, EAGER = "tensorplay", "tensorplay-eager"


def run(command: list[str]) -> None:
    """Run a script of the harness with our interpreter as the project's."""
    print("$", shlex.join(command), flush=True)
    subprocess.run(command, env={**os.environ, "TENSORPLAY_PYTHON": sys.executable}, check=True)


def verdict(results: dict[str, dict[str, dict[str, Any]]], setting: str) -> str:
    """A table of each row against its best peer, with what it must hold in this setting, and the geometric mean."""
    us = EAGER if setting == "eager" else COMPILED
    ratios = []
    lines = [f"| case | {us} ms | best peer | its ms | peer / ours | must be | holds |"]
    lines.append("|---|---|---|---|---|---|---|")
    for case, row in results.items():
        ours = row[us]
        peers = {
            p: r for p, r in row.items() if p != us and "median" in r and r.get("good") is not False
        }
        if "median" not in ours or not peers or ours.get("good") is False:
            reason = ours.get("error") or ours.get("why") or "no peer"
            lines.append(f"| {case} | {reason} | | | | | **no** |")
            continue
        best = min(peers, key=lambda p: peers[p]["median"])
        ratio = peers[best]["ratio"]
        ratios.append(ratio)
        if setting == "keep":
            need = 1 / 1.05
        elif setting == "default" and case in LARGE_OUTPUT:
            need = 3.0
        else:
            need = 0.0
        holds = "yes" if ratio >= need else "**no**"
        mine, theirs = (f"{r['median'] * 1e3:.2f}" for r in (ours, peers[best]))
        goal = f"≥ {need:.2f}" if need else ""
        lines.append(f"| {case} | {mine} | {best} | {theirs} | {ratio:.2f} | {goal} | {holds} |")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        need, holds = ("≥ 1", "yes" if mean >= 1 else "**no**") if setting == "eager" else ("", "")
        lines.append(f"| geometric mean | | | | {mean:.2f} | {need} | {holds} |")
    return "\n".join(lines) + "\n"


def compare(harness: Path, setting: str, given: argparse.Namespace) -> None:
    """One run of compare.py; its JSON and Markdown, and our verdict under them."""
    json_file, text_file = given.out / f"{setting}.json", given.out / f"{setting}.md"
    eager = setting == "eager"
    peers = f"{EAGER},torch-eager" if eager else f"{COMPILED},{given.peers}"
    command = [sys.executable, str(harness / "compare.py"), "--peers", peers]
    if given.cases or not eager:
        command += ["--cases", given.cases or ROWS]
    command += ["--nice", str(given.nice), "--rounds", str(given.rounds)]
    command += [
        "--k",
        str(given.k),
        "--timeout",
        "300",
        "--out",
        str(json_file),
        "--md",
        str(text_file),
    ]
    if setting == "keep":
        command += ["--env", KEEP]
    run(command)
    results = json.loads(json_file.read_text())["res"]
    shown = shlex.join(["python", "bench/against_peers.py", *sys.argv[1:]])
    judged = verdict(results, setting)
    text_file.write_text(f"`{shown}` (setting *{setting}*)\n\n{judged}\n{text_file.read_text()}")
    print(judged)


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--harness", type=Path, default=os.environ.get("TP_PEERS_HARNESS"))
    parser.add_argument("--peers", default="torch-compile,jax")
    parser.add_argument("--cases", help=f"default: {ROWS}; all of them in the setting eager")
    parser.add_argument("--settings", default="keep,default")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--k", type=int, default=1, help="divide the sizes, to try the command out")
    parser.add_argument(
        "--latency", action="store_true", help="measure first calls and call overhead too"
    )
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    given = parser.parse_args()
    if given.harness is None or not (Path(given.harness) / "compare.py").exists():
        parser.error("name the folder of compare.py: --harness FOLDER, or TP_PEERS_HARNESS=FOLDER")
    given.out.mkdir(parents=True, exist_ok=True)
    for setting in filter(None, given.settings.split(",")):
        compare(Path(given.harness), setting, given)
    if given.latency:
        files = ["--out", str(given.out / "latency.json"), "--md", str(given.out / "latency.md")]
        script = str(Path(given.harness) / "latency.py")
        peers = f"{given.peers},{COMPILED}"
        run([sys.executable, script, "--peers", peers, "--nice", str(max(given.nice, -20)), *files])


if __name__ == "__main__":
    main()
