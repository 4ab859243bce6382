"""A row is kept only with proof: its reference calls, replayed on the world, meet its oracle."""

from collections.abc import Collection

from pipelines.core.json_text import JsonObject
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.shapes import DraftRow, ProvedRow, RejectedRow, Toolset


def prove_row(
    toolset: Toolset,
    state: JsonObject,
    draft: DraftRow,
    *,
    now: str,
    earlier_texts: Collection[str],
    ground: Ground | None = None,
) -> ProvedRow | RejectedRow:
    raise NotImplementedError
