"""Whatever rules are applied into whatever plan of the shop: it parses, runs, and a refusal changes
nothing."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.simulation.rules.shop import NOW, PLANS, TOOLS, Shop, without_rule

from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.rules import apply_rules as apply_module
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment
from pipelines.core.text.json_text import Json, JsonObject

TESTS = st.sampled_from(
    [
        "order.status == 'pending'",
        "order.status in ['pending', 'shipped']",
        "not order.refunded",
        "order.delivered_at != null",
        "order.total > 50 and user.verified",
        "user.tier == 'gold' or product.active",
        "product.stock >= args.quantity",
        "args.amount <= order.total",
        "args.reason != null",
        "args.user_id == order.user_id",
        "days_between(order.created_at, today) < 90",
        "len([one for one in entities('order') if one.user_id == user.id]) < 2",
        "not any(each.email == args.email for each in entities('user'))",
        "entity('user', args.requester_id).role == 'admin'",
        "false",
        "true",
        "nothing.at_all == 1",
    ]
)
VALUES = st.sampled_from(
    [
        "order.total * 2",
        "args.reason",
        "today",
        "'x'",
        "user.loyalty_points + 1",
        "product.price * args.quantity",
        "null",
    ]
)
TARGETS = st.sampled_from(
    ["order.note", "order.status", "user.loyalty_points", "product.stock", "user.deep.er"]
)
KINDS = st.sampled_from(["order", "user", "product"])
FIELDS = st.sampled_from(["total", "ssn", "card_number", "status", "name", "items"])
EACH = st.sampled_from(
    ["each.total > 30", "each.active", "each.user_id == args.user_id", "each.total > user.balance"]
)
#: Of records that other rules may have given any value: nothing that only numbers can be asked.
MEANT = st.sampled_from(["each.active", "each.user_id == args.user_id", "each.status == 'pending'"])
WHEN = st.one_of(st.none(), TESTS)
ANSWERS: st.SearchStrategy[JsonObject] = st.sampled_from(
    [
        {},
        {"status": 403},
        {"error": "ODD_CODE"},
        {"message": "no {x}"},
        {"unchanged": True},
        {"reply": {"[a]": []}},
    ]
)


def form(name: str, **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    made = st.fixed_dictionaries({"form": st.just(name), **keys})
    return made.map(lambda body: {key: value for key, value in body.items() if value is not None})


FORMS = st.one_of(
    st.builds(lambda body, answer: body | answer, form("require", expression=TESTS), ANSWERS),
    form("require", expression=TESTS, after_changes=st.just(True)),
    form("not_found", target=KINDS),
    form("keep", expression=EACH),
    form("sort", target=FIELDS),
    form("sort", expression=EACH),
    form("sort", target=st.lists(FIELDS, min_size=1, max_size=2), expression=EACH),
    form("require", expression=TESTS, unchanged=st.just(True), first=st.just(True)),
    form(
        "set",
        target=TARGETS,
        expression=st.one_of(VALUES, st.sampled_from(["[each.total]", "each.status"])),
        where=MEANT,
        before=st.booleans(),
        when=WHEN,
    ),
    form("set", target=TARGETS, expression=VALUES, before=st.just(True), when=WHEN),
    form("unset", target=TARGETS, where=MEANT, before=st.booleans(), when=WHEN),
    form("remove", target=KINDS, where=MEANT, before=st.booleans(), when=WHEN),
    form("drop", target=st.one_of(KINDS, st.sampled_from(["order.status", "product.stock"]))),
    form("amend", target=st.just("other"), status=st.just(422), when=WHEN),
    form("take", count=st.integers(0, 3), pages=st.booleans()),
    form("set", target=TARGETS, expression=VALUES, when=WHEN),
    form("unset", target=TARGETS, when=WHEN),
    form("flag", target=st.just("busy"), on=st.booleans(), when=WHEN),
    form("add", target=KINDS, fields=st.dictionaries(FIELDS, VALUES, max_size=2), when=WHEN),
    form("remove", target=KINDS, when=WHEN),
    form("put", target=FIELDS, expression=st.one_of(VALUES, st.just("reply.total + 1")), when=WHEN),
    form("without", names=st.lists(FIELDS, min_size=1, max_size=2)),
    form("only", names=st.lists(FIELDS, min_size=1, max_size=2)),
    form("mask", target=FIELDS, count=st.integers(0, 5)),
)
ARGUMENTS: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {
        "order_id": st.sampled_from(["o-1", "o-2", "o-4", "o-9"]),
        "user_id": st.sampled_from(["u-1", "u-2", "u-7"]),
        "product_id": st.sampled_from(["p-1", "p-9"]),
        "quantity": st.integers(-1, 12),
        "email": st.sampled_from(["ada@example.com", "new@example.com"]),
    },
    optional={
        "amount": st.integers(-5, 500),
        "reason": st.sampled_from(["", "late"]),
        "requester_id": st.just("u-9"),
        "page": st.integers(0, 3),
    },
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from([*PLANS]), st.lists(FORMS, max_size=8), ARGUMENTS, st.booleans())
def test_a_woven_plan_parses_and_runs_and_a_refusal_changes_nothing(
    name: str, rules: list[JsonObject], arguments: JsonObject, is_inferred: bool
) -> None:
    shop = Shop(rules=[{**rule, "tools": [name]} for rule in rules], is_inferred=is_inferred)
    result = shop.applied(name)
    assert all(one.reason for one in result.unapplied)
    [own] = [one.input_schema["properties"] for one in TOOLS if one.name == name]
    assert isinstance(own, dict)
    plan = parse_plan(
        without_rule(result.body),
        origin="read",
        argument_names=[*own],
        entity_types=["order", "user", "product"],
    )
    given = {key: value for key, value in arguments.items() if key in own}
    reply = run(plan, given, shop.ledger, Moment(seed="s", call_number=1, now=NOW))
    if reply.status >= 400:
        assert reply.updates == ()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*PLANS]), st.lists(FORMS, min_size=1, max_size=6))
def test_a_rule_without_a_place_leaves_nothing_in_the_plan(name: str, rules: list[JsonObject]) -> None:
    bodies = [{**rule, "tools": [name], "sentence": f"rule {at}"} for at, rule in enumerate(rules)]
    result = Shop(rules=bodies).applied(name)
    written = json.dumps(result.body)
    for one in result.unapplied:
        assert f'{one.rule.sentence}"' not in written
    kept = [
        body for body in bodies if body["sentence"] not in [one.rule.sentence for one in result.unapplied]
    ]
    assert Shop(rules=kept).applied(name).body == result.body


# -- expressions are nodes ----------------------------------------------------------------------------------

WEAVING = [
    Path(apply_module.__file__).parent / f"{name}.py"
    for name in (
        "apply_rules",
        "apply_effects",
        "apply_replies",
        "open_plan",
        "conditions",
        "messages",
        "refusals",
    )
]
READS_TEXT = {"startswith", "endswith", "removeprefix", "removesuffix", "split", "partition", "find", "re"}


@pytest.mark.parametrize("path", WEAVING, ids=lambda path: path.stem)
def test_weaving_never_reads_an_expression_as_text(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imports = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert not READS_TEXT & {*imports}
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not (READS_TEXT - {"find"}) & called


@pytest.mark.parametrize("path", WEAVING, ids=lambda path: path.stem)
def test_weaving_makes_no_expression_of_text(path: Path) -> None:
    """A text with values in it is a reason, a message, an error or a name, without signs of the language."""
    tree = ast.parse(path.read_text())
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):
        literal = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        assert not {*"=<>[]{}+*"} & {*literal}, literal


def test_every_plan_of_the_shop_is_woven_in_these_tests() -> None:
    bodies: list[Json] = [*PLANS.values()]
    assert len(bodies) == len(TOOLS)
