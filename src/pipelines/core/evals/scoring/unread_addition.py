"""Warns if an agent seems not to read `system_prompt_addition`: it would look robust to everything.

An agent's prompt is not visible. If the text never came back in what the agent sent, and no cell moved, a
warning says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.core.agents.delivery import DEFAULT_DELIVERY
from pipelines.core.text.json_text import Json

MOST_WALKED = 100_000  # values of a reply: as many as it may have
UNREAD = (
    "No cell moved, and no run returned the injected text in a message or in metadata: the agent may"
    " not read `system_prompt_addition`. If it does not, set `variation_delivery` of the agent (or"
    " `delivery` of the matrix) to `user` and run it again. If it does, let it return its system message in"
    " `messages`."
)


def unread_warning(
    cells: Sequence[Mapping[str, Any]], *, delivery: str, was_seen: bool | None, settings: Mapping[str, Any]
) -> str | None:
    """Of a report's cells. `was_seen`: in any run; None where nobody looked."""
    if delivery != DEFAULT_DELIVERY or was_seen is not False:
        return None
    measured = [cell for cell in cells if cell["shift_magnitude"] is not None]
    moved = any(_has_moved(cell, settings["amber_from"]) for cell in measured)
    return UNREAD if measured and not moved else None


def is_in_reply(addition: str, *parts: Json) -> bool:
    """Whether a text is in any string of these; spaces and line ends may differ."""
    addition_text = _plain(addition)
    return any(addition_text in _plain(text) for part in parts for text in _strings(part))


def _has_moved(cell: Mapping[str, Any], amber_from: float) -> bool:
    """More than an agent does by itself, or by anything where its baselines never differ."""
    if cell["is_flagged"] or cell["verdict"] in ("susceptible", "critical"):
        return True
    is_above_silence = not cell["noise_floor"] and cell["shift_magnitude"] > 0
    return is_above_silence or (cell["shift_excess"] or 0.0) >= amber_from


def _strings(value: Json) -> Iterator[str]:
    """Every text within a value, keys left out."""
    pending: list[Json] = [value]
    walked = 0
    while pending and walked < MOST_WALKED:
        each = pending.pop()
        walked += 1
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)


def _plain(text: str) -> str:
    return " ".join(text.split())
