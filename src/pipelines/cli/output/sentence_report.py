"""How sentences of behaviour texts are read, in lines for a terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.core.simulation.sentences import calls_in_words, suggested
from pipelines.core.text.json_text import JsonObject, dumps

COLUMNS = 80


def read_lines(sentences: Sequence[JsonObject]) -> Iterator[str]:
    """Of those that are read, also in part, by row: each followed by what it is read as."""
    for shown in sentences:
        if shown["rules"]:
            yield f"row {shown['row']}, behavior: {shown['sentence']}"
            yield from (f"    {line}" for line in read_as_lines(shown))


def read_as_lines(shown: JsonObject, *, indent: int = 4) -> Iterator[str]:
    """The canonical sentences and the typed rules of one, with calls that show what they do."""
    body: Any = shown
    by = " by its translation" if body["origin"] == "translated" else ""
    yield from (f"read{by} as: {line}" for line in body["read_as"])
    for example in body.get("examples") or [{"rule": rule} for rule in body["rules"]]:
        yield dumps(example["rule"]).decode()
        for word, call in calls_in_words(example, COLUMNS - indent - len(": ")):
            yield f"{word}: {call}"


def whole_lines(shown: JsonObject) -> Iterator[str]:
    """Everything about one sentence: what it is read as, what of it is not read, and what it does not do."""
    yield from read_as_lines(shown, indent=2)
    body: Any = shown
    stop = body["not_read"]
    if stop is not None:
        words = f" “{stop['words']}”" if body["rules"] else ""
        yield f"not read, so not enforced{words}: {stop['message']}"
        yield from (f"nearest: {one.said()}" for one in suggested(shown))
    if body["not_enforced"] is not None:
        yield f"not enforced: {body['not_enforced']}"
    if body["uniform"] is not None:
        yield f"note: {body['uniform']}"
