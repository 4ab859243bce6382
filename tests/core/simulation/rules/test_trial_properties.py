"""Random rules tried on random worlds: nothing raises, the same comes each time, and what is said is so."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from trial_shop import TOOLS, rule, tried_in_shop, vocabulary_of

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expr import Expr, parse, written
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.findings import findings
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.trial import try_rules
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.expressions import compile_expression
from pipelines.core.simulation.values import Stopped
from pipelines.core.text.json_text import JsonObject

FIELDS = ("status", "total", "created_at", "paid", "user_id", "lost")
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5) | st.sampled_from([0.5, 1e300, 10**50, 1767225600]),
    st.sampled_from(["", "open", "late", "u-1", "2026-01-02", "0001-01-01", "3 May 2026", "{}"]),
)
attributes = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), scalars)
records = st.dictionaries(st.sampled_from(FIELDS[:-1]), attributes, max_size=5)
worlds = st.builds(
    lambda orders, users: World.from_initial_state({"order": orders, "user": users}),
    st.dictionaries(st.sampled_from(["o-1", "o-2", "o-3"]), records, max_size=3),
    st.dictionaries(st.sampled_from(["u-1", "u-2"]), records, max_size=2),
)
paths = st.sampled_from(
    [m.path(root, key) for root in ("order", "user", "each", "reply") for key in FIELDS]
    + [m.arg("amount"), m.arg("reason"), m.arg("due"), m.arg("nothing"), m.TODAY, m.NOW, m.path("gone", "x")]
    + [m.path("order"), m.path("order", "address", "city"), m.arg("reason", "inner"), m.ARGS]
)
operands = paths | scalars.map(m.constant)
signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in"])
whole = [
    "len(entities('order')) > 2",
    "days_between(order.created_at, today) > 30",
    "len(calls('refund_order')) < 2",
    "whatever(order.total)",
    "sum([one.total for one in entities('order')]) > 5",
    "order.total / order.total > 1",
    "f'{order.total}' == 'x'",
    "add_days(order.created_at, args.amount) < now",
    "order.items[0].price > 1",
]
atoms = st.one_of(
    st.builds(m.compare, operands, signs, operands),
    paths,
    st.sampled_from([parse(text) for text in whole]),
    st.just(m.call("caller")),
)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(parts.map(n.And), parts.map(n.Or), inner.map(n.Not))


expressions = st.recursive(atoms, _larger, max_leaves=4)
whens = st.none() | expressions
targets = st.builds(lambda key: n.Path("order", (key,)), st.sampled_from(FIELDS))
forms: st.SearchStrategy[r.Form] = st.one_of(
    st.builds(r.Require, need=expressions, after_changes=st.booleans()),
    st.builds(r.Keep, need=expressions),
    st.builds(
        r.Sort, by=st.lists(st.sampled_from(["-total", "created_at", "status.x"]), max_size=2).map(tuple)
    ),
    st.builds(r.Sort, first=expressions),
    st.builds(r.Take, count=st.integers(0, 4)),
    st.builds(r.Set, target=targets, value=st.none() | operands, when=whens),
    st.builds(r.Put, name=st.sampled_from(FIELDS), value=expressions, when=whens),
    st.builds(r.Flag, flag=st.just("f"), when=whens),
    st.builds(r.RunningTotal, amount=operands, limit=operands),
    st.builds(r.LimitCalls, count=st.integers(0, 2)),
)
names = st.lists(st.sampled_from([*(one.name for one in TOOLS), "gone"]), min_size=1, max_size=3, unique=True)
rules = st.builds(
    lambda tools, form, sentence: Rule(tools=tuple(tools), form=form, sentence=sentence),
    names,
    forms,
    st.sampled_from(["", "one", "two"]),
)


@settings(max_examples=150)
@given(st.lists(rules, min_size=1, max_size=4), worlds)
def test_nothing_raises_and_the_same_comes_each_time(some: list[Rule], world: World) -> None:
    before = repr(world.entities)
    found = tried_in_shop(*some, world=world)
    assert found == tried_in_shop(*some, world=world)
    assert [one.rule for one in found.rules] == some
    assert all(one.problem is None or one.uniform is None for one in found.rules)
    assert repr(world.entities) == before
    assert findings(some) == findings(some)


@settings(max_examples=150)
@given(expressions, worlds)
def test_what_is_said_of_every_record_is_so(need: Expr, world: World) -> None:
    one = Rule(tools=("refund_order",), form=r.Require(need=need))
    [found] = try_rules([one], vocabulary_of(world), world).rules
    says = {"in the seeded world every order passes": True, "in the seeded world no order passes": False}
    expected = [value for text, value in says.items() if found.uniform == text]
    if not expected:
        return
    for id in world.entities["order"]:
        assert came(need, id, world, "2000-01-01T00:00:00Z") in (expected[0], None), found.uniform


def came(need: Expr, id: str, world: World, now: str) -> bool | None:
    test = compile_expression(written(need), names=["order", "each"]).evaluate
    call = Call({}, Ledger(world), Moment("", 1, now))
    call.names["order"] = call.names["each"] = call.entity("order", id)
    try:
        return bool(test(call))
    except Stopped:
        return None


def test_a_part_of_a_world_is_never_taken_for_the_whole() -> None:
    """Two types of many records: more pairs than are gone through, so that nothing is said."""
    many: JsonObject = {f"x-{at}": {"total": at, "role": "guest"} for at in range(200)}
    world = World.from_initial_state({"order": many, "user": many})
    found: Any = tried_in_shop(
        rule("require", "refund_order", expression="order.total < 500 or user.role == 'x'"),
        rule("require", "refund_order", expression="order.total < 500"),
        world=world,
    )
    assert [one.uniform is None for one in found.rules] == [True, False]
