"""Watches a batch: a progress bar with an estimate; Ctrl-C cancels the batch."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pipelines.cli.client import Server

POLL_S = 0.3
INTERRUPTED = 130  # what a shell reports for a command that Ctrl-C ended
stderr = Console(stderr=True, highlight=False)


class OpenedBatch(NamedTuple):
    batch_id: int
    name: str  # as the bar calls it
    cancel_path: str


class WatchedBatch(NamedTuple):
    opened: OpenedBatch
    batch: Any  # as it was when it was done
    was_cancelled: bool  # by Ctrl-C


def watch_batch(
    server: Server,
    open_batch: Callable[[], OpenedBatch],
    *,
    live: Callable[[Any], str] = lambda batch: "",
) -> WatchedBatch:
    """Open a batch and watch it until it is done. `live` formats its state for the bar.

    Ctrl-C already works while the batch is being opened: a large one takes a while, and must not keep running
    after its user has stopped it.
    """
    columns = (
        TextColumn("{task.fields[called]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        _TimeLeftColumn(compact=True),
        TextColumn("{task.fields[live]}"),
    )
    with interruptible() as stopped, Progress(*columns, console=stderr) as bar:
        opened = open_batch()
        task = bar.add_task("", total=None, called=opened.name, live="")
        while True:
            batch = server.get(f"/api/batches/{opened.batch_id}", costs="false")
            counts = batch["counts"]
            unfinished = sum(counts["by_status"].get(status, 0) for status in ("pending", "running"))
            bar.update(task, total=counts["total"], completed=counts["total"] - unfinished, live=live(batch))
            if batch["status"] != "running":
                return WatchedBatch(opened, batch, bool(stopped))
            if len(stopped) == 1:
                server.try_post(opened.cancel_path)  # it may have ended just now
                stopped.append(True)
            time.sleep(POLL_S)


class _TimeLeftColumn(TimeRemainingColumn):
    """The remaining time, marked as an estimate: `about 00:12 left`."""

    def render(self, task: Any) -> Any:
        estimate = super().render(task)
        if task.finished or not any(c.isdigit() for c in estimate.plain):
            return estimate.__class__("")
        return estimate.__class__(f"about {estimate.plain} left", style="progress.remaining")


@contextmanager
def interruptible() -> Iterator[list[bool]]:
    """Record the first Ctrl-C, so that the output is still complete; a second one ends at once."""
    stopped: list[bool] = []

    def note(number: int, frame: FrameType | None) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(True)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)
