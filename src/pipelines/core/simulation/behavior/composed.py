"""Rules put together from their features: what is spoken of, whether it may or may not, what is done to it,
and under which conditions. Each feature is read on its own, so that no row lists a product of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.behavior.clauses import Default, Guard, Once, Quota, Rarely
from pipelines.core.simulation.behavior.guards import WHOEVER_TAKES_IT, fuller, present
from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import (
    IT,
    WHEN,
    All,
    Allowed,
    Always,
    Any_,
    Compare,
    Condition,
    Field,
    Literal_,
    Measure,
    Not,
    Now,
    Outcome,
    Present,
    Thing,
    Who,
    both,
    negated,
)
from pipelines.core.simulation.behavior.phrases import lexicon_of
from pipelines.core.simulation.behavior.sayings import about

Polarity: TypeAlias = Literal["may", "only", "not"]


@dataclass(frozen=True, slots=True)
class Act:
    """What is said to be possible or not: `may no longer be cancelled`, `fails with 409`."""

    polarity: Polarity
    verb: str | None = None
    part: str | None = None  # `change the limit of a card`: what of the object
    object: Thing | None = None  # of an active verb: `cannot book a doctor`
    is_active: bool = False
    who: Who | None = None  # `to rent a car`: what it is needed for
    needs: Condition | None = None  # `must have a reason`: what is asked for instead of a verb
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What it is said of: things of a kind, or tools. `only` and `no` are features of it as well."""

    thing: Thing | None = None
    who: Who | None = None
    part: str | None = None  # `the limit of a card`: what of the thing
    says: Literal["", "no", "only", "you"] = ""


class Adjunct(NamedTuple):
    """A condition on the whole: `if` it holds, `until` it holds, `unless` it holds."""

    how: Literal["if", "until", "unless", "times"]
    condition: Condition | int
    is_only: bool = False


AGAIN = Adjunct("times", 2)


# -- what they mean together


def _when_it_applies(adjuncts: tuple[Adjunct, ...], noun: str | None) -> Iterator[Condition]:
    """The conditions that all hold where the predicate is said to hold."""
    for how, condition, _ in adjuncts:
        if how != "times" and condition != Always():
            said: Condition = about(condition, noun)
            yield said if how == "if" else negated(said)


def _who_of(subject: Subject, act: Act) -> Who:
    if subject.who is not None:
        return replace(subject.who, condition=None)
    if act.who is not None:
        return replace(act.who, condition=None)
    part = subject.part or act.part
    if part is not None:
        return Who(verb=act.verb, noun=words_of(part)[-1])
    if act.verb is None:
        return IT if subject.thing is None or subject.thing.noun else WHOEVER_TAKES_IT
    noun = act.object.noun if act.is_active and act.object else None
    if not act.is_active and subject.thing is not None:
        noun = subject.thing.noun
    return Who(verb=act.verb, noun=noun or None)


def composed(
    subject: Subject, act: Act, adjuncts: tuple[Adjunct, ...], outcome: Outcome | None
) -> Guard | Once | Rarely | None:
    """The rule that these features make, or None where they take nothing away from anybody."""
    outcome = fuller(act.outcome, outcome)
    noun = subject.thing.noun if subject.thing else (subject.who.noun if subject.who else None)
    of_subject = (
        subject.thing.condition if subject.thing else (subject.who.condition if subject.who else None)
    )
    of_object = act.object.condition if act.object else None
    polarity: Polarity = act.polarity
    if subject.says == "no":
        polarity = "not" if polarity == "may" else "may"
    if any(one.is_only for one in adjuncts) or (subject.says == "only" and polarity == "may"):
        polarity = "only"
    who = _who_of(subject, act)
    premised = any((of_subject, of_object, *(one.how != "times" for one in adjuncts)))
    # "an order that was moved twice cannot be moved again": the condition says how often already.
    adjuncts = tuple(one for one in adjuncts if not (premised and one == AGAIN))
    times = [one.condition for one in adjuncts if one.how == "times"]
    if times:
        return _at_most(times, polarity, both(of_subject, of_object), who, outcome, len(adjuncts))
    if subject.says == "you" and act.object is not None:
        noun = act.object.noun or noun  # "you can't refund an order while it is …": the order is
    said = tuple(_when_it_applies(adjuncts, noun))
    if act.needs is not None:
        whole = both(of_subject, of_object, *said)
        return Guard(_under(whole, about(act.needs, noun)), outcome, who)
    need = _needed(subject, polarity, (of_subject, of_object), said, adjuncts, outcome)
    if need is None:
        return None
    return Guard(Allowed(need) if act.is_active else need, outcome, who)


