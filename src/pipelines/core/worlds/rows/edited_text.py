"""What the text of a row no longer says after a person rewrote it. The row keeps its calls and its oracle."""

from collections.abc import Iterator, Sequence

from pipelines.core.text.json_text import Json, JsonObject

SHORTEST = 2  # characters: a single digit stands in any text
MOST_LOST = 10


def lost_values(before: str, after: str, calls: Sequence[JsonObject]) -> list[str]:
    """Values of the reference calls that the text named, and names no longer. The agent may still find them
    by other calls, so this is for a person to judge."""
    values = dict.fromkeys(text for call in calls for text in _texts(call.get("arguments")))
    old, new = before.casefold(), after.casefold()
    lost = [text for text in values if text.casefold() in old and text.casefold() not in new]
    return lost[:MOST_LOST]


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if len(text) >= SHORTEST:
            yield text
