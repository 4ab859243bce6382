"""What a change leads to, as the records themselves show it: a state or a switch that they have and that the
words of the tool name. `take_off_display` switches `on_display` off, `send_to_repair` ends `in_repair`,
"Sets a donor as not eligible" makes `eligible` false, `mark_no_show` leads to `no_show`.

The verb need not be known. Nothing is found where no record could be so.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import NamedTuple

from pipelines.core.english.polarity import without_denial
from pipelines.core.english.states import OFF, OPPOSITES
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import joined, singular, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.roles import states_of, status_path, valued_fields
from pipelines.core.simulation.domain.shapes import Collection, find_field
from pipelines.core.simulation.reading.states import in_style
from pipelines.core.simulation.reading.tool_reading import Reading

Path = tuple[str, ...]

_ASIDE = word_set("is has was can be are in on the a an to of at")
# "marks it as X", "becomes X", "making it X", "it is X from now on"
_LEADS = re.compile(
    r"\b(?:as|to|into|becomes?|it|is then|is|are)\s+(?:an?\s+|the\s+|being\s+)?((?:not\s+|no longer\s+)?"
    r"[a-z][\w-]*(?:\s[a-z][\w-]*){0,2})"
)
_CONDITIONS = word_set("once when if unless until while before after as")
LONGEST_READ = 600  # characters of a description: what a tool does is said at its beginning


class Change(NamedTuple):
    path: Path
    value: Json
    by_name: bool  # the tool's name says so, with or without its description


def evident_change(reading: Reading, collection: Collection) -> Change | None:
    """By the name before the description: that tells of other things, too."""
    own = {singular(word) for noun in (collection.words, *collection.called) for word in noun}
    words = tokens(reading.tool.name)
    service = reading.name.service
    words = words[len(service) :] if words[: len(service)] == service else words
    # `void_pending_order`: what stands before the noun says of which orders, not what becomes of them.
    nouns = [at for at, word in enumerate(words) if singular(word) in own]
    named = [*words[:1], *words[max(nouns, default=0) + 1 :]] if nouns != [0] else [*words[1:]]
    status = status_path(collection.fields)
    # A word that the records are called by may be what happens, too: `release_hold(customer_id)`.
    for spoken in (named, words) if words[0] in OFF or not named else (named,):
        found = _state_named(spoken, status, collection) or _switch_named(spoken, collection)
        if found is not None:
            return Change(*found, True)
    for phrase in _phrases(reading):
        told = _told(phrase, status, collection)
        if told is not None:
            return Change(*told, False)
    return None


def marked_as(reading: Reading, collection: Collection) -> Change | None:
    """`mark_parcel_delivered`, "Marks a parcel as delivered.": both say the state, no record has it."""
    status = status_path(collection.fields)
    last = tokens(reading.tool.name)[-1]
    told = {tokens(phrase)[0] for phrase in _phrases(reading)}
    if reading.name.verb not in ("mark", "set", "flag") or status is None or last not in told:
        return None
    known = states_of(collection.fields, status)
    is_done = last.endswith(("ed", "en", "wn")) and find_field(collection.fields, last) is None
    return Change(status, in_style(last, known), True) if is_done and known else None


def agrees(reading: Reading, change: Change) -> bool:
    """Whether the description speaks of what the name says, or there is none."""
    words = {stem(word) for word in tokens(reading.tool.description or "")}
    shown = change.value if isinstance(change.value, str) else change.path[-1]
    content = _content(tokens(shown))
    return not reading.tool.description or any(one in words for one in content)


def _content(words: Iterable[str]) -> list[str]:
    return [stem(word) for word in words if word not in _ASIDE] or [stem(word) for word in words]


def _state_named(
    words: Sequence[str], status: Path | None, collection: Collection
) -> tuple[Path, Json] | None:
    """`in_repair` of send_to_repair, `reserved` of reserve: all that the state says is in the name."""
    stems = {stem(word) for word in words}
    best: tuple[int, str] | None = None
    for state in states_of(collection.fields, status):
        content = _content(tokens(state))
        if stems.issuperset(content) and (best is None or len(content) > best[0]):
            best = (len(content), state)
    return (status, best[1]) if best is not None and status is not None else None


def _switches(collection: Collection) -> Iterator[tuple[str, list[str]]]:
    for name, one in collection.fields.items():
        if "boolean" in one.kinds:
            yield name, _content(tokens(name))


def _switch_named(words: Sequence[str], collection: Collection) -> tuple[Path, Json] | None:
    plain = [without_denial(word) or word for word in words]
    stems = {other for word in (*words, *plain) for other in related(stem(word.removeprefix("re")))}
    stems |= {stem(word) for word in words}
    opposed = {stem(OPPOSITES[word]) for word in words if word in OPPOSITES}
    for name, content in _switches(collection):
        parts = {*tokens(name)}
        if stems.issuperset(content):
            is_off = any(word in OFF and word not in parts for word in words)
            is_denied_in_word = any(
                base is not None and stem(base) in content for base in map(without_denial, words)
            )
            return (name,), not (is_off or is_denied_in_word)
        if opposed.issuperset(content):
            return (name,), False
    return None


def _phrases(reading: Reading) -> Iterator[str]:
    description = " ".join((reading.tool.description or "")[:LONGEST_READ].lower().split())
    for found in _LEADS.finditer(description):
        said = [*takewhile(lambda word: word not in _CONDITIONS, found[1].split())]
        behind = description[found.end() :].split()[:1]
        if len(said) == len(found[1].split()) and not _CONDITIONS & {*behind}:
            yield found[1]  # "it is settled once nothing is left" is so later, or not at all


def _told(phrase: str, status: Path | None, collection: Collection) -> tuple[Path, Json] | None:
    words = tuple(dropwhile(lambda word: word in _ASIDE, phrase.split()))
    for size in range(len(words), 0, -1):
        said = [word for word in words[:size] if word not in ("not", "no", "longer")]
        wanted = joined(tokens(" ".join(said))) if said else ""
        denied = len(said) < size
        for name, _ in _switches(collection):
            if wanted and wanted in (
                joined(tokens(name)),
                joined(w for w in tokens(name) if w not in _ASIDE),
            ):
                return (name,), not denied
        places = valued_fields(collection.fields)
        same = [(path, value) for path, value in places if joined(tokens(value)) == wanted]
        if same and not denied:
            return next((one for one in same if one[0] == status), same[0])
    return None
