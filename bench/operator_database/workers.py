"""Entries of the database in processes of their own: one that dies or hangs is a failure, not the end."""

from __future__ import annotations

import multiprocessing as mp
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from typing import Any

from bench.operator_database.stages import Options


def _serve(pipe: Connection, options: Options) -> None:
    """Run the entries whose places arrive."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    import tensorplay as tp
    from bench.operator_database.stages import Runner

    torch.set_num_threads(1)
    tp.set_num_threads(1)
    while (place := pipe.recv()) is not None:
        try:
            pipe.send(asdict(Runner(op_db[place], options).run()))
        except Exception:  # a fault of this tool: told as the entry's failure
            pipe.send(traceback.format_exc(limit=-3))


class _Worker:
    def __init__(self, options: Options) -> None:
        context = mp.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, options), daemon=True)
        self.process.start()
        other.close()
        self.place: int | None = None
        self.started = 0.0

    def give(self, place: int | None) -> None:
        self.place, self.started = place, time.monotonic()
        self.pipe.send(place)

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def run(
    places: Sequence[int], options: Options, *, count: int, limit: float
) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Outcomes as they come; a text where the process died or took more than `limit` seconds."""
    queue = list(reversed(places))
    workers = [_Worker(options) for _ in range(min(count, len(queue)))]
    for worker in workers:
        worker.give(queue.pop())
    while workers:
        ready = wait([worker.pipe for worker in workers], timeout=1.0)
        for worker in list(workers):
            found: dict[str, Any] | str | None = None
            if worker.pipe in ready:
                try:
                    found = worker.pipe.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    found = f"the process died with status {worker.process.exitcode}"
            elif time.monotonic() - worker.started > limit:
                found = f"no end after {limit:.0f} s"
            if found is None:
                continue
            assert worker.place is not None  # it was given one
            yield worker.place, found
            if isinstance(found, str):
                worker.end()
                workers.remove(worker)
                if queue:
                    workers.append(_Worker(options))
                    workers[-1].give(queue.pop())
            elif queue:
                worker.give(queue.pop())
            else:
                worker.give(None)
                worker.process.join()
                workers.remove(worker)
