"""Tasks asked of a world: requests in plain English with the calls that serve them and an oracle each."""

from collections.abc import Collection, Iterator

from pipelines.core.json_text import JsonObject
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.shapes import Bucket, DraftRow, Toolset


def draft_rows(
    toolset: Toolset,
    state: JsonObject,
    bucket: Bucket,
    *,
    rng_seed: int,
    now: str,
    axes: Collection[str],
    ground: Ground | None = None,
) -> Iterator[DraftRow]:
    """Candidates, more than the bucket wants where the world allows it: take them until it is full."""
    raise NotImplementedError


def bucket_notes(
    toolset: Toolset,
    state: JsonObject,
    bucket: Bucket,
    *,
    now: str,
    axes: Collection[str],
    ground: Ground | None = None,
) -> tuple[str, ...]:
    """What its author should know: how the theme was understood, and which tools get no rows and why."""
    raise NotImplementedError
