"""Sentences that say what a call changes, and how the amounts it answers with are computed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from pipelines.core.simulation.behavior.clauses import (
    Assign,
    Become,
    Clause,
    Compute,
    Keep,
    Keepsake,
    Raise,
    Restock,
    Step,
)
from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import (
    Amount,
    Any_,
    Condition,
    Field,
    Literal_,
    Not,
    Present,
    Sum,
    Thing,
    negated,
)
from pipelines.core.simulation.behavior.phrases import constant

ZERO = Literal_(Decimal(0))


def _assign(field: Field, value: Any) -> Assign:
    return Assign(replace(field, is_new=True), value)


def _step(sign: str) -> Callable[..., Step]:
    def means(field: Field, by: Amount) -> Step:
        return Step(replace(field, is_new=True), by, sign)  # type: ignore[arg-type]

    return means


def _points(number: Decimal, field: Field, noun: str | None = None) -> Step:
    return Step(Field(field.name, noun or field.owner, False, True), Literal_(number), "+")


_ACTIVE = (
    ("set~|change~|update~|switch~|turn~ {target:field} to|as {newvalue:value}", _assign),
    ("set~|change~|update~ {target:field} from {value} to {newvalue:value}", _assign),
    ("set~|change~|update~ {assignments}", lambda assignments: assignments),
    (
        "mark~|flag~|label~|make~|turn~ {thing}|it [as] {state} [again]",
        lambda state, thing=None: _become(thing, state),
    ),
    (
        "move~|transition~|change~|set~|put~|switch~ {thing} [in] to {state} [status|state]",
        lambda thing, state: _become(thing, state),
    ),
    ("increase~|increment~|raise~|credit~|top~ {target:field} [up] by|with {by}", _step("+")),
    ("decrease~|decrement~|reduce~|lower~|debit~|charge~ {target:field} by {by}", _step("-")),
    ("add~|credit~|deposit~ {by} [back] to|onto|into {target:field}", _step("+")),
    ("deduct~|subtract~|take~|debit~|withdraw~|remove~ {by} from {target:field}", _step("-")),
    ("add~|award~|grant~|give~|credit~ {number} {new_field:field} [to|on|for {a} {noun}]", _points),
    (
        "move~|extend~|push~|shift~|postpone~|advance~ {target:field} [out|back|forward] [by] {duration} "
        "[later|forward|back|out|ahead]",
        lambda field, duration: Step(replace(field, is_new=True), duration, "+"),
    ),
    ("record~|store~|save~|keep~|log~|persist~ {argument} [on|in|with|against {thing}|it]", Keepsake),
    (
        "record~|store~|save~|keep~|log~|persist~ {argument} as|under|in {new_field:under} [on|of {thing}]",
        Keepsake,
    ),
    ("set~|raise~|activate~|turn~|trigger~ [on] [the|a] {flag} [ledger] flag", Raise),
    (
        "restore~|replenish~|release~ [the] [reserved] {stock} [of [all|each] {a} "
        "items|item|products|product] [it contained]",
        Restock,
    ),
    ("clear~|empty|empties|remove~|delete~|unset~|reset~ {target:field}", lambda field: Assign(field, None)),
)


def _become(thing: Thing | None, word: str) -> Become | None:
    if thing is None:
        return Become(None, word)
    return None if thing.condition is not None else Become(thing.noun or None, word)


_PASSIVE = (
    ("{target:field} becomes|become {newvalue:value}", _assign),
    ("{target:field} is|are|gets set|changed|updated|switched|turned to {newvalue:value}", _assign),
    ("{target:field} decreases|drops by {by} | {target:field} goes down by {by}", _step("-")),
    ("{number} {new_field:field} is|are added|awarded|granted|given|credited [to {a} {noun}]", _points),
    ("[the|a] {flag} [ledger] flag is|gets set|raised|activated", Raise),
    (
        "{a} [ordered] items|products|item|product is|are restocked | {a} items|products is|are "
        "returned|added|put [back] to|in|into {stock}",
        Restock,
    ),
)


# -- computed ----------------------------------------------------------------------------------------------


def conditional(clause: Any, condition: Condition) -> Clause | None:
    """The clause, only when the condition holds; None where that makes no sense."""
    if isinstance(clause, (Assign, Step, Become, Raise, Compute)) and clause.when is None:
        return replace(clause, when=condition)
    if isinstance(clause, Keep):  # "… unless status is given": what is asked for, not what each thing has
        return replace(clause, condition=Any_((negated(_asked(condition)), clause.condition)))
    return None


def _asked(condition: Condition) -> Condition:
    match condition:
        case Present(field):
            return Present(replace(field, is_argument=True))
        case Not(part):
            return Not(_asked(part))
        case _:
            return condition


def assignments(matcher: Matcher, at: int) -> Iterator[Found]:
    """`status to cancelled and cancelled_at to the run date`: two or more in one breath."""
    for end, field in matcher.piece("target", at):
        if matcher.low(end) not in ("to", "="):
            continue
        for last, value in matcher.piece("newvalue", end + 1):
            first = (_assign(field, value),)
            after = last + (matcher.low(last) == ",")
            after += matcher.low(after) == "and"
            if after > last:
                for far, rest in assignments(matcher, after):
                    yield far, (*first, *rest)
            yield last, first


PIECES: dict[str, Piece] = {
    "assignments": assignments,
    "effect": table(*_ACTIVE),
    "passive": table(*_PASSIVE),
    "target": table(("{new_field}", lambda new_field: new_field)),
    "by": table(("{formula}", lambda formula: formula)),
    "newvalue": table(
        ("{now}", lambda now: now),
        ("[the] {argument}", lambda argument: argument),
        ("{value}", lambda value: Literal_(value)),
        ("{formula}", lambda formula: formula if isinstance(formula, Sum) else None),
    ),
    "argument": table(("{field}", lambda field: field)),
    "stock": table(
        ("stock|inventory", constant("stock")), ("stock levels|level|count|quantity", constant("stock"))
    ),
}