def _needed(
    subject: Subject,
    polarity: Polarity,
    premises: tuple[Condition | None, Condition | None],
    said: tuple[Condition, ...],
    adjuncts: tuple[Adjunct, ...],
    outcome: Outcome | None,
) -> Condition | None:
    if polarity == "not":
        whole = both(*premises, *said)
        return None if whole is None else negated(whole)
    if polarity == "only" and subject.says == "only":
        of_subject, of_object = premises
        needed = both(of_subject, *said)
        return None if needed is None else _under(of_object, needed)
    takes_away = polarity == "only" or outcome is not None or any(one.how != "if" for one in adjuncts)
    needed = both(*said)
    if needed is None or not takes_away:
        return None
    return _under(both(*premises), needed)


def _under(premise: Condition | None, needed: Condition) -> Condition:
    return needed if premise is None else Any_((negated(premise), needed))


def _at_most(
    times: list[Condition | int],
    polarity: Polarity,
    premise: Condition | None,
    who: Who,
    outcome: Outcome | None,
    every: int,
) -> Once | Rarely | None:
    """`at most twice`, `not more than once`, `no longer after two times`."""
    most = times[0]
    if len(times) != 1 or every != 1 or premise is not None or not isinstance(most, int):
        return None
    # "cannot be moved twice" and "cannot be moved more than once" are the same.
    most = most if polarity != "not" else most - 1
    if most < 1:
        return None
    return Once(outcome, who) if most == 1 else Rarely(most, outcome, who)


# -- reading them


def adjuncts(matcher: Matcher, at: int, depth: int = 0) -> Iterator[Found]:
    """Conditions one after another, each with or without a comma before it."""
    if depth < 3:
        after = at + (matcher.low(at) == ",")
        for end, first in matcher.piece("adjunct", after):
            for last, rest in adjuncts(matcher, end, depth + 1):
                yield last, (first, *rest)
    yield at, ()


def _leads(matcher: Matcher, at: int) -> Iterator[Found]:
    """`Once the order is delivered, …`: a condition that stands in front."""
    for end, first in matcher.piece("adjunct", at):
        yield end + (matcher.low(end) == ","), (first,)
    yield at, ()


def sentence(matcher: Matcher, at: int) -> Iterator[Found]:
    for start, lead in _leads(matcher, at):
        for middle, subject in matcher.piece("subjectof", start):
            spans = matcher.piece("span", middle) if subject.who is not None else []
            for between, span in [(middle, ()), *spans]:
                for end, act in _acts_of(matcher, subject, between):
                    for last, following in matcher.piece("adjuncts", end):
                        yield from _with_results(matcher, last, subject, act, (*lead, *span, *following))


def _acts_of(matcher: Matcher, subject: Subject, at: int) -> Iterator[Found]:
    if subject.who is None:
        yield from matcher.piece("act", at)
        return
    yield from matcher.piece("tooldoes", at)
    lexicon = lexicon_of(matcher)
    named = {*subject.who.names, *lexicon.tools_doing(subject.who.verb or "", subject.who.noun)}
    for end, act in matcher.piece("act", at):  # damage claims cannot be filed: both words are the tool's
        if act.verb is not None and named & set(lexicon.tools_doing(act.verb, None)):
            yield end, replace(act, verb=None, is_active=False)


