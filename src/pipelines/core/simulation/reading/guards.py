"""When a change is refused, as its description says: "Waive an unpaid fine", "fails if the room is taken",
"The grave must have room"; and what goes without saying: nothing new begins with whoever is suspended.
Only conditions that are found whole in the world count, each named in a note.
Sentences that the reader of behaviour text has read (behavior/described) are its own: none is read twice."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from pipelines.core.english.formulas import LONGEST, parts_of
from pipelines.core.english.states import BARRED, GONE
from pipelines.core.english.words import ARTICLES, article, joined, tokens, word_set
from pipelines.core.simulation.domain.roles import states_of, status_path, valued_fields
from pipelines.core.simulation.expr.make import Draft, compare, constant, expressions_in, message
from pipelines.core.simulation.expr.nodes import And, Arithmetic, Compare, Constant, Expr, Field, Not
from pipelines.core.simulation.reading.restrictions import stated_in
from pipelines.core.simulation.reading.scope import Scope, Thing, scope_of, stems
from pipelines.core.simulation.reading.steps import Drafted, Step, dot, is_part_of, refusal, require
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
_NO_STATES = word_set("new existing given") | ARTICLES
# Behind a comma stands what becomes of a thing: ", which is in use from then on".
_PARTS = re.compile(r"[,;:()]| [-–—] ")
_TELLS_OF = word_set("report record log note comment document annotate notify send message email remind")
_LONGEST_STATE = 4  # words: "planned or still open"
_WHO_IS = {(who, verb) for who in ("who", "that", "which") for verb in ("is", "are")}
_CLAUSE_ENDS = word_set("and but to for with from in at by so if when")


class _Condition(NamedTuple):
    test: Expr
    note: str
    failure: Step
    said: str = ""  # the words that say it


def guarded(
    reading: Reading, drafted: Drafted, enforced: Sequence[str] = (), *, has_rules: bool = False
) -> Drafted:
    """The plan with what its description demands before anything changes; where nobody wrote rules, with what
    goes without saying, too."""
    if reading.name.reads() or not any(_CHANGES & step.keys() for step in drafted.steps):
        return drafted
    scope = scope_of(reading)
    known = {node for one in expressions_in(drafted.steps) for node in one.walk()}
    conditions = {
        one.test: one
        for one in (*(() if has_rules else _not_barred(reading, drafted, scope)), *_described(reading, scope))
        if not known.issuperset(one.test.parts if isinstance(one.test, And) else (one.test,))
        and not any(one.said and (one.said in told or told in one.said) for told in enforced)
    }
    if not conditions:
        return drafted
    needed = [*_found(scope, [*conditions])]
    rest = [step for step in drafted.steps if not any(_is_same(step, one) for one in needed)]
    checks = [require(one.test, one.failure) for one in conditions.values()]
    notes = (*drafted.notes, *(one.note for one in conditions.values()))
    return replace(drafted, steps=(*needed, *checks, *rest), notes=notes)


def _described(reading: Reading, scope: Scope) -> Iterator[_Condition]:
    failure = refusal(f"cannot_{reading.name.verb}", f"That is not possible now: {reading.said.summary}")
    for test, said in _conditions(reading, scope):
        yield _Condition(
            test, f"refused unless `{test}`: so “{said}” of its description was read", failure, said
        )


def _found(scope: Scope, conditions: Sequence[Expr]) -> Iterator[Step]:
    spoken = frozenset[str]().union(*(one.roots() for one in conditions))
    for step in scope.steps:
        found = step.get("find")
        if isinstance(found, dict) and found["as"] in spoken:
            yield step


def _is_same(step: Step, other: Step) -> bool:
    one, two = step.get("find"), other.get("find")
    same = ("as", "in", "id")
    return (
        isinstance(one, dict) and isinstance(two, dict) and all(one.get(key) == two.get(key) for key in same)
    )


def _conditions(reading: Reading, scope: Scope) -> Iterator[tuple[Expr, str]]:
    """Each with the words that say it."""
    description = " ".join((reading.tool.description or "")[:LONGEST].split())
    for found in _FAILS.finditer(description):
        truth = joined_truth(_words(found[1]), scope)
        if truth is not None:
            yield Not(truth), found[0]
    for found in _NEEDS.finditer(description):
        truth = joined_truth(_words(re.sub(r"\bmust\b", "", found[1] or found[2])), scope)
        if truth is not None:
            yield truth, found[0].lstrip(".; ")
    for thing in scope.things:
        yield from ((one, reading.said.summary) for one in _of_mentions(reading, thing))


def _not_barred(reading: Reading, drafted: Drafted, scope: Scope) -> Iterator[_Condition]:
    """Nobody who is suspended takes part in anything new, and no money goes to an account that is closed; but
    anything may be told of whoever it is."""
    if reading.name.verb in _TELLS_OF:
        return
    words = BARRED if _adds(drafted.steps) else GONE
    moved = [place for step in drafted.steps for place, to in step.get("set", {}).items() if _moves(to)]
    for thing in scope.things:
        status = status_path(thing.collection.fields)
        barred = [one for one in states_of(thing.collection.fields, status) if joined(tokens(one)) in words]
        is_moved = any(is_part_of(place, thing.value) for place in moved)
        if status is not None and barred and (words is BARRED or is_moved):
            place, noun = dot(thing.value, *status), thing.noun.replace("_", " ")
            states = " or ".join(barred)
            note = f"refused for {article(noun).lower()} {noun} that is {states}, though no text says so"
            failure = refusal(f"{thing.noun}_not_active", message(f"The {noun} is ", place))
            yield _Condition(compare(place, "not in", constant([*barred])), note, failure)


def _adds(block: Draft) -> bool:
    if isinstance(block, dict):
        return "add" in block or _adds([*block.values()])
    return isinstance(block, (list, tuple)) and any(map(_adds, block))


def _moves(value: Draft) -> bool:
    """What is given is added, or taken off."""
    sums = (one for one in value.walk() if isinstance(one, Arithmetic)) if isinstance(value, Expr) else ()
    return any(one.sign in ("+", "-") and "args" in one.right.roots() for one in sums)


def _words(text: str) -> list[str]:
    return [word for part in parts_of(text) for word in part]


def _of_mentions(reading: Reading, thing: Thing) -> Iterator[Expr]:
    """What a thing is said to be where it is spoken of: "Cancel an outstanding pledge", "Assign an order to a
    driver who is on duty"."""
    for part in _PARTS.split(reading.said.summary.lower()):
        words = tokens(part)
        for said in _said_of(words, thing):
            if 0 < len(said) <= _LONGEST_STATE:
                found = stated_in(said, thing.collection, thing.value)
                yield from (one for one in found if _is_whole(one, said))


