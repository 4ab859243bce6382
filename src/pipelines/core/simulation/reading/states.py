"""States of a record: the field that holds them, where a verb leads, and when a verb is refused.

What undoes a state (release a hold, lift a ban, take off display, reopen) never sets it: the words that name
what is undone are no target, and where they are told to be one, nothing is clear."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipelines.core.english.inflection import participle
from pipelines.core.english.stems import stem
from pipelines.core.english.verbs import (
    AFTER_DEATH,
    BACK_TO_WORK,
    DEAD,
    FINAL,
    INITIAL,
    LEADS_TO,
    OFF,
    OPPOSITES,
    OVER,
    PAUSES,
    STOPPED_BY_FINAL,
    UNDOES,
)
from pipelines.core.english.words import article, joined, singular, tokens, without_denial, word_set
from pipelines.core.simulation.domain.fields import states_of, status_path, valued_fields
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import compare, constant, differs, message
from pipelines.core.simulation.reading.steps import Bound, Step, dot, refusal, require, spoken, word
from pipelines.core.simulation.reading.tool_reading import Reading, read_description
from pipelines.core.text.json_text import Json

Path = tuple[str, ...]

_ASIDE = word_set("is has was can be are in on the a an to of at under")
# "The booking becomes checked_in.", "Puts a frozen membership back to active.", "Marks it as paid."
_LEADS = re.compile(
    r"\b(?:to|into|as|becomes?|starts in|begins in)\s+(?:being\s+)?(?:the\s+|an?\s+)?['\"]?"
    r"((?:not\s+|no longer\s+)?[a-z][\w-]*(?:\s[a-z][\w-]*){0,2})"
)
_UNDOING = ("un", "dis", "de")


class Change(NamedTuple):
    """A place in a record and what it becomes; `known`: some record can be so, or the description says it."""

    path: Path
    value: Json
    by_name: bool = False  # the tool's name says so, with or without its description
    is_known: bool = True


def status_of(reading: Reading, collection: Collection) -> Path | None:
    """The one place of a record's state, for what is checked and what is changed alike."""
    return status_path(collection.fields, {singular(word) for word in reading.name.nouns})


def known_states(reading: Reading, collection: Collection) -> tuple[str, ...]:
    return states_of(collection.fields, status_of(reading, collection))


def initial_state(reading: Reading, collection: Collection) -> str:
    """What a new record's status is: a first state the world knows, else "open" in the world's spelling."""
    known = known_states(reading, collection)
    spoken = [stem(word) for word in tokens(reading.tool.name)]
    named = next((state for state in known if stem(joined(tokens(state))) in spoken), None)
    if named is not None and joined(tokens(named)) not in OVER:
        return named  # `loan_request` makes one that is requested
    first_ones = (*LEADS_TO.get(reading.name.verb, ()), *INITIAL)  # `start_hire` makes one that is running
    first = next((found for state in first_ones if (found := _same_state(state, known))), None)
    under_way = next((state for state in sorted(known) if joined(tokens(state)) not in OVER), None)
    return first or under_way or in_style("open", known or reading.known.states)


# -- what is undone


def undoes(reading: Reading) -> bool:
    """By the verb of the name (`release_hold`, `unfreeze_card`) or a particle (`take_off_display`)."""
    base = without_denial(reading.name.verb)
    spoken = {*tokens(reading.tool.name), *tokens(reading.said.summary.lower())[:5]}
    return reading.name.verb in UNDOES or base in PAUSES or "off" in spoken


def undone_by(reading: Reading, collection: Collection) -> frozenset[tuple[Path, Json]]:
    """States and switches that the undoing takes away: those that its words name as what is so before."""
    if not undoes(reading):
        return frozenset()
    verb = reading.name.verb
    bases = [verb.removeprefix(prefix) for prefix in _UNDOING if verb.startswith(prefix)]
    before = _LEADS.sub(" ", reading.said.summary.lower())
    words = {stem(word) for word in (*tokens(reading.tool.name)[1:], *tokens(before)[1:], *bases)}
    status = status_of(reading, collection)
    leads = {joined(tokens(one)) for one in LEADS_TO.get(verb, ())}
    states = [one for one in known_states(reading, collection) if joined(tokens(one)) not in leads]
    found = {(status, one) for one in states if status is not None and words.issuperset(_content(one))}
    return frozenset(
        found | {((name,), True) for name, own in _switches(collection) if words.issuperset(own)}
    )


def _content(phrase: str) -> list[str]:
    words = tokens(phrase)
    return [stem(word) for word in words if word not in _ASIDE] or [stem(word) for word in words]


# -- where it leads


def change_of(reading: Reading, collection: Collection, *, by_verb: bool = True) -> Change | None:
    """What the tool makes of such a record, by what its words say and what the records can be; `by_verb`: its
    verb leads to a state. None where nothing says so, or where it is what the tool undoes."""
    undone = undone_by(reading, collection)
    found = next((one for one in _changes(reading, collection, by_verb) if one is not None), None)
    return found if found is not None and (found.path, found.value) not in undone else None