def _with_results(
    matcher: Matcher, at: int, subject: Subject, act: Act, said: tuple[Adjunct, ...]
) -> Iterator[Found]:
    for end, outcome in [*matcher.piece("result", at), (at, None)]:
        made = composed(subject, act, said, outcome)
        if made is not None:
            yield end, made


_AUX = "can|may|might|could|shall|should|must|will|would"
_BE = "is|are|gets|get"
_NOT = "(not | never | no longer | not ever)"


def _features(pattern: str) -> tuple[tuple[str, Polarity], ...]:
    """A pattern with <> where the negation or the `only` stands, in its three polarities."""
    return (
        (pattern.replace("<>", "only [ever]"), "only"),
        (pattern.replace("<>", _NOT), "not"),
        (pattern.replace("<> ", ""), "may"),
    )


def _acts(*patterns: str, is_active: bool = False) -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    for pattern in patterns:
        for written, polarity in _features(pattern):
            rows.append((written, _act(polarity, is_active)))
    return rows


def _act(polarity: Polarity, is_active: bool) -> object:
    def means(verb: str, object: Thing | None = None, part: Field | None = None) -> Act:
        return Act(polarity, verb, part.name if part else None, object, is_active)

    return means


_ENABLED = "allowed|permitted|able|eligible|entitled|possible|legal"
_TO_WHAT = "[(to|for|with|on|at|by|from|in) {thing:object}]"

_EVERYONE = Who(everyone=True)


def _quota(owner: Thing, most: Decimal, counted: Thing, outcome: Outcome | None = None) -> Quota | None:
    is_whole = most == int(most) and most >= 0
    return Quota(owner, int(most), counted, outcome, _EVERYONE) if is_whole and counted.noun else None


def _per(most: Decimal, counted: Thing, noun: str, outcome: Outcome | None = None) -> Quota | None:
    return _quota(Thing(noun), most, counted, outcome) if noun else None


def _there_and(said: Condition) -> Condition:
    """What has to be so has to be there."""
    field = said.left if isinstance(said, Compare) else None
    return All((Present(field), said)) if isinstance(field, Field) else said


_HAVE = "have|hold|own|keep|carry|book|take|make|place|open|file|create|be"
_ATATIME = (
    "[(at a|any [one|given] time | at once | at the same time | in total | in all | on file | on record)]"
)

