"""States of a record: the field that holds them, where a verb leads, and when a verb is refused."""

import re
from collections.abc import Iterable, Iterator, Sequence

from pipelines.core.english.inflection import participle
from pipelines.core.english.states import (
    AFTER_DEATH,
    BACK_TO_WORK,
    DEAD,
    FINAL,
    INITIAL,
    LEADS_TO,
    OVER,
    PAUSES,
    STOPPED_BY_FINAL,
    SWITCHES,
    SWITCHES_OFF,
)
from pipelines.core.english.stems import stem
from pipelines.core.english.words import article, joined, singular, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.roles import states_of, status_path, valued_fields
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import compare, constant, differs, message
from pipelines.core.simulation.reading.descriptions import read_description
from pipelines.core.simulation.reading.steps import Step, dot, refusal, require, word
from pipelines.core.simulation.reading.tool_reading import Reading

# "The booking becomes checked_in.", "Puts a frozen membership back to active."
_LEADS = re.compile(r"\b(?:to|as|becomes?)\s+(?:the\s+|an?\s+)?['\"]?(\w+)", re.IGNORECASE)


def status_of(reading: Reading, collection: Collection) -> tuple[str, ...] | None:
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
    under_way = next((state for state in known if joined(tokens(state)) not in OVER), None)
    return first or under_way or in_style("open", known or reading.known.states)


def target_state(reading: Reading, collection: Collection) -> str:
    """The state a verb leads to: as the description says, as a sister tool's does, else its participle."""
    said = told_state(reading)
    if said is not None:
        return said
    known = known_states(reading, collection)
    told = next(
        (found for word in _LEADS.findall(reading.said.summary) if (found := _same_state(word, known))), None
    )
    if told is not None:
        return told
    options = (*LEADS_TO.get(reading.name.verb, ()), participle(reading.name.verb))
    found = next((found for state in options if (found := _same_state(state, known))), None)
    if found is None and reading.name.verb in BACK_TO_WORK:
        found = next((first for state in INITIAL if (first := _same_state(state, known))), None)
    return found or in_style(options[0], known or reading.known.states)


def place_of_state(state: str, collection: Collection) -> tuple[str, ...] | None:
    """The field in which some record is in this state already, though it is not called one: `standing`."""
    wanted = joined(tokens(state))
    places = (path for path, value in valued_fields(collection.fields) if joined(tokens(value)) == wanted)
    return next(places, None)


def told_state(reading: Reading) -> str | None:
    """In so many words, by the description or that of a sister tool."""
    return reading.said.becomes or _as_sisters_say(reading)


def _as_sisters_say(reading: Reading) -> str | None:
    """`return_goods` leads to 'return requested': then `repair_goods` to 'repair requested'."""
    for tool in reading.known.tools.values():
        other = tool.name
        if tool.tool.name == reading.tool.name or other.verb == reading.name.verb:
            continue
        if not set(other.nouns) & set(reading.name.nouns) or len(other.nouns) != len(reading.name.nouns):
            continue
        from_description = read_description(tool.tool.description).becomes
        if from_description and re.search(rf"\b{re.escape(other.verb)}\b", from_description):
            return re.sub(rf"\b{re.escape(other.verb)}\b", reading.name.verb, from_description)
    return None


def in_style(state: str, known: Sequence[str]) -> str:
    """A state spelled as the world spells its states: Cancelled, CANCELLED, on-hold."""
    sample = next(iter(known), "")
    parts = tokens(state)
    if sample.isupper():
        return "_".join(parts).upper()
    separator = next((mark for one in known for mark in ("_", "-", " ") if mark in one), "_")
    if sample[:1].isupper():
        return (
            " ".join(part.capitalize() for part in parts)
            if separator == " "
            else separator.join(part.capitalize() for part in parts)
        )
    return separator.join(parts)


def _same_state(state: str, known: Iterable[str]) -> str | None:
    wanted = joined(tokens(state)).replace("ll", "l")
    return next((one for one in known if joined(tokens(one)).replace("ll", "l") == wanted), None)


def state_conditions(reading: Reading, collection: Collection, noun: str, target: Json) -> list[Step]:
    """In which states the verb is refused, with 409."""
    path = status_of(reading, collection)
    if path is None:
        return []
    status = dot(noun, *path)
    shown = noun.replace("_", " ")
    done = participle(reading.name.verb).replace("_", " ")
    steps: list[Step] = []
    if isinstance(target, str):
        already = refusal(f"already_{word(target)}", f"The {shown} is already {target}")
        steps.append(require(differs(status, constant(target)), already))
    forbidden = _forbidden(reading, collection, target)
    if forbidden:
        failure = refusal(
            f"cannot_{word(reading.name.verb)}",
            message(f"{article(shown)} {shown} that is ", status, f" cannot be {done}"),
        )
        steps.append(require(compare(status, "not in", constant(list(forbidden))), failure))
    return steps


def _forbidden(reading: Reading, collection: Collection, target: Json) -> tuple[str, ...]:
    known = known_states(reading, collection)
    told = [_same_state(state, known) or state for state in reading.said.forbidden_states]
    verb = reading.name.verb
    past = FINAL if verb in STOPPED_BY_FINAL else DEAD if verb not in AFTER_DEATH else frozenset()
    told += [state for state in known if joined(tokens(state)) in past]
    return tuple(dict.fromkeys(state for state in told if state != target))


def switch_field(reading: Reading, collection: Collection) -> tuple[str, bool | None] | None:
    """A yes-or-no field the verb sets: enable_roaming → roaming_enabled, unlock_account → is_locked.

    None for what is turned round, whatever it is: toggle_contactless.
    """
    verb = reading.name.verb
    nouns = [singular(each) for each in reading.name.nouns]
    for name, field in collection.fields.items():
        if "boolean" not in field.kinds:
            continue
        words = [each for each in tokens(name) if each not in ("is", "has")]
        is_named = [singular(each) for each in words] == nouns[-len(words) :]
        if verb == "toggle" and (is_named or _only_switch(collection) == name):
            return name, None
        for done, value in _switched_to(verb):
            rest = [each for each in words if each not in done]
            if len(rest) < len(words) and all(singular(each) in nouns for each in rest):
                return name, value
        if verb in SWITCHES and [singular(each) for each in words] == nouns[-len(words) :]:
            return name, verb not in SWITCHES_OFF
    return None


def _only_switch(collection: Collection) -> str | None:
    found = [name for name, field in collection.fields.items() if "boolean" in field.kinds]
    return found[0] if len(found) == 1 else None


def knows_effect(reading: Reading, collection: Collection) -> bool:
    """Whether the records show what the verb does: they can be `disputed`, or some are `waived`."""
    done = _same_state(participle(reading.name.verb), known_states(reading, collection))
    return done is not None or switch_field(reading, collection) is not None


def _switched_to(verb: str) -> Iterator[tuple[frozenset[str], bool]]:
    """Words of a field that the verb makes true, then those that it makes false."""
    yield frozenset((verb, participle(verb))), True
    for prefix in ("un", "dis"):
        base = verb.removeprefix(prefix)
        if base != verb and len(base) > 2:
            yield frozenset((base, participle(base))), False
    if verb in SWITCHES:
        yield word_set("enabled active activated on running"), verb not in SWITCHES_OFF
    if verb in PAUSES:
        yield word_set("active enabled"), False
    if verb in BACK_TO_WORK:
        yield word_set("active enabled"), True
        yield frozenset(participle(each) for each in PAUSES), False
