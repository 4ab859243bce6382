"""Sentences about what a reply shows: how many, in which order, which of them, and which of their fields."""

from decimal import Decimal
from typing import Any

from pipelines.core.simulation.behavior.clauses import Cap, Clause, First, Hide, Keep, Mask, Order, Show
from pipelines.core.simulation.behavior.matching import Piece, table
from pipelines.core.simulation.behavior.meaning import Field, Thing, Who, negated
from pipelines.core.simulation.behavior.phrases import constant

EVERYONE = Who(everyone=True)


def _cap(number: Decimal, order: Order | None = None) -> tuple[Clause, ...] | None:
    if number != int(number) or number < 0:
        return None
    return (*((order,) if order else ()), Cap(int(number)))


def _kept(thing: Thing, order: Order | None = None) -> Any:
    if thing.condition is None:
        return None
    return (Keep(thing.condition, thing.noun or None), *((order,) if order else ()))


def _left_out(thing: Thing) -> Keep | None:
    return None if thing.condition is None else Keep(negated(thing.condition), thing.noun or None)


_GIVES = "return~|list~|show~|give~|yield~|display~|include~|fetch~|produce~ [back]"
_FROM = (
    "[from|in|by|of] [the|its|their|any] [search] "
    "[result|results|response|responses|reply|replies|output|list|listing|listings]"
)

_VERB_PHRASES = (
    (f"{_GIVES} {{most}} {{number}} {{listed}} [[,] {{order}}]", _cap),
    (f"{_GIVES} {{most}} {{number}} [{{field}}] [[,] {{order}}]", _cap),
    (f"{_GIVES} [only] [the] {{order}} {{number}} {{listed}}", _cap),
    (f"{_GIVES} [only] [the] {{number}} {{order}} {{listed}}", _cap),
    (
        f"{_GIVES} [at most] {{number}} {{listed}} [by default] unless {{field}} says|asks|is|wants "
        f"[otherwise | given | for more | set | passed]",
        lambda number, field: Cap(int(number), False, field),
    ),
    (f"{_GIVES} {{order}}", lambda order: order),
    (f"{_GIVES} [all] [the|its] {{listed}} [,] [in] {{order}}", lambda order: order),
    (
        f"{_GIVES} [all] [the|its] {{listed}} {{order}} [,] [up to | and at most | at most | limited "
        f"to | capped at | maximum|max [of]] {{number}} [{{listed}}]",
        lambda order, number: _cap(number, order),
    ),
    ("sort~|order~|rank~ [its|the|all] [{listed}] {order}", lambda order: order),
    ("is|are {order}", lambda order: order),
    ("is|are limited|capped|restricted to|at {number} [{listed}] [per call|request|query]", _cap),
    (f"{_GIVES} [{{listed}} in] pages of {{number}} [{{listed}}]", lambda number: Cap(int(number), True)),
    (f"{_GIVES} {{number}} {{listed}} per page", lambda number: Cap(int(number), True)),
    (f"only {_GIVES} {{thing}} [[,] {{order}}]", _kept),
    (f"{_GIVES} only {{thing}} [[,] {{order}}]", _kept),
    (
        f"{_GIVES}|put~|rank~|place~ {{thing}} first",
        lambda thing: None if thing.condition is None else First(thing.condition),
    ),
    (f"exclude~|omit~|hide~|skip~|ignore~ {{thing}} {_FROM}", _left_out),
    (f"filter~|leave~ out {{thing}} {_FROM} | filter~ {{thing}} out {_FROM}", _left_out),
    (f"never {_GIVES} {{thing}} {_FROM} | does|do|will|must not {_GIVES} {{thing}} {_FROM}", _left_out),
    (f"never {_GIVES}|expose~|reveal~|contain~ {{fields}} {_FROM}", Hide),
    (f"does|do|will|must not {_GIVES}|expose~|reveal~|contain~|disclose~ {{fields}} {_FROM}", Hide),
    (f"omit~|hide~|strip~|exclude~|redact~|remove~ {{fields}} {_FROM}", Hide),
    (f"{_GIVES}|expose~ only {{fields}} [of {{thing}}]", Show),
    ("mask~|obfuscate~|redact~ {field} [{butlast}]", lambda field, butlast=4: Mask(field, butlast)),
)


