"""Spans of time: `more than 90 days ago`, `within 14 days of delivery`, `less than 24 hours before
departure`.
"""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import Age, Field, Present
from pipelines.core.simulation.behavior.phrases import constant


def event(matcher: Matcher, at: int) -> Iterator[Found]:
    """A past participle that a moment was kept of: `shipped`, `placed`, `created`."""
    low = matcher.low(at)
    if low.endswith("ed") or low in ("made", "sent", "paid", "bought", "sold", "seen", "held", "built"):
        yield at + 1, low


PIECES: dict[str, Piece] = {
    "event": event,
    "moment": table(
        ("{date}", lambda date: date), ("{now}", lambda now: now), ("{field}", lambda field: field)
    ),
    "agecmp": table(
        ("more than | over|exceeding | greater than | longer than", constant(">")),
        ("at least | no less than | not less than", constant(">=")),
        ("less than | under | fewer than", constant("<")),
        ("at most | no more than | up to | not more than | within", constant("<=")),
    ),
    "age": table(
        ("{agecmp} {duration} {back}", lambda agecmp, duration: (agecmp, duration)),
        (
            "within [the] [last|past|previous] {duration} [of {now}]",
            lambda duration, now=None: ("<=", duration),
        ),
        ("older than {duration}", lambda duration: (">", duration)),
    ),
    "agewords": table(
        ("{agecmp} {duration} old", lambda agecmp, duration: (agecmp, duration)),
        ("older than {duration}", lambda duration: (">", duration)),
    ),
    "back": table(("ago|old|earlier|back | before {now} | prior to {now} | in the past", constant("back"))),
    "ahead": table(
        ("{agecmp} {duration} from {now}", lambda agecmp, duration, now: (agecmp, duration)),
    ),
    "eventfield": table(
        ("{field}", lambda field: field),
        ("{a} {eventnoun}", lambda eventnoun: Field(eventnoun, None, False, True)),
        ("{subject} was|were {event}", lambda subject, event: Field(event, subject or None, False, True)),
        ("{subject} {eventverb}", lambda subject, eventverb: replace(eventverb, owner=subject or None)),
    ),
    "eventverb": table(
        *(
            (f"{verb}|{verb}s", constant(Field(noun, None, False, True)))
            for verb, noun in (
                ("begin", "start"),
                ("depart", "departure"),
                ("end", "end"),
                ("expire", "expires"),
            )
        )
    ),
    "eventnoun": table(
        *(
            (pattern, constant(word))
            for pattern, word in (
                ("delivery|delivered", "delivered"),
                ("shipment|shipping|dispatch", "shipped"),
                ("departure", "departure"),
                ("payment", "paid"),
                ("order|ordering", "ordered"),
                ("booking", "booked"),
            )
        )
    ),
    # A span without a subject: "after 30 days", "within 14 days of delivery", "less than 24 hours before
    # departure".
    "agewithout": table(
        (
            "within {duration} of|after|from|since {eventfield}",
            lambda duration, eventfield: Age(eventfield, "<=", duration),
        ),
        (
            "more|later than {duration} after|since|from {eventfield}",
            lambda duration, eventfield: Age(eventfield, ">", duration),
        ),
        (
            "{agecmp} {duration} before {eventfield}",
            lambda agecmp, duration, eventfield: Age(eventfield, agecmp, duration, None, True),
        ),
        (
            "(up to | until | at least | no later than) {duration} before {eventfield}",
            lambda duration, eventfield: Age(eventfield, ">=", duration, None, True),
        ),
        ("{age}", lambda age: Age(None, *age)),
    ),
    "notice": table(
        (
            "(up to | until | at least | no later than) {duration} before {eventfield}",
            lambda duration, eventfield: Age(eventfield, ">=", duration, None, True),
        ),
    ),
    # "after 30 days", "after delivery", "more than 30 days after delivery"
    "late": table(
        ("after {eventfield:field}", Present),
        ("{agewithout}", lambda agewithout: agewithout),
    ),
}
