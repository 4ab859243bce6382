"""May, must, cannot: what a verb phrase says of whether something is done."""

from dataclasses import dataclass, replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior.reader.cursor import Cursor

BE = word_set("is are was were be being been get gets")
#: What joins a condition, or an exception, to a rule.
WHEN = (
    "if", "when", "whenever", "where", "while", "once", "as long as", "so long as", "provided that",
    "provided", "for as long as", "as soon as", "in case", "given that", "after",
)  # fmt: skip
EXCEPT = (
    "unless",
    "except if",
    "except when",
    "except that",
    "except for",
    "except",
    "other than",
    "apart from",
)
_AUXILIARIES = word_set(
    "can may must shall could will would should might do does did cannot has have need needs"
)
_DUTIES = word_set("must shall should")
_ABLE = word_set("free allowed permitted able eligible authorised authorized entitled possible required")


@dataclass(frozen=True, kw_only=True)
class Modal:
    is_not: bool = False
    must: bool = False
    only: bool = False
    always: bool = False
    is_told: bool = False  # only `is` or `are`: how it is done, as a matter of fact
    end: int = 0


def modal(cursor: Cursor, at: int) -> Modal | None:
    """May, must, cannot, is not allowed to, has to, only, never; None where no such word stands."""
    found = Modal(end=at)
    start = at
    while True:
        low, following = cursor.low(start), cursor.low(start + 1)
        has_to = low in ("has", "have", "need", "needs", "required") and following == "to"
        if (low in ("need", "needs") and following == "not") or (found.is_not and has_to):
            return None  # what need not be done is not forbidden
        if low in ("not", "never", "neither", "non") or (low == "no" and following == "longer"):
            found = replace(found, is_not=True)
            start += 1 + (low == "no")
        elif low in _DUTIES or has_to:
            found = replace(found, must=True)
            start += 1 + (low not in _DUTIES)
        elif low in _ABLE and following == "to":
            start += 2
        elif low == "only":
            found = replace(found, only=True)
            start += 1 + (following == "ever")
        elif low == "always":
            found = replace(found, always=True)
            start += 1
        elif low in _AUXILIARIES or low in BE or low in ("ever", "still", "then", "both"):
            start += 1
        else:
            break
    is_told = start == at + 1 and cursor.low(at) in ("is", "are")
    return replace(found, end=start, is_told=is_told) if start > at else None
