"""When a change is refused, as its description says: "Waive an unpaid fine", "fails if the room is taken",
"The grave must have room". Only conditions that are found whole in the world count, each named in a note.
Sentences that the reader of behaviour text has read (behavior/described) are its own: none is read twice."""

import re
from collections.abc import Iterator, Sequence

from pipelines.core.english.formulas import LONGEST, parts_of
from pipelines.core.english.words import ARTICLES, tokens, word_set
from pipelines.core.simulation.domain.roles import valued_fields
from pipelines.core.simulation.reading.restrictions import stated_in
from pipelines.core.simulation.reading.scope import Scope, Thing, scope_of, stems
from pipelines.core.simulation.reading.steps import Drafted, Step, refusal, require
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.truths import joined_truth

_FAILS = re.compile(
    r"\b(?:fails?|refused|rejected|not (?:possible|allowed)|an? error|impossible) (?:if|when|where) ([^.;]+)",
    re.IGNORECASE,
)
_NEEDS = re.compile(
    r"\b(?:only (?:if|when|while)|provided(?: that)?|as long as) ([^.;]+)|(?:^|[.;] )([^.;]*\bmust\b [^.;]+)",
    re.IGNORECASE,
)
_CHANGES = frozenset(("set", "append", "add", "remove"))
_NO_STATES = word_set("new existing given open") | ARTICLES
_NEAR = 7  # words from the verb to its object


def guarded(reading: Reading, drafted: Drafted, enforced: Sequence[str] = ()) -> Drafted:
    """The plan with what its description demands before anything changes."""
    if reading.name.reads() or not any(_CHANGES & step.keys() for step in drafted.steps):
        return drafted
    scope = scope_of(reading)
    known = str(drafted.steps)
    conditions = {
        one: said
        for one, said in _conditions(reading, scope, drafted)
        if one not in known and not any(said in told or told in said for told in enforced)
    }
    if not conditions:
        return drafted
    needed = [*_found(scope, [*conditions])]
    rest = [step for step in drafted.steps if not any(_is_same(step, one) for one in needed)]
    failure = refusal(f"cannot_{reading.name.verb}", f"That is not possible now: {reading.said.summary}")
    checks = [require(one, failure) for one in conditions]
    notes = tuple(
        f"refused unless `{one}`: so “{said}” of its description was read" for one, said in conditions.items()
    )
    return Drafted(
        steps=(*needed, *checks, *rest),
        notes=(*drafted.notes, *notes),
        remarks=drafted.remarks,
        confidence=drafted.confidence,
    )


def _found(scope: Scope, conditions: Sequence[str]) -> Iterator[Step]:
    text = " ".join(conditions)
    for step in scope.steps:
        found = step.get("find")
        if isinstance(found, dict) and re.search(rf"\b{re.escape(str(found['as']))}\b", text):
            yield step


def _is_same(step: Step, other: Step) -> bool:
    one, two = step.get("find"), other.get("find")
    same = ("as", "in", "id")
    return (
        isinstance(one, dict) and isinstance(two, dict) and all(one.get(key) == two.get(key) for key in same)
    )


def _conditions(reading: Reading, scope: Scope, drafted: Drafted) -> Iterator[tuple[str, str]]:
    """Each with the words that say it."""
    description = " ".join((reading.tool.description or "")[:LONGEST].split())
    for found in _FAILS.finditer(description):
        truth = joined_truth(_words(found[1]), scope)
        if truth is not None:
            yield f"not ({truth})", found[0]
    for found in _NEEDS.finditer(description):
        truth = joined_truth(_words(re.sub(r"\bmust\b", "", found[1] or found[2])), scope)
        if truth is not None:
            yield truth, found[0].lstrip(".; ")
    about = reading.subject
    for thing in scope.things:
        is_about = about is not None and thing.argument is about.id_argument
        if is_about and (reading.name.op != "create" or f"'{thing.text}." in str(drafted.steps)):
            yield from ((one, reading.said.summary) for one in _of_object(reading, thing))


def _words(text: str) -> list[str]:
    return [word for part in parts_of(text) for word in part]


def _of_object(reading: Reading, thing: Thing) -> Iterator[str]:
    """What the object of the sentence is said to be: "Cancel an outstanding pledge"."""
    words = tokens(reading.said.summary.lower())[: _NEAR + 1]
    end = next((at for at, word in enumerate(words) if at and stems((word,)) & thing.called), 0)
    while end and stems(words[end + 1 : end + 2]) & thing.called:
        end += 1  # "a draft deed", where some call it a deed draft
    begin = max((at + 1 for at in range(end) if words[at] in ARTICLES), default=end)
    values = {value.lower() for _, value in valued_fields(thing.collection.fields)}
    said = [
        word
        for word in words[begin:end]
        if word not in _NO_STATES and (word in values or not stems((word,)) & thing.called)
    ]
    if said and len(said) < 3:
        found = stated_in(said, thing.collection, thing.text)
        yield from (one for one in found if _is_whole(one, said))


def _is_whole(condition: str, said: Sequence[str]) -> bool:
    """A switch is meant by all of its name: "the bank account" says nothing of `bank_verified`."""
    switch = _SWITCH.search(condition)
    return switch is None or stems(tokens(switch[1])) - stems(("is", "has")) <= stems(said)


_SWITCH = re.compile(r"\.(\w+) == (?:true|false)$")
