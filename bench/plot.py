#!/usr/bin/env python3
"""Draws what against_peers.py measured: ratios to the best peer, and each row under the machine's roof.

    .venv/bin/python bench/plot.py [--results bench/results] [--bandwidth GB/s]

Writes ratios.png (peer's time over ours, with its confidence interval; above 1 we are faster) and roofline.png
(bytes a second, inputs read once and outputs written once, beside the bandwidth that a copy of 64 MiB on all cores reaches).
"""

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

SETTINGS = ("keep", "default")


def measured_bandwidth() -> float:
    """GB/s of copying 64 MiB on all cores, memory mapped before: what is read plus what is written."""
    source = np.ones(1 << 24, np.float32)
    target = np.ones_like(source)
    cores = os.cpu_count() or 1
    pieces = list(zip(np.array_split(target, cores), np.array_split(source, cores), strict=True))
    best = float("inf")
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(100):
            start = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(*pair), pieces))
            best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / best / 1e9


def load(folder: Path) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """The results of the settings that were measured."""
    files = {s: folder / f"{s}.json" for s in SETTINGS}
    return {s: json.loads(f.read_text())["res"] for s, f in files.items() if f.exists()}


def draw_ratios(results: dict[str, dict[str, dict[str, dict[str, float]]]], target: Path) -> None:
    """One panel a setting, one bar a peer and case, on a logarithmic axis."""
    figure, panels = plt.subplots(len(results), 1, figsize=(10, 4 * len(results)), squeeze=False)
    for axes, (setting, rows) in zip(panels[:, 0], results.items(), strict=True):
        peers = sorted({p for row in rows.values() for p in row} - {"tensorplay"})
        for place, peer in enumerate(peers):
            got = [
                (i, row[peer])
                for i, row in enumerate(rows.values())
                if "ratio" in row.get(peer, {})
            ]
            at = [i + (place - (len(peers) - 1) / 2) * 0.8 / len(peers) for i, _ in got]
            height = np.array([r["ratio"] for _, r in got])
            low, high = ([r[k] for _, r in got] for k in ("ratio_lo", "ratio_hi"))
            spread = np.abs(np.array([height - low, high - height]))
            axes.bar(at, height, 0.8 / len(peers), yerr=spread, label=peer)
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set(yscale="log", ylabel="peer's time / ours", title=f"allocator setting: {setting}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.set_xticks(range(len(rows)), list(rows))
        axes.legend()
    figure.tight_layout()
    figure.savefig(target, dpi=120)


def draw_roofline(
    results: dict[str, dict[str, dict[str, dict[str, float]]]], bandwidth: float, target: Path
) -> None:
    """GB/s of every peer and case in the keep setting, with the roof."""
    rows = results.get("keep") or next(iter(results.values()))
    figure, axes = plt.subplots(figsize=(10, 4))
    for peer in sorted({p for row in rows.values() for p in row}):
        points = [
            (i, row[peer]["bytes"] / row[peer]["median"] / 1e9)
            for i, row in enumerate(rows.values())
            if row.get(peer, {}).get("bytes") and "median" in row[peer]
        ]
        axes.plot(*zip(*points, strict=True), marker="o", linestyle="", label=peer)
    axes.axhline(
        bandwidth,
        color="black",
        linewidth=0.8,
        label=f"NumPy copying on all cores, {bandwidth:.0f} GB/s",
    )
    axes.set(ylabel="GB/s (inputs once + outputs once)", ylim=(0, None))
    axes.set_xticks(range(len(rows)), list(rows))
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout()
    figure.savefig(target, dpi=120)


def main() -> None:
    """Read the command line and the results, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=Path("bench/results"))
    parser.add_argument("--bandwidth", type=float, help="GB/s of the roof; measured when left out")
    given = parser.parse_args()
    results = load(given.results)
    if not results:
        parser.error(
            f"no keep.json or default.json in {given.results}; run bench/against_peers.py first"
        )
    draw_ratios(results, given.results / "ratios.png")
    draw_roofline(results, given.bandwidth or measured_bandwidth(), given.results / "roofline.png")
    print(f"wrote {given.results}/ratios.png and {given.results}/roofline.png")


if __name__ == "__main__":
    main()
