"""What must hold, and for whom: `quantity must be between 1 and 10`, `to cancel an order`, `when calling
refund_order`.
"""

from pipelines.core.simulation.behavior.guards import present
from pipelines.core.simulation.behavior.matching import Piece, table
from pipelines.core.simulation.behavior.meaning import (
    Amount,
    Compare,
    Condition,
    Field,
    Op,
    Who,
    negated,
)
from pipelines.core.simulation.behavior.phrases import constant
from pipelines.core.simulation.behavior.sayings import IT, about, between, said_of


def _must_field(field: Field, said: Condition) -> Condition:
    return said_of(said, field)  # type: ignore[no-any-return]


def _limit(cmp: Op, amount: Amount) -> Condition | None:
    """`can be at most 5` sets a limit; `can be over 5` allows something, and `is over 5` tells it."""
    return Compare(IT, cmp, amount) if cmp in ("<=", ">=", "<") else None


_MUST_CONDITION = table(
    ("{field} {must} [only] be {fieldsaid:said}", _must_field),
    ("{field} {may} {limit:said}", _must_field),
    ("{field} never {fielddoes:said}", lambda field, said: negated(_must_field(field, said))),
    (
        "{field} {mustnot} go|rise|climb|get over|above|beyond|past {amount}",
        lambda field, amount: Compare(field, "<=", amount),
    ),
    (
        "{field} {may} [be] capped|limited|restricted at|to {amount}",
        lambda field, amount: Compare(field, "<=", amount),
    ),
    ("{field} {mustnot} be {fieldsaid:said}", lambda field, said: negated(_must_field(field, said))),
    ("{field} {mustnot} {fielddoes:said}", lambda field, said: negated(_must_field(field, said))),
    ("{subject} {must} be {thingsaid:said}", lambda subject, said: about(said, subject)),
    ("{subject} {must} have {thinghas:said}", lambda subject, said: about(said, subject)),
    ("{fields} is|are [always] required|mandatory|compulsory", present),
    ("{matching}", lambda matching: matching),
)

_REQUIREMENT = table(
    ("that {condition}", lambda condition: condition),
    ("{thing}", lambda thing: thing.condition),
    ("{subject} to be {thingsaid:said}", lambda subject, said: about(said, subject)),
)

_TO_OK = "to|can (succeed|work|proceed|happen | go through | be allowed|accepted|called|used)"

PIECES: dict[str, Piece] = {
    "mustcond": _MUST_CONDITION,
    "may": table(("{must} | can|may|is|are|will", constant(""))),
    "limit": table(
        ("[be|stay|remain|lie] {cmp} {amount}", lambda cmp, amount: _limit(cmp, amount)),
        ("[be] {amount} or {ormore}", lambda amount, ormore: Compare(IT, ormore, amount)),
        (
            "be|lie|stay|remain (between {amount:low} and {amount:high} | "
            "in|within [the] range [of|from] {amount:low} to|and {amount:high})",
            between,
        ),
    ),
    "mustnot": table(("{must} not|never | can|may|will {not}", constant(""))),
    "requirement": table(
        ("{oneneed}", lambda oneneed: oneneed),
    ),
    "oneneed": _REQUIREMENT,
    "purpose": table(
        ("to be {pastverb}", lambda pastverb: Who(verb=pastverb)),
        ("before {subject} can be {pastverb}", lambda pastverb: Who(verb=pastverb)),
        ("[in order] to {baseverb}", lambda baseverb: Who(verb=baseverb)),
        (
            "[in order] to {baseverb} {thing}",
            lambda baseverb, thing: Who(verb=baseverb, noun=thing.noun or None),
        ),
        (f"for {{who}} {_TO_OK}", lambda who: who),
    ),
    "forwho": table(
        ("(for|in|on|with|of|inside | when using|calling) {who}", lambda who: who),
        ("when|while {doing}", lambda doing: doing),
    ),
}
