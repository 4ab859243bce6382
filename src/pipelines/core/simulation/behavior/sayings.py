"""What may be said of a field (`is at least 10`) and of a thing (`is older than a week`, `has no items`)."""

from dataclasses import fields as parts_of
from dataclasses import is_dataclass, replace
from decimal import Decimal
from typing import Any

from pipelines.core.simulation.behavior.matching import Piece, table
from pipelines.core.simulation.behavior.meaning import (
    MONEY,
    Age,
    All,
    Amount,
    Any_,
    Compare,
    Condition,
    Duration,
    Field,
    HasSome,
    Is,
    Literal_,
    Measure,
    Not,
    Now,
    OneOf,
    Op,
    Owns,
    Present,
    Sum,
    Times,
    Unique,
)
from pipelines.core.simulation.behavior.phrases import constant

IT = Field("\0it")  # the field being spoken of, until it is known
ZERO = Literal_(Decimal(0))


def said_of(meaning: Any, field: Field) -> Any:
    """The same statement about this field."""
    if meaning == IT:
        return field
    return _rebuilt(meaning, lambda part: said_of(part, field))


def about(meaning: Any, noun: str | None) -> Any:
    """The same statement about this thing, where it does not name one itself."""
    if isinstance(meaning, (Is, Age, Times, Measure, Owns)) and not meaning.noun and noun:
        meaning = replace(meaning, noun=noun)
    if isinstance(meaning, Compare):  # what it is compared with may be an argument
        return replace(meaning, left=about(meaning.left, noun))
    if isinstance(meaning, Field):
        return (
            replace(meaning, owner=noun)
            if noun and meaning.owner is None and not meaning.is_argument
            else meaning
        )
    return _rebuilt(meaning, lambda part: about(part, noun))


def _rebuilt(meaning: Any, change: Any) -> Any:
    if isinstance(meaning, tuple):
        return tuple(change(part) for part in meaning)
    if not is_dataclass(meaning) or isinstance(meaning, type):
        return meaning
    return replace(meaning, **{part.name: change(getattr(meaning, part.name)) for part in parts_of(meaning)})


def between(low: Amount, high: Amount) -> Condition:
    return All((Compare(IT, ">=", low), Compare(IT, "<=", high)))


def _unless_one_value(values: tuple[Any, ...]) -> Condition:
    return OneOf(IT, values)


_SAID_OF_FIELD = table(
    ("one|any of [:] {values}", _unless_one_value),
    ("given|provided|supplied|specified|present|set|included|known|passed", lambda: Present(IT)),
    ("negative | below|under zero | less than zero", lambda: Compare(IT, "<", ZERO)),
    ("positive", lambda: Compare(IT, ">", ZERO)),
    ("unique", lambda: Unique(IT)),
    ("{cmp} {amount}", lambda cmp, amount: Compare(IT, cmp, amount)),
    ("{amount} or {ormore}", lambda amount, ormore: Compare(IT, ormore, amount)),
    ("between {amount:low} and {amount:high} [inclusive | ‹ inclusive ›]", between),
    ("in|within [the] range [of|from] {amount:low} to|and {amount:high}", between),
    ("{age}", lambda age: Age(IT, *age)),
    ("{ahead}", lambda ahead: Age(IT, ahead[0], ahead[1], None, True)),
    ("in the past", lambda: Compare(IT, "<", Now())),
    ("in the future", lambda: Compare(IT, ">", Now())),
    ("(before | earlier than | prior to) {moment}", lambda moment: Compare(IT, "<", moment)),
    ("{values}", _unless_one_value),
)

_FIELD_DOES = table(
    ("exceed~|surpass~ {amount}", lambda amount: Compare(IT, ">", amount)),
    ("= {values}", _unless_one_value),
)


def in_status(values: tuple[Any, ...]) -> Condition:
    return Any_(tuple(Is(str(value)) for value in values)) if len(values) > 1 else Is(str(values[0]))


def any_state(states: tuple[str, ...]) -> Condition:
    return Any_(tuple(Is(word) for word in states)) if len(states) > 1 else Is(states[0])


def _done(states: tuple[str, ...]) -> Condition:
    ways = tuple(Is(word, None, True) for word in states)
    return Any_(ways) if len(ways) > 1 else ways[0]


def happened(event: str, age: tuple[Op, Duration]) -> Condition:
    return Age(Field(event, None, False, True), *age)


def _valued(field: Field, values: tuple[Any, ...]) -> Condition:
    return OneOf(field, values)


_SAID_OF_THING = table(
    ("{states}", any_state),
    ("past [its|their|the] {field}", lambda field: Compare(field, "<", Now())),
    ("{agewords}", lambda agewords: Age(None, *agewords)),
    ("{event} {age}", happened),
    (
        "{event} (after|since) {moment}",
        lambda event, moment: Compare(Field(event, None, False, True), ">", moment),
    ),
    ("{cmp} {money}", lambda cmp, money: Measure(None, cmp, money)),
    (
        "[over] {cmp} {amount} in value",
        lambda cmp, amount: Compare(Sum("abs", (Field(MONEY),)), cmp, amount),
    ),
    ("of {amount} or {ormore}", lambda amount, ormore: Measure(None, ormore, amount)),
    ("[{a}] {ownership}", lambda ownership: ownership),
)

_THING_HAS = table(
    ("been {event} {times}", lambda event, times: Times(event, ">=", times)),
    ("been {states}", lambda states: _done(states)),
    ("{cmp} {amount} in|of {field}", lambda cmp, amount, field: Compare(field, cmp, amount)),
    ("{state}", lambda state: Is(state, None, True)),
    ("no {field}", lambda field: Not(HasSome(field))),
    ("a|an|any|its|their {field}", lambda field: HasSome(field)),
    ("[a|an] non zero {field} | [a|an] nonzero {field}", lambda field: Compare(field, "!=", ZERO)),
    (
        "[a|an] {field} [of | that is | =] {cmp} {amount}",
        lambda field, cmp, amount: Compare(field, cmp, amount),
    ),
    ("[a|an] {field} of|= {values}", _valued),
    ("[a|an] {field} {values}", _valued),
    ("{cmp} {amount} {field}", lambda cmp, amount, field: Compare(field, cmp, amount)),
    ("{amount} or {ormore} {field}", lambda amount, ormore, field: Compare(field, ormore, amount)),
    ("[any | some | at least one] {field}", lambda field: HasSome(field)),
    ("a|an|the {field} {fieldsaid}", lambda field, fieldsaid: said_of(fieldsaid, field)),
)

# What a comparative measures, and the two directions of it.

PIECES: dict[str, Piece] = {
    "fieldsaid": _SAID_OF_FIELD,
    "fielddoes": _FIELD_DOES,
    "thingsaid": _SAID_OF_THING,
    "thinghas": _THING_HAS,
    "ormore": table(
        ("more|higher|greater|above|over", constant(">=")),
        ("less|fewer|lower|smaller|below|under", constant("<=")),
    ),
    "money": table(("{number}", lambda number: Literal_(number))),
    "amount": table(("{operand}", lambda operand: operand)),
}