def _ordered(order: Order, who: Who | None) -> Order:
    return Order(order.by, order.descending, who or EVERYONE)


def _left_out_of(thing: Thing, who: Who | None) -> Keep | None:
    kept = _left_out(thing)
    return None if kept is None else Keep(kept.condition, kept.noun, who or EVERYONE)


_WHOLE = (
    ("{listed} [from|of|in {tools:who}] is|are {order}", lambda order, who=None: _ordered(order, who)),
    (
        f"{{thing}} is|are excluded|hidden|omitted|filtered|left [out] {_FROM} [of {{tools:who}}]",
        lambda thing, who=None: _left_out_of(thing, who),
    ),
    (
        f"{{thing}} is|are never|not returned|shown|listed|included|displayed {_FROM} [by|in {{tools:who}}]",
        lambda thing, who=None: _left_out_of(thing, who),
    ),
    (
        "{thing} {notlisted} {tools:who}",
        lambda thing, who=None: _left_out_of(thing, who),
    ),
    (
        f"{{fields}} is|are never|not returned|shown|exposed|revealed|included|disclosed {_FROM} "
        f"[by|in {{tools:who}}]",
        lambda fields, who=EVERYONE: Hide(fields, who),
    ),
    (
        "{field} is|are [always] masked|obfuscated [{butlast}] [in {tools:who}]",
        lambda field, butlast=4, who=EVERYONE: Mask(field, butlast, who),
    ),
)


def _by(field: Field, way: bool = False) -> Order:
    return Order(field, way)


def _newest() -> Order:
    return Order(None, True)


PIECES: dict[str, Piece] = {
    "showing": table(*_VERB_PHRASES),
    "shown": table(*_WHOLE),
    "most": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "at most | up to | no more than | not more than | a maximum of | maximum|max | only "
                "[up to] | [only] the first",
            )
        )
    ),
    "listed": table(
        ("{a} [matching|search|found|relevant] {noun}", constant("")),
        (
            "{a} [matching|search] results|result|items|records|entries|rows|matches|hits|elements",
            constant(""),
        ),
    ),
    "way": table(
        (
            "descending|desc | in descending order | from high|highest to low|lowest | high to low | "
            "largest|highest|most|biggest|newest|latest first | [‹] descending [›]",
            constant(True),
        ),
        (
            "ascending|asc | in ascending order | from low|lowest to high|highest | low to high | "
            "smallest|lowest|least|oldest|cheapest|earliest first | [‹] ascending [›] | alphabetically",
            constant(False),
        ),
    ),
    "order": table(
        (
            "[with] [the] most recent [ones] [first] | [the] newest|latest [ones] [first] | [in] "
            "reverse chronological [order] | [the] last",
            _newest,
        ),
        (
            "[with] [the] oldest|earliest [ones] [first] | [in] chronological [order] | [the] least "
            "recent first",
            lambda: Order(None, False),
        ),
        ("[sorted|ordered|ranked|listed|returned] [alphabetically] by {field} [,] [{way}]", _by),
        (
            "[sorted|ordered|ranked] in descending order of|by {field} | in descending {field} order "
            "| in descending order of {field}",
            lambda field: Order(field, True),
        ),
        ("[the] oldest|earliest {listed} first", lambda: Order(None, False)),
        ("highest|largest|newest|latest|biggest {field} first", lambda field: Order(field, True)),
    ),
    "notlisted": table(
        ("stay~ out of | are|is left out of | are|is kept out of | are|is missing from", constant("")),
    ),
    "butlast": table(
        (
            "except|but|showing|keeping|leaving|exposing|to [for] [only] [the] last {number} "
            "[digits|characters]",
            lambda number: int(number),
        ),
    ),
}
