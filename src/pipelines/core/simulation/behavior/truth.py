"""Conditions as expressions of the plan language, for one tool over one world."""

from dataclasses import replace
from decimal import Decimal

from pipelines.core.json_text import Json
from pipelines.core.simulation.behavior.meaning import (
    Age,
    All,
    Allowed,
    Always,
    Among,
    Any_,
    CallerIs,
    Choice,
    Compare,
    Condition,
    Counted,
    Duration,
    Exists,
    Field,
    HasSome,
    Is,
    Literal_,
    Measure,
    Not,
    Now,
    OneOf,
    Owns,
    Percent,
    Present,
    Related,
    StartsWith,
    Times,
    Unique,
)
from pipelines.core.simulation.behavior.permissions import caller_is, owns, related
from pipelines.core.simulation.behavior.rules import (
    ARGUMENTS,
    Ref,
    Text,
    bracketed,
    dotted,
    joined,
    literal,
    opposite,
    text,
)
from pipelines.core.simulation.behavior.scope import (
    Place,
    Scope,
    Unresolved,
    link_field,
    said_value,
    within,
    written_value,
)
from pipelines.core.simulation.behavior.states import state_of
from pipelines.core.simulation.behavior.things import (
    Kind,
    find_field,
    find_field_named,
    is_number,
)

_DAYS = {"day": 1, "week": 7}


def truth(condition: Condition, scope: Scope) -> Text:
    """The expression that is true when the condition holds, or Unresolved."""
    match condition:
        case Always():
            return text("true")
        case All(parts):
            if _are_two_at_once(parts):
                raise Unresolved("one field is never two things at once")
            return bracketed([truth(part, scope) for part in parts], " and ")
        case Any_(parts):
            return bracketed([truth(part, scope) for part in parts], " or ")
        case Not(part):
            return opposite(truth(part, scope))
        case OneOf(field, values):
            return _one_of(field, values, scope)
        case Compare():
            return _compared(condition, scope)
        case Present(field):
            return _present(field, scope)
        case HasSome(field):
            return _has_some(field, scope)
        case Allowed(part):
            return truth(part, scope)
        case Is(word, noun, done):
            return state_of(scope, noun, word, done)
        case Age():
            return _aged(condition, scope)
        case Times(verb, op, than, noun):
            return text("default(", scope.counter(verb, noun), f", 0) {op} {than}")
        case Measure(noun, op, right):
            return text(scope.worth(noun).value, f" {op} ", scope.amount(right))
        case Exists(noun):
            return _exists(noun, scope)
        case Owns():
            return owns(condition, scope)
        case Related():
            return related(condition, scope)
        case CallerIs(word):
            return caller_is(word, scope)
        case Unique(field):
            return _unique(field, scope)
        case Among(field, listed):
            return _among(field, listed, scope)
        case StartsWith(field, start):
            return text("starts_with(default(", scope.place(field).value, f", ''), {literal(start)})")
        case Counted():
            return _counted(condition, scope)


def _are_two_at_once(parts: tuple[Condition, ...]) -> bool:
    """Whether two parts give one field values that share none: a word of one was meant otherwise."""
    told = [part.part if isinstance(part, Allowed) else part for part in parts]
    values = [(one.field, set(one.values)) for one in told if isinstance(one, OneOf)]
    return any(
        field == other and mine.isdisjoint(theirs)
        for at, (field, mine) in enumerate(values)
        for other, theirs in values[at + 1 :]
    )


def amount_of(spoken: object, scope: Scope) -> Text:
    """An amount, also one that depends on a condition."""
    if isinstance(spoken, Choice):
        return text(
            "(",
            amount_of(spoken.then, scope),
            " if ",
            truth(spoken.condition, scope),
            " else ",
            amount_of(spoken.otherwise, scope),
            ")",
        )
    return scope.amount(spoken)  # type: ignore[arg-type]


def _one_of(field: Field, values: tuple[Json | Decimal, ...], scope: Scope) -> Text:
    place = scope.place(field)
    holds_number = (
        place.about is not None and bool(place.about.kinds) and place.about.kinds <= {"number", "null"}
    )
    if holds_number and any(isinstance(value, str) for value in values):
        raise Unresolved(f"{place.name} is a number")
    said = [written_value(said_value(place, value)) for value in values]
    if len(said) == 1:
        return text(place.value, f" == {said[0]}")
    return text(place.value, f" in [{', '.join(said)}]")


