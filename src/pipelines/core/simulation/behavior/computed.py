"""Sentences that say how the amounts of a reply are worked out."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from pipelines.core.simulation.behavior.clauses import Bound, Compute
from pipelines.core.simulation.behavior.formulas import share
from pipelines.core.simulation.behavior.matching import Piece, table
from pipelines.core.simulation.behavior.meaning import (
    MONEY,
    Amount,
    Choice,
    Condition,
    Field,
    Literal_,
    Sum,
    Thing,
)

ZERO = Literal_(Decimal(0))
_MONEY = Field(MONEY, None, False, True)


def _compute(field: Field, value: Amount, when: Condition | None = None) -> Compute:
    return Compute(replace(field, is_new=True), value, when)


def _charge(sign: str) -> Callable[..., Compute | None]:
    """`adds 8% tax to the subtotal`, `applies a 10% discount when …`."""

    def means(
        percent: Decimal,
        field: Field | None = None,
        condition: Condition | None = None,
        thing: Thing | None = None,
    ) -> Compute | None:
        base = field or _MONEY
        when = condition if thing is None else thing.condition
        if thing is not None and thing.condition is None:
            return None
        # Tax is added to a subtotal to make the total; a discount is taken off the amount itself.
        onto = Field("total", None, False, True) if sign == "+" and "subtotal" in base.name else base
        return _compute(onto, share(base, percent, sign), when)

    return means


def _flat(sign: str) -> Callable[..., Compute | None]:
    def means(
        number: Decimal,
        field: Field | None = None,
        condition: Condition | None = None,
        thing: Thing | None = None,
    ) -> Compute | None:
        when = condition if thing is None else thing.condition
        if thing is not None and thing.condition is None:
            return None
        base = field or _MONEY
        return _compute(base, Sum(sign, (base, Literal_(number))), when)

    return means


def _either(
    field: Field,
    first: Amount,
    second: Amount,
    condition: Condition | None = None,
    thing: Thing | None = None,
) -> Compute | None:
    when = condition if thing is None else thing.condition
    return None if when is None else _compute(field, Choice(when, first, second))


_LABEL = "[sales|service|handling|processing|delivery|shipping|convenience|import|booking]"
_CHARGED = "tax|vat|gst|fee|surcharge|charge|tip|commission|markup|penalty|interest"

_COMPUTES = (
    (
        "compute~|calculate~|derive~|determine~|return~|report~|give~|set~|quote~ {new_field:field} "
        "= {rounded:value}",
        _compute,
    ),
    (
        "compute~|calculate~|derive~|determine~|report~|quote~ {new_field:field} (as | to be | by) "
        "{rounded:value}",
        _compute,
    ),
    (
        f"add~|apply|applies|include~ [a|an] {{percent}} {_LABEL} {_CHARGED} [to|on {{field}}] "
        f"[{{when}} {{condition}}]",
        _charge("+"),
    ),
    (
        "apply|applies|give~|take~|offer~|grant~|deduct~ [a|an] {percent} discount [to|on|off|from "
        "{field}] [{when} {condition}]",
        _charge("-"),
    ),
    (
        "apply|applies|give~|take~|offer~|grant~|deduct~ [a|an] {percent} discount [to|on|off|from "
        "{field}] for|to|on {thing}",
        _charge("-"),
    ),
    (
        "never return~|give~|report~|show~|produce~ a negative {new_field:field}",
        lambda field: Bound(field, ZERO),
    ),
)


def _bounded(field: Field, low: Amount | None = None, high: Amount | None = None) -> Bound:
    return Bound(field, low, high)


_COMPUTED = (
    ("{new_field:field} = {rounded:value}", _compute),
    (
        "{new_field:field} is|are {rounded:value}",
        lambda field, value: _compute(field, value) if isinstance(value, (Sum,)) else None,
    ),
    (
        "{new_field:field} is|are {price:first} {when} {condition} [,|;|and|but] [otherwise|else] "
        "[and|it is] {price:second} [otherwise|else]",
        _either,
    ),
    (
        "{new_field:field} is|are {price:first} {when} {condition} [,|;] and|or|but|otherwise|else "
        "{price:second} [otherwise|else|if not]",
        _either,
    ),
    (
        "{new_field:field} is|are {price:first} for|on {thing} [,|;] [and|or|but|otherwise|else] [it "
        "is] {price:second} [otherwise|else | for [all] others]",
        _either,
    ),
    (
        "{field} is|are never negative | {field} is|are never below|under|less zero|than|0 [zero]",
        lambda field: _bounded(field, ZERO),
    ),
    ("{field} is|are capped|limited at|to {amount}", lambda field, amount: _bounded(field, None, amount)),
    ("a|an {percent} discount is applied|given|granted [to|on {field}] [{when} {condition}]", _charge("-")),
    ("a|an {percent} discount is applied|given|granted [to|on {field}] for|to|on {thing}", _charge("-")),
)

PIECES: dict[str, Piece] = {
    "computes": table(*_COMPUTES),
    "computed": table(*_COMPUTED),
    "price": table(
        ("free [of charge]", lambda: ZERO),
        ("{formula}", lambda formula: formula),
        ("{value}", lambda value: Literal_(value) if isinstance(value, str) else None),
    ),
    "rounded": table(
        (
            "{formula} [,] rounded to {rounding}",
            lambda formula, rounding: Sum("round", (formula, Literal_(Decimal(rounding)))),
        ),
        ("{formula}", lambda formula: formula),
    ),
}
