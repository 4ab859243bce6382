"""Random typed rules over the shop: whatever an author can write as data."""

from hypothesis import strategies as st
from tests.core.simulation.rules.language.worlds import STATE, TOOLS

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.rule import Rule

READING = ("get_order", "get_quote", "list_orders", "search_products", "get_user")
LISTS = {"list_orders": "order", "search_products": "product"}
_FIELDS = {kind: sorted({*next(iter(records.values()))}) for kind, records in STATE.items()}  # type: ignore[union-attr, arg-type]
_ARGUMENTS = sorted({name for tool in TOOLS for name in tool.input_schema["properties"]})  # type: ignore[union-attr]
_SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
_WORDS = st.sampled_from(
    ["pending", "shipped", "gold", "it's", 'say "no"', "", "two words", "a.b", "“x”", "`"]
)

texts = st.one_of(_WORDS, st.text(max_size=8).filter(lambda text: "\x00" not in text))
numbers = st.one_of(st.integers(-1000, 1000), st.sampled_from([0.5, 1.08, -2.25, 5.0, 1e-9, 409, 10**20]))
scalars = st.one_of(texts, numbers, st.booleans(), st.none(), st.sampled_from(["2026-01-15"]))
constants = scalars.map(n.Constant)


def _path(kind: str) -> st.SearchStrategy[Expr]:
    return st.sampled_from(_FIELDS[kind]).map(lambda field: m.path(kind, field))


def paths(*roots: str) -> st.SearchStrategy[Expr]:
    own = [_path(kind) for kind in _FIELDS]
    given = st.sampled_from(_ARGUMENTS).map(m.arg)
    others = [
        st.sampled_from(["stock", "status", "total"]).map(lambda f, root=root: m.path(root, f))
        for root in roots
    ]
    return st.one_of(*own, given, *others)


def terms(*roots: str) -> st.SearchStrategy[Expr]:
    plain = st.one_of(paths(*roots), numbers.map(n.Constant), st.sampled_from([m.TODAY, m.NOW]))
    days = st.builds(lambda start, end: m.call("days_between", start, end), plain, plain)
    hours = days.map(lambda one: m.arithmetic(one, "*", m.constant(24)))
    deeper = st.recursive(
        plain,
        lambda inner: st.one_of(
            st.builds(m.arithmetic, inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner),
            st.builds(lambda one: m.call("len", one), inner),
            st.builds(lambda one, other: m.call("default", one, other), inner, inner),
        ),
        max_leaves=4,
    )
    return st.one_of(deeper, days, hours)


def _atoms(*roots: str) -> st.SearchStrategy[Expr]:
    term = terms(*roots)
    values = st.one_of(constants, term)
    lists = st.lists(constants, max_size=4).map(lambda parts: n.ListOf(tuple(parts)))
    months = st.builds(lambda one, by: m.call("add_months", one, m.constant(by)), term, st.integers(0, 24))
    moments = st.one_of(term, months, st.sampled_from([m.NOW, m.TODAY, n.Constant("2026-01-15")]))
    return st.one_of(
        st.builds(m.compare, term, _SIGNS, values),
        st.builds(m.compare, term, st.sampled_from(["in", "not in"]), lists),
        st.builds(lambda one, other: m.call("is_before", one, other), moments, moments),
        st.builds(lambda one, other: m.call("same_id", one, other), term, values),
        st.builds(
            lambda kind: m.call("any", m.each_of(m.path("o", "id"), "o", m.entities(kind))), st.just("order")
        ),
        term,
    )


def conditions(*roots: str) -> st.SearchStrategy[Expr]:
    return st.recursive(
        _atoms(*roots),
        lambda inner: st.one_of(
            st.builds(m.all_of, inner, inner),
            st.builds(m.any_of, inner, inner),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: n.And(tuple(parts))),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: n.Or(tuple(parts))),
            inner.map(lambda one: one.negated()),
            inner.map(n.Not),
        ),
        max_leaves=4,
    )


errors = st.one_of(
    st.none(), st.sampled_from(["already_shipped", "conflict", "NO", "TOO_LATE", "when", "a.b", "one"])
)
refusals = st.builds(
    lambda status, error, message: r.Refusal(status=status, error=error, message=message),
    st.one_of(st.none(), st.integers(400, 599)),
    errors,
    st.one_of(st.none(), texts.filter(bool)),
)
answers = st.one_of(refusals, st.just(r.Unchanged()), st.sampled_from([r.Reply([]), r.Reply({"a": 1})]))
kinds = st.sampled_from([*_FIELDS])
maybe = st.one_of(st.none(), conditions())
names = st.sampled_from(["status", "total", "ssn", "card_number", "name", "tax", "stock", "one", "odd name"])
targets = st.builds(lambda kind, field: n.Path(kind, (field,)), kinds, names)
pers = st.one_of(st.none(), kinds)


def _moved(target: n.Path) -> st.SearchStrategy[Expr | None]:
    place = m.path(target.root, *target.keys)
    start = m.call("default", place, m.constant(0))
    return st.one_of(
        st.none(),
        constants,
        terms(),
        st.builds(lambda sign, by: m.arithmetic(start, sign, by), st.sampled_from(["+", "-"]), terms()),
        st.builds(
            lambda name, by: m.call(name, place, m.constant(by)),
            st.sampled_from(["add_days", "add_months", "add_minutes"]),
            st.integers(-30, 30),
        ),
    )