def _same(left: Place, right: Place) -> Text:
    if left.name.lower().endswith("id") or right.name.lower().endswith("id"):
        return text("same_id(", left.value, ", ", right.value, ")")
    return text(left.value, " == ", right.value)


def _compared(condition: Compare, scope: Scope) -> Text:
    left, op, right = condition.left, condition.op, condition.right
    are_fields = isinstance(left, Field) and isinstance(right, Field)
    if are_fields and scope.amount(left) == scope.amount(right):
        raise Unresolved("a value is compared with itself")
    if isinstance(left, Field):
        place = scope.place(left)
        if isinstance(right, Percent):
            return text(place.value, f" {op} {_share_of(place, right, scope)}")
        is_moment = (
            isinstance(right, Now)
            or (isinstance(right, Literal_) and isinstance(right.value, str))
            or place.is_date
        )
        is_number_wanted = isinstance(right, Literal_) and not isinstance(right.value, str)
        if is_number_wanted and (place.is_date or _gives_moment(place, scope)):
            raise Unresolved(f"{place.name} is a moment, which no number is more or less than")
        if is_moment and op in ("<", "<=", ">", ">="):
            return _dated(place.value, op, scope.amount(right))
        if isinstance(right, Field) and op in ("==", "!="):
            same = _same(place, scope.place(right))
            return same if op == "==" else text("not (", same, ")")
        if place.about is not None and place.about.keeps is not None:
            return text("len(", place.value, f") {op} ", scope.amount(right))
        return text(place.value, f" {op} ", scope.amount(right))
    return text(scope.amount(left), f" {op} ", scope.amount(right))


def _gives_moment(place: Place, scope: Scope) -> bool:
    """Whether it is an argument that is kept where records have moments."""
    kind = scope.lexicon.kinds.get(scope.tool.makes or scope.kind or "")
    return place.root == ARGUMENTS and kind is not None and (place.name,) in kind.dates()


def _share_of(place: Place, share: Percent, scope: Scope) -> str:
    """20% as the field writes it: 20 where its values pass 1, else 0.2; not known where there are none."""
    kinds = scope.lexicon.kinds.values()
    fields = [place.about, *(find_field_named(kind, place.name) for kind in kinds)]
    seen = [value for one in fields if one is not None for value in one.values if is_number(value) and value]
    if not seen:
        raise Unresolved(f"whether {place.name} counts in hundreds is not known")
    return written_value(share.fraction * 100 if max(seen) > 1 else share.fraction)


def _dated(value: Text, op: str, other: Text) -> Text:
    """Moments are compared as such: their spelling may differ."""
    if op in ("<", ">"):
        return text("is_before(", *((value, ", ", other) if op == "<" else (other, ", ", value)), ")")
    turned = (other, ", ", value) if op == "<=" else (value, ", ", other)
    return text("(", value, " and not is_before(", *turned, "))")


def _present(field: Field, scope: Scope) -> Text:
    place = scope.moment(field, None) if field.is_new else scope.place(field)
    if place.about is not None and place.about.keeps is not None:
        return text("len(", place.value, ") > 0")
    words_for_none = [
        value for value in (place.about.values if place.about else ()) if value in ("none", "n/a")
    ]
    nothing = ", ".join(("null", "''", *map(literal, words_for_none)))
    return text(place.value, f" not in [{nothing}]")


def _has_some(field: Field, scope: Scope) -> Text:
    place = scope.place(field)
    if place.about is not None and "number" in place.about.kinds:
        return text("default(", place.value, ", 0) > 0")
    return _present(field, scope)


def _aged(condition: Age, scope: Scope) -> Text:
    place = scope.moment(condition.of, condition.noun)
    other = text("now") if condition.since is None else scope.place(condition.since).value
    span, op = condition.than, condition.op
    earlier, later = (other, place.value) if condition.ahead else (place.value, other)
    given = joined([place.value] if condition.since is None else [place.value, other], " and ")
    if span.unit in ("month", "year"):
        return text("(", given, " and ", _months_apart(earlier, later, op, span), ")")
    count, factor = _in_days(span)
    return text("(", given, " and days_between(", earlier, ", ", later, f"){factor} {op} {count})")