def _changes(reading: Reading, collection: Collection, by_verb: bool) -> Iterator[Change | None]:
    status = status_of(reading, collection)
    known = known_states(reading, collection)
    described_state = told_state(reading) if by_verb else None
    if described_state is not None:
        yield Change(status or ("status",), described_state)
    yield _switch_named(tokens(reading.tool.name), collection) if by_verb else None
    summary = reading.said.summary.lower()
    leads = [tokens(phrase)[0] for phrase in _LEADS.findall(summary)]
    verb = reading.name.verb
    options = (*LEADS_TO.get(verb, ()), participle(verb))
    for state in (*leads, *options, *(INITIAL if verb in BACK_TO_WORK else ())) if by_verb else ():
        same = _same_state(state, known)
        yield Change(status, same) if same is not None and status is not None else None
    undone = undone_by(reading, collection)
    yield _named(reading, collection, undone) or next(
        (Change((name,), False, True) for (name, *_), value in undone if value is True), None
    )
    last = tokens(reading.tool.name)[-1]
    if status is not None and last in leads and stem(last) != last:
        yield Change(status, in_style(last, known), True)  # both say the state, though no record has it
    if by_verb and (verb in LEADS_TO or not undoes(reading)):
        state = in_style(options[0], known or reading.known.states)
        yield Change(status or _place_of_state(state, collection) or ("status",), state, is_known=False)


def _named(reading: Reading, collection: Collection, undone: frozenset[tuple[Path, Json]]) -> Change | None:
    """A state or a switch that the tool's name says: `send_to_repair` ends `in_repair`."""
    own = {singular(word) for noun in (collection.words, *collection.called) for word in noun}
    words, service = tokens(reading.tool.name), reading.name.service
    words = words[len(service) :] if words[: len(service)] == service else words
    # `void_pending_order`: what stands before the noun says of which orders, not what becomes of them.
    nouns = [at for at, word in enumerate(words) if singular(word) in own]
    named = [*words[:1], *words[max(nouns, default=0) + 1 :]] if nouns != [0] else [*words[1:]]
    status = status_path(collection.fields)
    for some in (named, words) if words[0] in OFF or not named else (named,):
        stems = {stem(word) for word in some}
        states = [one for one in states_of(collection.fields, status) if stems.issuperset(_content(one))]
        states = [one for one in states if (status, one) not in undone]
        if states and status is not None:
            return Change(status, max(states, key=lambda one: (len(_content(one)), one)), True)
        if (found := _switch_named(some, collection)) is not None:
            return found
    return None


def _switch_named(words: Sequence[str], collection: Collection) -> Change | None:
    bases = [base for base in map(without_denial, words) if base is not None]
    stems = {stem(word.removeprefix("re")) for word in (*words, *bases)} | {stem(word) for word in words}
    opposed = {stem(OPPOSITES[word]) for word in words if word in OPPOSITES}
    for name, content in _switches(collection):
        if (stems | opposed).issuperset(content):
            is_off = any(word in OFF and word not in tokens(name) for word in words)
            is_undone = opposed & {*content} or any(stem(base) in content for base in bases)
            return Change((name,), not (is_off or is_undone), True)
    return None


def _switches(collection: Collection) -> Iterator[tuple[str, list[str]]]:
    for name, one in collection.fields.items():
        if "boolean" in one.kinds:
            yield name, _content(name)


def _place_of_state(state: str, collection: Collection) -> Path | None:
    """The field in which some record is in this state already, though it is not called one: `standing`."""
    state_name = joined(tokens(state))
    places = (path for path, value in valued_fields(collection.fields) if joined(tokens(value)) == state_name)
    return next(places, None)


def told_state(reading: Reading) -> str | None:
    """In so many words, by the description; else as that of a sister tool: `return_goods` leads to 'return
    requested', so `repair_goods` to 'repair requested'."""
    if reading.said.becomes is not None:
        return reading.said.becomes
    own = reading.name
    for tool in reading.known.tools.values():
        other = tool.name
        if other.verb == own.verb or not {*other.nouns} & {*own.nouns} or len(other.nouns) != len(own.nouns):
            continue
        state = read_description(tool.tool.description).becomes
        if state and re.search(rf"\b{re.escape(other.verb)}\b", state):
            return re.sub(rf"\b{re.escape(other.verb)}\b", own.verb, state)
    return None


def in_style(state: str, known: Sequence[str]) -> str:
    """A state spelled as the world spells its states: Cancelled, CANCELLED, on-hold."""
    sample, parts = min(known, default=""), tokens(state)
    if sample.isupper():
        return "_".join(parts).upper()
    separator = next((mark for mark in ("_", "-", " ") if any(mark in one for one in known)), "_")
    return separator.join(part.capitalize() if sample[:1].isupper() else part for part in parts)


def _same_state(state: str, known: Iterable[str]) -> str | None:
    state_name = joined(tokens(state)).replace("ll", "l")
    return next((one for one in known if joined(tokens(one)).replace("ll", "l") == state_name), None)


# -- when it is refused


def state_conditions(reading: Reading, bound: Bound, changed: Path, target: Json) -> list[Step]:
    """In which states the verb is refused, with 409: where the record is so already, and in final states."""
    shown_noun, verb = spoken(bound.noun).replace("_", " "), reading.name.verb
    done = participle(verb).replace("_", " ")
    steps: list[Step] = []
    if target is not None:
        already = target if isinstance(target, str) else done
        why = refusal(f"already_{word(already)}", f"The {shown_noun} is already {already}")
        steps.append(require(differs(dot(bound.noun, *changed), constant(target)), why))
    path = status_of(reading, bound.collection)
    known = known_states(reading, bound.collection)
    past = FINAL if verb in STOPPED_BY_FINAL else DEAD if verb not in AFTER_DEATH else frozenset()
    past_states = [_same_state(state, known) or state for state in reading.said.forbidden_states]
    past_states += [state for state in known if joined(tokens(state)) in past]
    forbidden = [state for state in dict.fromkeys(past_states) if state != target]
    if path is not None and forbidden:
        status = dot(bound.noun, *path)
        why = refusal(
            f"cannot_{word(verb)}",
            message(f"{article(shown_noun)} {shown_noun} that is ", status, f" cannot be {done}"),
        )
        steps.append(require(compare(status, "not in", constant([*forbidden])), why))
    return steps
