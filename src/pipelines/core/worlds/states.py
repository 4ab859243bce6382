"""Which states a record may be in, where no enum says so: where verbs lead, and what the texts speak of."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipelines.core.english.inflection import participle
from pipelines.core.english.states import BARRED, INITIAL, LATE, OVER
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.simulation.domain.tool_facts import ToolFacts, facts_of
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.reading.descriptions import read_description
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.samples import hints_of
from pipelines.core.tools_schema import Tool
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.spoken import about_type

MOST_TEXT = 20_000  # characters looked at
#: What a record is in before any of the verbs: people and what they hold are active, the rest waits.
_HELD = word_set("card account subscription membership policy licence license contract plan device")
#: States that are no participles.
_PLAIN = (
    OVER | BARRED | LATE | word_set("available unavailable inactive unpaid sent lost live full processing")
)
#: Words that read like states and are said of calls, not of records.
_NO_STATES = word_set(
    "given asked called allowed required needed used named seed related used based own included limited "
    "sorted specified changed updated returned_unchanged existing missing matching following corresponding "
    "associated combined interested united indeed need speed feed succeed exceed proceed bring string thing "
    "morning evening during being having nothing something king ring refused rejected denied failed been "
    "between when then returned returning status_code"
)
_SAID = re.compile(
    r"\b(?:status|state)\b(?: of [\w ]{1,30}?)?\s*(?:is|are|=|==|becomes?|to|must be|in|not|was|:)*\s*"
    r"(?:not\s+|either\s+|already\s+|one of\s+)?['\"`‘“]?([a-z][a-z_]+)['\"`’”]?"
    r"(?:(?:,| or|, or| and)\s+['\"`‘“]?([a-z][a-z_]+)['\"`’”]?)?",
    re.IGNORECASE,
)


def with_states(
    types: Mapping[str, TypeOutline], tools: Sequence[Tool], behavior: str | None, rules: Sequence[Rule] = ()
) -> dict[str, TypeOutline]:
    """Each type whose status has no enum, with the states that were found for it."""
    facts = facts_of(tools)
    return {name: _with_states(one, types, facts, behavior or "", rules) for name, one in types.items()}


def _with_states(
    own: TypeOutline,
    types: Mapping[str, TypeOutline],
    facts: Sequence[ToolFacts],
    behavior: str,
    rules: Sequence[Rule],
) -> TypeOutline:
    status = own.status
    if status is None or status.values or _lists_values(status):
        return own
    about = [fact for fact in facts if about_type(fact, types) == own.name]
    found = dict.fromkeys((*_in_rules(own.name, status.name, rules), *_found(own, types, about, behavior)))
    first = _first_state(own, list(found), about)
    states = tuple(dict.fromkeys((first, *found)))
    fields = tuple(
        replace(one, values=states, is_closed=False) if one.name == status.name else one for one in own.fields
    )
    return replace(own, fields=fields)


def _in_rules(kind: str, status: str, rules: Sequence[Rule]) -> Iterator[str]:
    """What typed rules compare the status with."""
    nodes = (node for rule in rules for expr in rule.expressions() for node in expr.walk())
    for node in nodes:
        if isinstance(node, n.Compare) and n.path_of(node.first) == n.Path(kind, (status,)):
            yield from hints_of(node, ()).texts


def _lists_values(status: FieldOutline) -> bool:
    return status.schema is not None and isinstance(status.schema.get("enum"), list)


def _found(
    own: TypeOutline, types: Mapping[str, TypeOutline], about: Sequence[ToolFacts], behavior: str
) -> Iterator[str]:
    for fact in about:
        said = read_description(fact.tool.description)
        words = tokens(fact.tool.name)
        for at, word in enumerate(words[:-1]):  # cancel_pending_order
            if at > 0 and singular(words[at + 1]) == singular(tokens(own.name)[-1]) and _is_state(word):
                yield word
        yield from said.forbidden_states
        yield from _adjectives(own, fact.tool.description or "")
        yield from _stated(fact.tool.description or "")
        if fact.name.op == "transition":
            yield said.becomes or participle(fact.name.verb)
    text = " ".join(_sentences_about(own, types, about, behavior))
    yield from _stated(text)
    yield from _adjectives(own, text)


def _sentences_about(
    own: TypeOutline, types: Mapping[str, TypeOutline], about: Sequence[ToolFacts], behavior: str
) -> Iterator[str]:
    names = {fact.tool.name.lower() for fact in about}
    last = singular(tokens(own.name)[-1])
    others = {singular(tokens(name)[-1]) for name in types} - {last}
    for sentence in re.split(r"(?<=[.!?;])\s+", behavior[:MOST_TEXT]):
        words = {singular(word) for word in tokens(sentence)}
        named = any(name in sentence.lower() for name in names)
        if named or (last in words and not words & others):
            yield sentence


def _stated(text: str) -> Iterator[str]:
    """`status is pending or paid`, `set to 'return requested'`."""
    for found in _SAID.finditer(text[:MOST_TEXT]):
        yield from (word.lower() for word in found.groups() if word and _is_state(word.lower()))


def _adjectives(own: TypeOutline, text: str) -> Iterator[str]:
    """`a pending order`, `active cards`; both of `open or overdue rentals`."""
    words = re.findall(r"[A-Za-z_]+", text[:MOST_TEXT])
    last = singular(tokens(own.name)[-1])
    for at in range(1, len(words)):
        if singular(words[at].lower()) != last:
            continue
        before = words[at - 1].lower()
        if before != "new" and _is_state(before):
            yield before
            if at > 2 and words[at - 2].lower() in ("or", "and") and _is_state(words[at - 3].lower()):
                yield words[at - 3].lower()


def _is_state(word: str) -> bool:
    if word in _NO_STATES or len(word) < 3:
        return False
    return word in _PLAIN or word in INITIAL or word.endswith(("ed", "en")) or "_" in word


def _first_state(own: TypeOutline, found: Sequence[str], about: Sequence[ToolFacts]) -> str:
    known = next((one for one in (*INITIAL, "available") if one in found), None)
    if known is not None:
        return known
    is_held = own.is_person or singular(tokens(own.name)[-1]) in _HELD
    return "active" if is_held else "open" if any(fact.name.verb == "close" for fact in about) else "pending"
