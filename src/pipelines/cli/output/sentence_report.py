"""Lines that show how sentences of behaviour texts are read."""

from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.core.simulation.sentences import calls_in_words, suggested
from pipelines.core.text.json_text import JsonObject, dumps

COLUMNS = 80


def read_lines(sentences: Sequence[JsonObject]) -> Iterator[str]:
    """Each sentence that is read completely or in part, with its row and its rules."""
    for report in sentences:
        if report["rules"]:
            yield f"row {report['row']}, behavior: {report['sentence']}"
            yield from (f"    {line}" for line in read_as_lines(report))


def read_as_lines(shown: JsonObject, *, indent: int = 4) -> Iterator[str]:
    """The canonical sentences and typed rules of a sentence, with example calls."""
    body: Any = shown
    by = " by its translation" if body["origin"] == "translated" else ""
    yield from (f"read{by} as: {line}" for line in body["read_as"])
    for example in body.get("examples") or [{"rule": rule} for rule in body["rules"]]:
        yield dumps(example["rule"]).decode()
        for word, call in calls_in_words(example, COLUMNS - indent - len(": ")):
            yield f"{word}: {call}"


def whole_lines(shown: JsonObject) -> Iterator[str]:
    """How a sentence is read, which part is not read, and what is not enforced."""
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