PIECES: dict[str, Piece] = {
    "composed": sentence,
    "quota": table(
        (
            f"{{thing:owner}} {_AUX} [only] {_HAVE} {{atmost}} {{number:most}} {{thing:counted}} {_ATATIME} "
            "[{result:outcome}]",
            _quota,
        ),
        (
            f"{{thing:owner}} {_AUX} {_NOT} {_HAVE} more than {{number:most}} {{thing:counted}} {_ATATIME} "
            "[{result:outcome}]",
            _quota,
        ),
        (
            f"{{thing:owner}} is|are limited|restricted to {{number:most}} {{thing:counted}} {_ATATIME} "
            "[{result:outcome}]",
            _quota,
        ),
        (
            "[there may be] [at most | no more than | only | up to] {number:most} {thing:counted} [is|are] "
            f"[allowed|permitted|accepted] (per | for each|every) {{noun}} {_ATATIME} [{{result:outcome}}]",
            _per,
        ),
    ),
    "atmost": table(
        ("at most | no more than | not more than | up to | a maximum of | a most of | only", lambda: ""),
    ),
    "default": table(
        ("{field} default~ to {newvalue:value}", lambda field, value: Default(field, value, _EVERYONE)),
        (
            "{when} no {field} {be} {given} [,] [{defaulted}] {newvalue:value} "
            "[is used|assumed|applied|taken|set]",
            lambda field, value: Default(field, value, _EVERYONE),
        ),
        (
            "{when} {field} {missing} [,] [{defaulted}] {newvalue:value} [is used|assumed|applied|taken|set]",
            lambda field, value: Default(field, value, _EVERYONE),
        ),
        (
            "{thing} {be} [{event}] {number:value} {field} [long] unless [{field}|it|one|another] [{be}] "
            "[{given}] [otherwise]",
            lambda field, value: Default(field, Literal_(value), _EVERYONE),
        ),
    ),
    "defaulted": table(
        (
            "(it|{field}|{a} [new] {noun}) is|are|becomes|gets "
            "[set|created|opened|made|booked|sent|placed] [to|as|with|in|by]",
            lambda: "",
        ),
    ),
    "missing": table(
        ("{be} (missing|omitted|absent|blank|empty | left out|blank|empty|off | not {given})", lambda: ""),
    ),
    "subjectof": table(
        ("{who}", lambda who: Subject(None, who)),
        ("{field:part} of {thing}", lambda part, thing: Subject(thing, None, part.name)),
        ("{field:part}", lambda part: Subject(Thing(part.owner or ""), None, part.name)),
        ("you", lambda: Subject(Thing("user"), says="you")),
        ("no [more|further] {who}", lambda who: Subject(None, who, None, "no")),
        ("no {thing}", lambda thing: Subject(thing, None, None, "no")),
        ("neither {thing}", lambda thing: Subject(thing, None, None, "no")),
        ("only {thing}", lambda thing: Subject(thing, None, None, "only")),
        ("{thing}", lambda thing: Subject(thing)),
        ("(nobody | no one) {person:thing}", lambda thing: Subject(thing, None, None, "no")),
        ("nobody | no one", lambda: Subject(Thing("user"), says="no")),
        ("it", lambda: Subject(Thing("user"), says="you")),  # it is not possible to …
    ),
    "person": table(
        ("who {thingverb:clause}", lambda clause: Thing("user", about(clause, "user"))),
        ("{relative:clause}", lambda clause: Thing("user", about(clause, "user"))),
    ),
    "span": table(
        ("without [a|an|any] {fields}", lambda fields: (Adjunct("if", Not(present(fields))),)),
        ("{late:condition}", lambda condition: (Adjunct("if", condition),)),
        ("in the past", lambda: (Adjunct("if", Compare(Field(WHEN), "<", Now())),)),
        ("in the future", lambda: (Adjunct("if", Compare(Field(WHEN), ">", Now())),)),
    ),
    "act": table(
        *_acts(
            f"{_AUX} <> be {{pastverb:verb}} {_TO_WHAT}",
            f"{_AUX} <> be {{pastverb:verb}} in|into|for|on|to|up|from",
            f"{_BE} <> {{pastverb:verb}} {_TO_WHAT}",
            f"{_BE} <> {_ENABLED} to be {{pastverb:verb}} {_TO_WHAT}",
            f"{_BE} <> {{ableverb:verb}}",
            f"{_BE} <> eligible for [a|an] {{action:verb}}",
            "[has|have|had] <> to be {pastverb:verb}",
        ),  # type: ignore[arg-type]
        *_acts(
            f"{_AUX} <> {{baseverb:verb}} [{{thing:object}}|it|them]",
            f"{_AUX} <> {{baseverb:verb}} {{field:part}} of {{thing:object}}",
            f"{_BE} <> {_ENABLED} to {{baseverb:verb}} [{{thing:object}}|it|them]",
            is_active=True,
        ),  # type: ignore[arg-type]
        (
            "{be} too old|late|big|large|small|new|heavy|early to [be] {baseverb:verb}",
            lambda verb: Act("not", verb),
        ),
        ("{failing:outcome}", lambda outcome: Act("not", outcome=outcome)),
        ("{asks:needs}", lambda needs: Act("only", needs=needs)),
        ("{asks:needs} {forwho:who}", lambda needs, who: Act("only", needs=needs, who=who)),
    ),
    "asks": table(
        ("{needing} {fields}", lambda fields: present(fields)),
        ("{needing} {thinghas:said}", _there_and),
        (
            "{must} be called|used|made|sent|filed|placed with [a|an|the] {fields}",
            lambda fields: present(fields),
        ),
    ),
    "needing": table(
        ("need~|require~ [to have|give|provide|include|supply]", lambda: ""),
        (
            "{must} [always] (have|give|provide|include|supply|state|carry|name | come with | be given)",
            lambda: "",
        ),
    ),
    "tooldoes": table(
        ("{failing:outcome}", lambda outcome: Act("not", outcome=outcome)),
        ("{onlyok}", lambda: Act("only")),
        ("{ok}", lambda: Act("may")),
        ("{asks:needs}", lambda needs: Act("only", needs=needs)),
        (
            "{be} capped|limited at|to {amount} | {must} not exceed {amount}",
            lambda amount: Act("only", needs=Measure(None, "<=", amount)),
        ),
    ),
    "adjuncts": adjuncts,
    "adjunct": table(
        ("only {adjunct:inner}", lambda inner: inner._replace(is_only=True)),
        ("{when} {condition}", lambda condition: Adjunct("if", condition)),
        (
            "[and] (once|after | as soon as | from the moment) {condition}",
            lambda condition: Adjunct("if", condition),
        ),
        (
            "(until|before|till | prior to | up until) {condition}",
            lambda condition: Adjunct("until", condition),
        ),
        (
            "(unless | except when|if|where|while | other than when|if) {condition}",
            lambda condition: Adjunct("unless", condition),
        ),
        ("{notice:condition}", lambda condition: Adjunct("if", condition, True)),
        ("{late:condition}", lambda condition: Adjunct("if", condition)),
        (
            "after {number} {field}",
            lambda number, field: Adjunct("if", Compare(field, ">=", Literal_(number))),
        ),
        (
            "without [a|an|any|giving|providing] [a|an|any] {fields}",
            lambda fields: Adjunct("if", Not(present(fields))),
        ),
        ("with [a|an] {fields}", lambda fields: Adjunct("if", present(fields))),
        ("by {role:condition}", lambda condition: Adjunct("if", condition)),
        (
            "by (nobody | no one) (but|except | other than) {role:condition}",
            lambda condition: Adjunct("if", condition, True),
        ),
        (
            "(for|on|with|to|against|in|from | in case of) {thing}",
            lambda thing: None if thing.condition is None else Adjunct("if", thing.condition),
        ),
        (
            "by {role:condition} and [by] (no one | nobody) else",
            lambda condition: Adjunct("if", condition, True),
        ),
        (
            "(for|to|by|on|of|in) (them|it|him|her | their|its name | that {noun})",
            lambda: Adjunct("if", Always()),
        ),
        (
            "(through|via|using|with|in|by) this|the|our api|system|tool|backend|app|endpoint",
            lambda: Adjunct("if", Always()),
        ),
        ("{times}", lambda times: Adjunct("times", times)),
    ),
    "times": table(
        ("[at most] once | one time | a single time", lambda: 1),
        ("again | a second time", lambda: 2),
        ("twice", lambda: 2),
        (
            "(at most | no more than | not more than | up to | a maximum of) {number} times",
            lambda number: int(number),
        ),
        ("(at most | no more than | not more than | up to) once", lambda: 1),
    ),
    "result": table(
        ("{else:outcome}", lambda outcome: outcome),
        ("{with:outcome}", lambda outcome: outcome),
        ("[{sep}] [{thereupon}] [{answerer}] [then] {failing:outcome}", lambda outcome: outcome),
        (
            "[{sep}] [{otherwise}] (the|its answer|reply|response|result|error | it | this | {answerer}) "
            "is|are|means {failure:outcome}",
            lambda outcome: outcome,
        ),
        ("[,|;|:|-] {payload:outcome}", lambda outcome: outcome),
    ),
    "thereupon": table(
        (
            "[and] (after|in which [case] | then|afterwards|thereafter | after that | in that case) [,]",
            lambda: "",
        ),
    ),
}