def _said_of(words: Sequence[str], thing: Thing) -> Iterator[list[str]]:
    """The words between an article and the thing, and those behind "who is" and "that is"."""
    values = {value.lower() for _, value in valued_fields(thing.collection.fields)}
    for at, word in enumerate(words):
        # "a draft deed", where some call it a deed draft: its last word ends the name.
        if not stems((word,)) & thing.called or stems(words[at + 1 : at + 2]) & thing.called:
            continue
        begin = max((one + 1 for one in range(at) if words[one] in ARTICLES), default=at)
        if {*words[max(0, begin - 2) : begin]} & {"into", "as"}:
            continue  # "Turn a job into a rush job": what becomes of it
        yield [
            one
            for one in words[begin:at]
            if one not in _NO_STATES and (one in values or not stems((one,)) & thing.called)
        ]
        who_is, state = tuple(words[at + 1 : at + 3]), words[at + 3 :]
        if who_is in _WHO_IS:  # "in" may begin a state, and end it
            yield [*state[:1], *takewhile(lambda one: one not in _CLAUSE_ENDS, state[1:])]


def _is_whole(condition: Expr, said: Sequence[str]) -> bool:
    """A switch is meant by all of its name: "the bank account" says nothing of `bank_verified`."""
    match condition:
        case Compare(first=Field(key=switch), rest=(("==", Constant(value=bool())),)):
            return stems(tokens(switch)) - stems(("is", "has")) <= stems(said)
    return True
