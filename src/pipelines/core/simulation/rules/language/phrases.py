"""What conditions, values and terms mean: each labelled form as a function of scope and parts. A test is said
of `scope.of`; what is said of a record, of the scope's subject.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules.language.code_expressions import check_expression
from pipelines.core.simulation.rules.language.scope import BoundValue, CannotResolve, Scope

BLANK = m.constant([None, ""])
PER_DAY = {"minutes": 1440, "hours": 24}


class Span(NamedTuple):
    count: Any
    unit: str

    def months(self) -> Any:
        """In months, where it is not measured in days."""
        return {"months": self.count, "years": 12 * self.count}.get(self.unit)


def is_missing(of: BoundValue) -> Expr:
    return m.compare(of.expr, "in", BLANK)


def number(of: BoundValue) -> Expr:
    if not of.may_be("number"):
        raise CannotResolve(f"{of.name} is not a number")
    return of.expr


def date(of: BoundValue) -> Expr:
    if not of.is_date:
        raise CannotResolve(f"{of.name} is not a date")
    return of.expr


def as_value(value: Any) -> Expr:
    """What was meant as a value, be it a term or not."""
    return value.expr if isinstance(value, BoundValue) else value


def restriction(s: Scope, p: Any) -> Expr | None:
    """Whether the record is one of the things meant; None where every record of the type is."""
    states = [either([s.state(one) for one in p.states])] if p.states else []
    limits = [p.limit(s)] if p.limit else []
    return m.all_of(*states, *limits) if states or limits else None


def required_restriction(s: Scope, p: Any) -> Expr:
    found = restriction(s, p)
    if found is None:
        raise CannotResolve(f"the sentence does not say which `{p.type.text}`", p.type)
    return found


def either(parts: Sequence[Expr]) -> Expr:
    """One of several; values of one field are put together."""
    equal = [one for one in parts if isinstance(one, n.Compare) and one.rest[0].sign == "=="]
    if len(parts) > 1 and len(equal) == len(parts) and len({one.first for one in equal}) == 1:
        return m.compare(equal[0].first, "in", n.ListOf(tuple(one.rest[0].value for one in equal)))
    return m.any_of(*parts)


def _is_value(s: Scope, p: Any) -> Expr:
    return either([_equal(s.of, as_value(value(s))) for value in p.values])


def _equal(of: BoundValue, value: Expr) -> Expr:
    """Ids are the same in any spelling."""
    if value == of.expr:
        raise CannotResolve(f"{of.name} is compared with itself")
    if of.is_id and not isinstance(value, n.Constant):
        return m.call("same_id", of.expr, value)
    return m.is_equal(of.expr, value)


def _has(s: Scope, p: Any) -> Expr:
    of = s.owned(p.field)
    return p.test(replace(s, of=of)) if p.test else is_missing(of).negated()


def _compared(s: Scope, p: Any) -> Expr:
    sign, than = p.sign(s), p.than(s)
    if s.of.is_date and than.is_date and sign in ("<", ">"):
        first, second = (s.of, than) if sign == "<" else (than, s.of)
        return m.call("is_before", first.expr, second.expr)
    return m.compare(number(s.of), sign, number(than))


def _plainly(s: Scope, p: Any) -> Expr:
    sign, than = p.what(s)
    return m.compare(s.of.expr if sign in ("in", "not in") else number(s.of), sign, than)


def _length(s: Scope, p: Any) -> Expr:
    if not s.of.may_be("text"):
        raise CannotResolve(f"{s.of.name} is not a text")
    return m.compare(m.call("len", s.of.expr), p.sign(s), m.constant(p.count.value))


# -- time ---------------------------------------------------------------------------------------------------


def apart(start: Expr, end: Expr, sign: Any, span: Span) -> Expr:
    """Whether so much time lies between two moments."""
    months = span.months()
    if months is None:
        count, per_day = (
            m.constant(span.count * 7 if span.unit == "weeks" else span.count),
            PER_DAY.get(span.unit),
        )
        # The count is divided: days of a missing date are null, which nothing can be multiplied with.
        days = count if per_day is None else m.arithmetic(count, "/", m.constant(per_day))
        return m.compare(m.call("days_between", start, end), sign, days)
    then = m.call("add_months", start, m.constant(months))
    first, second = (then, end) if sign in (">", "<=") else (end, then)
    beyond = m.call("is_before", first, second)
    dates = [one for one in (start, end) if isinstance(one, n.Field)]  # a missing date is neither old nor new
    return beyond if sign in ("<", ">") else m.all_of(*map(m.is_given, dates), beyond.negated())


def _when(s: Scope, p: Any) -> Expr:
    return p.when(s) if p.when else m.NOW


def _earlier(first: Expr, second: Expr) -> Expr:
    return m.call("is_before", first, second)


def _within(of: Expr, start: Expr, end: Expr, span: Span) -> Expr:
    is_wrong_side = _earlier(end, start) if of == start else _earlier(of, start)
    return m.all_of(apart(start, end, "<=", span), is_wrong_side.negated())


# -- terms --------------------------------------------------------------------------------------------------


def _chain(s: Scope, p: Any) -> BoundValue:
    first: BoundValue = p.first(s)
    if not p.rest:
        return first
    expr = number(first)
    for one in p.rest:
        expr = m.arithmetic(expr, one.sign(s), number(one.term(s)))
    return BoundValue(expr, "it")


def _share(s: Scope, p: Any) -> BoundValue:
    of = p.term(s)
    return BoundValue(
        m.arithmetic(number(of), "*", m.constant(round(float(p.share.value) / 100, 10))), of.name
    )


def _summed(s: Scope, p: Any) -> BoundValue:
    of = s.on(None).owned(p.field)
    path = n.path_of(of.expr)
    if path is None or of.field is None or of.field.keeps != "list":
        raise CannotResolve(f"{of.name} is not a list", p.field)
    inner = p.term(replace(s, part=path.keys)).expr
    return BoundValue(m.call("sum", m.each_of(inner, "part", of.expr)), of.name)


def _number_of(s: Scope, p: Any) -> BoundValue:
    kind = s.kind(p.type).name
    test = restriction(s.about(kind, n.Name("other")), p)
    return BoundValue(count_of(kind, *([] if test is None else [test])), kind)


def count_of(kind: str, *tests: Expr) -> Expr:
    return m.call("len", m.listed(n.Name("other"), "other", m.entities(kind), *tests))


#: Labels that only say which of a few words was used.
WORDS: Mapping[str, Any] = {
    "less": "<", "more": ">", "at_most": "<=", "at_least": ">=",
    "plus": "+", "minus": "-", "by": "*", "over": "/",
    "positive": (">", m.constant(0)), "negative": ("<", m.constant(0)), "zero": ("==", m.constant(0)),
    "missing": ("in", BLANK), "present": ("not in", BLANK), "true": m.TRUE, "false": m.FALSE, "null": m.NULL,
    **{unit: unit for unit in ("minutes", "hours", "days", "weeks", "months", "years")},
    "today": m.TODAY, "now": m.NOW, "once": 1, "twice": 2,
}  # fmt: skip

PHRASES: Mapping[str, Callable[..., Any]] = {
    # conditions
    "any_of": lambda s, p: m.any_of(*(part(s) for part in p.parts)),
    "all_of": lambda s, p: m.all_of(*(part(s) for part in p.parts)),
    "not": lambda s, p: p.test(s).negated(),
    "code": lambda s, p: check_expression(p.code, s),
    "not_given": lambda s, p: is_missing(s.argument(p.field)),
    "of_term": lambda s, p: p.test(replace(s, of=p.term(s))),
    # said of a record
    "being": lambda s, p: p.being(s.on(p.type)),
    "has": lambda s, p: _has(s.on(p.type), p),
    "has_not": lambda s, p: is_missing(s.on(p.type).owned(p.field)),
    "whose": lambda s, p: p.test(replace(s, prefers="own")),
    "is_so": lambda s, p: either([s.state(one) for one in p.states]),
    "has_been": lambda s, p: either([s.state(one, has_been=True) for one in p.states]),
    "older": lambda s, p: apart(s.made_at().expr, m.NOW, ">", p.span(s)),
    "was": lambda s, p: p.timed(replace(s, of=s.date_of(p.state))),
    "after_event": lambda s, p: apart(s.date_of(p.state).expr, m.NOW, ">", p.span(s)),
    # said of a value
    "is_value": _is_value,
    "is_not": lambda s, p: _is_value(s, p).negated(),
    "compared": _compared,
    "between": lambda s, p: m.all_of(
        m.compare(number(s.of), ">=", number(p.low(s))), m.compare(s.of.expr, "<=", number(p.high(s)))
    ),
    "plainly": _plainly,
    "length": _length,
    "timed": lambda s, p: p.timed(s),
    "apart": lambda s, p: apart(date(s.of), _when(s, p), p.sign(s), p.span(s)),
    "apart_after": lambda s, p: apart(_when(s, p), date(s.of), p.sign(s), p.span(s)),
    "within_last": lambda s, p: _within(s.of.expr, date(s.of), m.NOW, p.span(s)),
    "within_next": lambda s, p: _within(s.of.expr, m.NOW, date(s.of), p.span(s)),
    "before": lambda s, p: _earlier(date(s.of), _when(s, p)),
    "later": lambda s, p: _earlier(_when(s, p), date(s.of)),
    "span": lambda s, p: Span(p.count.value if p.count else 1, p.unit(s)),
    "moment": lambda s, p: date(p.ref(s)),
    # values and terms
    "literal": lambda s, p: m.constant(p.value.value),
    "known_value": lambda s, p: s.value(p.state),
    "number": lambda s, p: BoundValue(m.constant(p.value.value), str(p.value.value)),
    "negative_number": lambda s, p: BoundValue(m.constant(-p.value.value), str(-p.value.value)),
    "share": _share,
    "chain": _chain,
    "summed": _summed,
    "number_of": _number_of,
    "code_value": lambda s, p: BoundValue(check_expression(p.code, s), "the expression"),
    "field_of": lambda s, p: s.on(p.type).owned(p.field),
    "path": lambda s, p: s.path(p.path),
    "given": lambda s, p: s.argument(p.field),
    "plain": lambda s, p: s.plain(p.field),
}
