"""What became of each sentence, for people: how it was read, or where reading stopped, what could have stood
there and what to write instead.
"""

from collections.abc import Iterator

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.rules.forms import as_json
from pipelines.core.simulation.rules.language.nouns import DEEDS
from pipelines.core.simulation.rules.language.read import Reader, Reading
from pipelines.core.simulation.rules.language.say import say
from pipelines.core.simulation.rules.language.suggest import MakesADifference, Suggestion, suggestions

MOST_ALLOWED = 8
_MOST_NAMED = 4
_KINDS = {
    "tool": "a tool",
    "type": "a type",
    "field": "a field",
    "state": "a value or state",
    **dict.fromkeys(DEEDS, "what a tool does"),
    "number": "a number",
    "text": "a text in quotes",
    "date": "a date",
    "status": "a status such as 409",
    "error": "an error code",
    "role": "who is meant",
    "code": "an expression in backticks",
}


def read_as(reading: Reading, reader: Reader) -> list[str]:
    """The sentences that its rules are shown as."""
    return [*dict.fromkeys(f"{say(rule, reader.vocabulary)}." for rule in reading.rules)]


def stopped_at(reading: Reading, reader: Reader) -> str:
    """Why a sentence, or a part of it, is not read: one line."""
    stop = reading.stop
    if stop is None:
        return ""
    if reading.readings:
        ways = [" ".join(f"{say(rule, reader.vocabulary)}." for rule in rules) for rules in reading.readings]
        return f"it can be read in {len(ways)} ways: " + " / ".join(f"“{way}”" for way in ways)
    allowed = [*_allowed(stop.allowed, reader)]
    return stop.message + (f"; possible here: {', '.join(allowed)}" if allowed else "")


def _allowed(wanted: tuple[str, ...], reader: Reader) -> Iterator[str]:
    """What could have stood there: nouns of the world with examples, then words."""
    nouns = [one[1:-1] for one in wanted if one.startswith("<") and len(one) > 2]
    kinds = dict.fromkeys(_KINDS[name] for name in nouns if name in _KINDS)
    words = [one for one in wanted if one[0].isalpha()]
    examples = {"a tool": [*reader.vocabulary.tools], "a type": [*reader.vocabulary.kinds]}
    found = [
        f"{kind} ({', '.join(examples[kind][:_MOST_NAMED])})" if examples.get(kind) else kind
        for kind in kinds
    ]
    yield from found[:MOST_ALLOWED]
    yield from (f"“{word}”" for word in words[: max(0, MOST_ALLOWED - len(found))])


def reading_json(
    reading: Reading,
    reader: Reader,
    *,
    suggest: bool = True,
    makes_a_difference: MakesADifference | None = None,
) -> JsonObject:
    """A sentence as the API shows it."""
    rules: list[Json] = [as_json(rule) for rule in reading.rules]
    shown: list[Json] = [*read_as(reading, reader)]
    body: JsonObject = {"sentence": reading.sentence, "read_as": shown, "rules": rules}
    stop = reading.stop
    if stop is None:
        return body
    made = suggestions(reading, reader, makes_a_difference) if suggest else ()
    found: list[Json] = [_json(one) for one in made]
    return body | {
        "not_read": {
            "words": stop.words,
            "start": stop.start,
            "end": stop.end,
            "message": stopped_at(reading, reader),
            "suggestions": found,
        }
    }


def _json(one: Suggestion) -> JsonObject:
    drops: JsonObject = {"drops": one.drops} if one.drops else {}
    return {"sentence": one.sentence, **drops}