def _puts(name: str) -> st.SearchStrategy[Expr]:
    own = m.path(r.REPLY, name)
    return st.one_of(
        terms(r.REPLY),
        constants,
        st.builds(lambda limit: m.call("min", own, limit), terms()),
        st.just(m.call("max", own, m.constant(0))),
        st.builds(lambda value, by: m.call("round", value, m.constant(by)), terms(), st.integers(0, 4)),
    )


guards = st.one_of(
    st.builds(lambda need, answer: r.Require(need=need, answer=answer, first=True), conditions(), answers),
    st.builds(lambda need, answer: r.Require(need=need, answer=answer), conditions(), answers),
    st.builds(
        lambda need, answer: r.Require(need=need, answer=answer, after_changes=True), conditions(), refusals
    ),
    st.builds(
        lambda count, per, answer: r.LimitCalls(count=count, per=per, answer=answer),
        st.integers(0, 9),
        pers,
        refusals,
    ),
    st.builds(
        lambda tool, per, answer: r.After(tool=tool, per=per, answer=answer),
        st.sampled_from(READING),
        pers,
        refusals,
    ),
    st.builds(
        lambda amount, limit, per, answer: r.RunningTotal(amount=amount, limit=limit, per=per, answer=answer),
        terms(),
        terms(),
        pers,
        refusals,
    ),
    st.builds(lambda kind, answer: r.NotFound(entity_type=kind, answer=answer), kinds, refusals),
)
effects = st.one_of(
    targets.flatmap(
        lambda target: st.builds(
            lambda value, when: r.Set(target=target, value=value, when=when), _moved(target), maybe
        )
    ),
    st.builds(lambda flag, on, when: r.Flag(flag=flag, on=on, when=when), names, st.booleans(), maybe),
    st.builds(
        lambda kind, fields, when: r.Add(entity_type=kind, fields=tuple(fields.items()), when=when),
        kinds,
        st.dictionaries(names, st.one_of(constants, terms()), max_size=3),
        maybe,
    ),
    st.builds(lambda kind, when: r.Remove(entity_type=kind, when=when), kinds, maybe),
    st.builds(
        lambda target, value, when, before: r.Set(target=target, value=value, when=when, before=before),
        targets,
        st.one_of(constants, terms()),
        maybe,
        st.booleans(),
    ),
    st.builds(
        lambda target, value, when, where, before: r.Set(
            target=target, value=value, when=when, where=where, before=before
        ),
        targets,
        st.one_of(st.none(), constants, terms(r.EACH)),
        maybe,
        conditions(r.EACH),
        st.booleans(),
    ),
    st.builds(
        lambda kind, when, where, before: r.Remove(entity_type=kind, when=when, where=where, before=before),
        kinds,
        maybe,
        conditions(r.EACH),
        st.booleans(),
    ),
    targets.map(lambda target: r.Drop(entity_type=target.root, keys=target.keys)),
    kinds.map(lambda kind: r.Drop(entity_type=kind)),
    st.builds(
        lambda rule, when, answer: r.Amend(rule=rule, when=when, answer=answer),
        texts.filter(bool),
        maybe,
        st.one_of(st.none(), answers),
    ).filter(lambda one: one.when is not None or one.answer not in (None, r.Refusal())),
)
replies = st.one_of(
    names.flatmap(
        lambda name: st.builds(
            lambda value, when: r.Put(name=name, value=value, when=when), _puts(name), maybe
        )
    ),
    st.lists(names, min_size=1, max_size=3, unique=True).map(lambda some: r.Without(names=tuple(some))),
    st.lists(names, min_size=1, max_size=3, unique=True).map(lambda some: r.Only(names=tuple(some))),
    st.builds(lambda name, count: r.Mask(name=name, count=count), names, st.integers(0, 8)),
)
lists = st.one_of(
    conditions(r.EACH).map(lambda need: r.Keep(need=need)),
    conditions(r.EACH).map(lambda first: r.Sort(first=first)),
    st.sampled_from(["price", "-price", "created_at", "-total", "odd"]).map(lambda by: r.Sort(by=(by,))),
    st.booleans().map(lambda latest: r.Sort(latest=latest)),
    st.builds(
        lambda by, first: r.Sort(by=tuple(by), first=first),
        st.lists(st.sampled_from(["price", "-total", "odd"]), min_size=1, max_size=2, unique=True),
        st.one_of(st.none(), conditions(r.EACH)),
    ),
    st.builds(lambda count, pages: r.Take(count=count, pages=pages), st.integers(0, 99), st.booleans()),
)
tools = st.lists(st.sampled_from([tool.name for tool in TOOLS]), min_size=1, max_size=3, unique=True).map(
    tuple
)
rules = st.one_of(
    st.builds(lambda names, form: Rule(tools=names, form=form), tools, st.one_of(guards, effects, replies)),
    st.builds(lambda name, form: Rule(tools=(name,), form=form), st.sampled_from([*LISTS]), lists),
)
