"""What a set of rows is about, counted."""

from collections.abc import Iterable

from pipelines.core.worlds.shapes import Coverage, DraftRow, Toolset


def coverage(rows: Iterable[DraftRow], toolset: Toolset) -> Coverage:
    raise NotImplementedError