def _in_days(span: Duration) -> tuple[str, str]:
    if span.unit in _DAYS:
        return written_value(span.amount * _DAYS[span.unit]), ""
    per_day = {"hour": 24, "minute": 1440, "second": 86400}.get(span.unit)
    if per_day is None:
        return written_value(span.amount * (30 if span.unit == "month" else 365)), ""
    return written_value(span.amount), f" * {per_day}"


def _months_apart(earlier: Text, later: Text, op: str, span: Duration) -> Text:
    months = written_value(span.amount * (12 if span.unit == "year" else 1))
    then = text("add_months(", earlier, f", {months})")
    test = {
        ">": text("is_before(", then, ", ", later, ")"),
        ">=": text("not is_before(", later, ", ", then, ")"),
        "<": text("is_before(", later, ", ", then, ")"),
        "<=": text("not is_before(", then, ", ", later, ")"),
    }.get(op)
    if test is None:
        raise Unresolved("an age is more or less than a span of time")
    return test


def _exists(noun: str, scope: Scope) -> Text:
    kind = scope.kind_named(noun or None)
    argument = scope.lexicon.id_argument(scope.tool, kind.name) if kind else None
    if kind is None or argument is None:
        raise Unresolved(f"{scope.tool.name} does not say which {noun}")
    return text(f"exists({literal(kind.name)}, ", Ref(ARGUMENTS, (argument,)), ")")


def _counted(condition: Counted, scope: Scope) -> Text:
    counted = scope.lexicon.kinds[condition.counted.noun]
    said = [_belongs(counted, kind, scope) for kind in (condition.of, *condition.also)]
    said[0] = opposite(said[0]) if condition.are_others else said[0]
    if condition.counted.condition is not None:
        others = replace(scope, bases={**scope.bases, counted.name: text("other")})
        said.append(truth(condition.counted.condition, others))
    every = text(
        f"len([other for other in entities({literal(counted.name)}) if ", joined(said, " and "), "])"
    )
    return text(every, f" {condition.op} {condition.than}")


def _belongs(counted: Kind, kind: str, scope: Scope) -> Text:
    """That the other record is of the one that the call is about."""
    link = link_field(counted, kind) or scope.lexicon.links.get((counted.name, kind))
    if link is None:
        raise Unresolved(f"nothing says whose a {counted.name} is")
    argument = scope.lexicon.id_argument(scope.tool, kind)
    own = scope.link_to(kind) if scope.kind is not None and scope.kind != kind else None
    if argument in scope.tool.required and scope.in_list != kind:
        owner = text(Ref(ARGUMENTS, (argument,)))
    elif argument is not None and own is not None:  # not always given, but the thing itself says so
        owner = within(scope.base(scope.kind or ""), (own,))
    elif argument is not None and scope.in_list != kind:
        owner = text(Ref(ARGUMENTS, (argument,)))
    else:
        owner = within(scope.base(kind), ("id",))
    return text(f"same_id({dotted('other', (link,))}, ", owner, ")")


def _among(field: Field, listed: Field, scope: Scope) -> Text:
    place, of = scope.place(field), scope.place(listed)
    if of.about is None or of.about.keeps != "list" or (place.about is not None and place.about.keeps):
        raise Unresolved(f"{listed.name} is no list of such values")
    return text(place.value, " in default(", of.value, ", [])")


def _unique(field: Field, scope: Scope) -> Text:
    kind = scope.lexicon.kinds.get(scope.tool.makes or "") or scope.kind_named(None)
    argument = scope.place(replace(field, owner=None, is_argument=True))
    path = find_field(kind.fields, field.name) if kind is not None else None
    if kind is None or path is None:
        raise Unresolved(f"nothing here has a field {field.name!r}")
    own = None if scope.tool.makes else scope.lexicon.id_argument(scope.tool, kind.name)
    others = text(" and not same_id(id_of(other), ", Ref(ARGUMENTS, (own,)), ")") if own else text("")
    return text(
        f"not any({dotted('other', path)} == ",
        argument.value,
        others,
        f" for other in entities({literal(kind.name)}))",
    )
