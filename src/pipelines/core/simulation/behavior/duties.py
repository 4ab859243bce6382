"""What must hold, and for whom: `quantity must be between 1 and 10`, `to cancel an order`, `when calling
refund_order`.
"""

from pipelines.core.simulation.behavior.guards import present
from pipelines.core.simulation.behavior.matching import Piece, table
from pipelines.core.simulation.behavior.meaning import (
    Condition,
    Field,
    Who,
    negated,
)
from pipelines.core.simulation.behavior.phrases import constant
from pipelines.core.simulation.behavior.sayings import about, said_of


def _must_field(field: Field, said: Condition) -> Condition:
    return said_of(said, field)  # type: ignore[no-any-return]


_MUST_CONDITION = table(
    ("{field} {must} [only] be {fieldsaid:said}", _must_field),
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
