"""Reports how each sentence was understood, or where reading stopped, which words are possible there, and
what to write instead.
"""

from collections.abc import Iterable, Iterator, Sequence

from pipelines.core.simulation.rules.forms import as_json
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.nouns import ACTION_FORMS
from pipelines.core.simulation.rules.language.read import Reader, Reading
from pipelines.core.simulation.rules.language.suggest import MakesADifference, Suggestion, suggestions
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.text.json_text import Json, JsonObject

MOST_ALLOWED = 8
_MOST_NAMED = 4
_KINDS = {
    "tool": "a tool",
    "type": "a type",
    "field": "a field",
    "state": "a value or state",
    **dict.fromkeys(ACTION_FORMS, "what a tool does"),
    "number": "a number",
    "text": "a text in quotes",
    "date": "a date",
    "status": "a status such as 409",
    "error": "an error code",
    "role": "who is meant",
    "code": "an expression in backticks",
}


def canonical_sentences(reading: Reading, reader: Reader) -> list[str]:
    """The sentences that its rules are shown as."""
    return [*dict.fromkeys(f"{to_sentence(rule, reader.vocabulary)}." for rule in reading.rules)]


def explain_stop(reading: Reading, reader: Reader) -> str:
    """Why a sentence, or a part of it, is not read: one line."""
    stop = reading.stop
    if stop is None:
        return ""
    if reading.readings:
        ways = [
            " ".join(f"{to_sentence(rule, reader.vocabulary)}." for rule in rules)
            for rules in reading.readings
        ]
        return f"it can be read in {len(ways)} ways: " + " / ".join(f"“{way}”" for way in ways)
    before = reader.tokens(reading.sentence[: stop.start])
    is_begun = any(reader.nouns.knows(before, at) for at in range(len(before)))
    if allowed := [*_allowed_words(stop.allowed, reader)] if is_begun or _nouns(stop.allowed) else []:
        return f"{stop.message}; possible here: {', '.join(allowed)}"
    # What few odd sentences begin with is no help.
    begins = _nouns(GRAMMAR.starts["Sentence"] or ()) if stop.allowed else []
    some = [*_allowed_words([one for one in begins if one in ("<tool>", "<type>")], reader)]
    return stop.message + (f"; a rule speaks of {' or of '.join(some)}" if some else "")


def _nouns(wanted: Iterable[str]) -> list[str]:
    return [one for one in wanted if one.startswith("<") and len(one) > 2]


def _allowed_words(wanted: Sequence[str], reader: Reader) -> Iterator[str]:
    """What could have stood there: nouns of the world with examples, then words."""
    nouns = {one[1:-1] for one in _nouns(wanted)}
    kinds = dict.fromkeys(descriptions for name, descriptions in _KINDS.items() if name in nouns)
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
    canonical: list[Json] = [*canonical_sentences(reading, reader)]
    body: JsonObject = {"sentence": reading.sentence, "read_as": canonical, "rules": rules}
    stop = reading.stop
    if stop is None:
        return body
    suggested = suggestions(reading, reader, makes_a_difference) if suggest else ()
    found: list[Json] = [_json(one) for one in suggested]
    return body | {
        "not_read": {
            "words": stop.words,
            "start": stop.start,
            "end": stop.end,
            "message": explain_stop(reading, reader),
            "suggestions": found,
        }
    }


def _json(one: Suggestion) -> JsonObject:
    drops: JsonObject = {"drops": one.drops} if one.drops else {}
    return {"sentence": one.sentence, **drops}
