"""Sentences that say when a call goes through, and what it answers when it does not."""

from pipelines.core.simulation.behavior.clauses import Guard
from pipelines.core.simulation.behavior.matching import Piece, table
from pipelines.core.simulation.behavior.meaning import (
    IT,
    All,
    Always,
    Any_,
    Condition,
    Fail,
    Field,
    Not,
    Outcome,
    Present,
    Thing,
    Who,
    negated,
)
from pipelines.core.simulation.behavior.phrases import constant

NEVER = Not(Always())
EVERYONE = Who(everyone=True)  # whichever tools it makes sense for
WHOEVER_TAKES_IT = Who(everyone=True, by_argument=True)


def need(condition: Condition, outcome: Outcome | None = None, who: Who = IT) -> Guard:
    return Guard(condition, outcome, who)


def refuse(condition: Condition | None, outcome: Outcome | None = None, who: Who = IT) -> Guard | None:
    return None if condition is None else Guard(negated(condition), outcome, who)


def _need_thing(thing: Thing, outcome: Outcome | None = None) -> Guard | None:
    return None if thing.condition is None else Guard(thing.condition, outcome)


def _refuse_thing(thing: Thing, outcome: Outcome | None = None, first: Outcome | None = None) -> Guard | None:
    return refuse(thing.condition, fuller(first, outcome))


def fuller(first: Outcome | None, second: Outcome | None) -> Outcome | None:
    """Of two things said about the outcome, the one that says more."""
    return first if second is None or (second == Fail() and first is not None) else second


def present(fields: tuple[Field, ...]) -> Condition:
    parts = tuple(Present(Field(one.name, one.owner, True)) for one in fields)
    return parts[0] if len(parts) == 1 else All(parts)


_VERB_PHRASES = (
    ("{onlyok} {when} {condition} [{result:outcome}]", need),
    ("{onlyok} for|by|to {role:condition} [{result:outcome}]", need),
    (
        "{failing:first} {when} {condition} [{result:outcome}]",
        lambda first, condition, outcome=None: refuse(condition, fuller(first, outcome)),
    ),
    ("{rejecting} {thing} [{result:outcome}]", _refuse_thing),
    ("{accepting} {thing} [{result:outcome}]", _need_thing),
    ("require~|need~ {requirement:condition} [{result:outcome}]", need),
    ("{checking} [that|whether|if] {condition} [{result:outcome}]", need),
    ("is|are restricted|limited|reserved to|for {role:condition} [{result:outcome}]", need),
    (
        "require~ {role:condition} [permission|permissions|rights|privileges|access|role] [{result:outcome}]",
        need,
    ),
    ("always {failing:outcome}", lambda outcome: Guard(NEVER, outcome)),
    ("never succeed~|work~ for|on {thing} [{result:outcome}]", _refuse_thing),
    (
        "is|are [always] {down} [{result:outcome}]",
        lambda outcome=None: Guard(NEVER, outcome or Fail(503, "service_unavailable")),
    ),
)


def unless(thing: Thing, condition: Condition) -> Condition:
    """Such things need the condition; others do not."""
    return condition if thing.condition is None else Any_((negated(thing.condition), condition))


PIECES: dict[str, Piece] = {
    "guarding": table(*_VERB_PHRASES),
    "ok": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "[will|can|may|should|must] succeed~|work~|proceed~|apply|applies|function~|happen~",
                "[will|can|may] go|goes through",
                "[is|are|be] "
                "allowed|permitted|possible|accepted|available|valid|enabled|honored|processed|executed|supported|given|"
                "issued|granted|offered|open|made",
                "[can|may|must|should] be "
                "called|used|invoked|run|executed|performed|made|done|requested|processed|issued",
            )
        )
    ),
    "onlyok": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "only {ok}",
                "{ok} only",
                "is|are only "
                "allowed|permitted|possible|accepted|available|valid|enabled|supported|processed|executed",
                "can|may|will|should|must only be "
                "called|used|invoked|run|executed|performed|made|done|requested|processed",
                "can|may|will|should|must only succeed|work|proceed|happen",
                "only",
            )
        )
    ),
    "until": table(("until", constant("")), ("before", constant("")), ("prior to", constant(""))),
    "rejecting": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "[will|must|should] reject~|refuse~|decline~|deny|denies|block~|disallow~|forbid~|prevent~",
                "[will|must|should] refuse~|decline~ to {ownverb}|process|accept|handle",
                "does|do|will|can|must not accept|allow|permit|process|handle|support|take|{ownverb}",
                "fail~|error~ for|on",
            )
        )
    ),
    "accepting": table(
        *(
            (pattern, constant(""))
            for pattern in (
                "[will|can|must] only accept~|allow~|process~|handle~|permit~|support~|take~|{ownverb}",
                "[will|can|must] accept~|allow~|process~|handle~|permit~|support~|take~|{ownverb} only",
            )
        )
    ),
    "checking": table(
        ("check~|verify|verifies|ensure~|validate~|enforce~|confirm~", constant("")),
    ),
    "down": table(
        ("disabled|unavailable|down|offline|broken|inoperative|blocked", constant("")),
    ),
}
