"""Sentences about things that say when they may be acted upon: `shipped orders cannot be cancelled`."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from pipelines.core.simulation.behavior.clauses import Guard, Invariant, Once, Unknown
from pipelines.core.simulation.behavior.guards import (
    EVERYONE,
    WHOEVER_TAKES_IT,
    fuller,
    refuse,
    unless,
)
from pipelines.core.simulation.behavior.matching import Piece, table
from pipelines.core.simulation.behavior.meaning import (
    IT,
    Any_,
    Compare,
    Condition,
    Field,
    Literal_,
    Outcome,
    Owns,
    Thing,
    Who,
    both,
    negated,
)
from pipelines.core.simulation.behavior.phrases import constant
from pipelines.core.simulation.behavior.sayings import about


def _done(verb: str, thing: Thing | None) -> Who:
    return Who(verb=verb, noun=(thing.noun if thing else None) or None)


def _can_only(thing: Thing, verb: str, condition: Condition, outcome: Outcome | None = None) -> Guard:
    return Guard(unless(thing, about(condition, thing.noun)), outcome, _done(verb, thing))


def _cannot(
    thing: Thing, verb: str, condition: Condition | None = None, outcome: Outcome | None = None
) -> Guard | None:
    said = both(thing.condition, None if condition is None else about(condition, thing.noun))
    if said is None:
        return None
    return refuse(said, outcome, _done(verb, thing))


def _aimed(condition: Condition, outcome: Outcome | None = None, who: Who | None = None) -> Guard:
    return Guard(condition, outcome, who or WHOEVER_TAKES_IT)


def _thing_fails(
    thing: Thing, first: Outcome, who: Who | None = None, outcome: Outcome | None = None
) -> Guard | None:
    if thing.condition is None:
        return None
    return refuse(
        thing.condition, fuller(first, outcome), who or (WHOEVER_TAKES_IT if not thing.noun else IT)
    )


def _own(verb: str, noun: str, outcome: Outcome | None = None) -> Guard:
    return Guard(Owns(noun or None), outcome, Who(verb=verb, noun=noun or None))


def _role_does(
    role: Condition, verb: str, thing: Thing | None = None, outcome: Outcome | None = None
) -> Guard:
    need = role if thing is None or thing.condition is None else Any_((negated(thing.condition), role))
    return Guard(about(need, thing.noun if thing else None), outcome, _done(verb, thing))


_ZERO = Literal_(Decimal(0))


def _stays(field: Field, op: Any = ">=", amount: Any = _ZERO) -> Invariant:
    return Invariant(Compare(field, op, amount), None, EVERYONE)


_WHOLE = (
    ("{purpose:who} [,] {mustcond:condition} [{result:outcome}]", _aimed),
    ("{mustcond:condition} {purpose:who} [{result:outcome}]", _aimed),
    ("{mustcond:condition} {forwho:who} [{result:outcome}]", _aimed),
    ("{forwho:who} [,|:] {mustcond:condition} [{result:outcome}]", _aimed),
    ("{mustcond:condition} [{result:outcome}]", _aimed),
    ("{thing} {failing:first} by {tools:who} [{result:outcome}]", _thing_fails),
    (
        "only {role} can|may|is|are [allowed|permitted|able] [to] {baseverb:verb} {thing}|it|them "
        "[{result:outcome}]",
        _role_does,
    ),
    (
        "{callers} can|may|is|are only [allowed|able] [to] {baseverb:verb} their|its|his|her own "
        "{noun} [{result:outcome}]",
        _own,
    ),
    ("{callers} can|may {baseverb:verb} only their|its|his|her own {noun} [{result:outcome}]", _own),
    ("{callers} can|may not {baseverb:verb} {othersown:noun} [{result:outcome}]", _own),
    (
        "{field} {never} be|go|drop|fall|get below|under {amount}",
        lambda field, amount: _stays(field, ">=", amount),
    ),
    (
        "{a} second|repeated|duplicate {action} [of|on the same {noun}] {failing:outcome}",
        lambda action, outcome: Once(outcome, Who(verb=action)),
    ),
    (
        "{gerund:verb} [{thing}] twice|again {failing:outcome}",
        lambda verb, outcome, thing=None: Once(outcome, _done(verb, thing)),
    ),
)

_NO_SUCH = "unknown|nonexistent|missing|invalid|unrecognized|unrecognised|wrong"
_ID = "[id|ids|number|numbers]"

PIECES: dict[str, Piece] = {
    "unknown": table(
        (
            "[asking|calling|querying] {who} [for|of|with|on] {nosuch:noun} {refused:outcome}",
            lambda who, noun, outcome: Unknown(noun or None, outcome, replace(who, condition=None)),
        ),
        (
            "{who} {refused:outcome} for|on|when|if|with|given [given] {nosuch:noun} "
            "[{be} given|passed|used|asked|supplied]",
            lambda who, noun, outcome: Unknown(noun or None, outcome, replace(who, condition=None)),
        ),
        (
            "[for|with|asking|looking|requesting] [for|up] {nosuch:noun} [,] {refused:outcome}",
            lambda noun, outcome: Unknown(noun or None, outcome, EVERYONE),
        ),
    ),
    "system": table(("it | we | the system|backend|tool|api|server", constant(""))),
    "nosuch": table(
        (f"{{a}} {_NO_SUCH} {{noun}} {_ID}", lambda noun: noun),
        (f"{{a}} {{noun}} {_ID} that|which does|do not exist", lambda noun: noun),
        (f"{{a}} {{noun}} {_ID} that|which {{be}} not {{found}}", lambda noun: noun),
        ("{a} id|ids [that|which] {system} does|do not know", lambda: ""),
    ),
    "found": table(("found|known|there|recognized|recognised|registered | on file", constant(""))),
    "refused": table(
        ("[{answerer}] {failing}", lambda failing: failing),
        ("[,|:|-|=] {payload}", lambda payload: payload),
    ),
    "guardwhole": table(*_WHOLE),
    "cannot": table(),
    "never": table(
        ("can|may|must|should|will|shall never", constant("")), ("can|may|must|should not", constant(""))
    ),
}
