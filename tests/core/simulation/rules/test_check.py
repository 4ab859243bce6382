"""Rules against the tools and the world they are for: everything that names nothing is told at once."""

import pytest

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules.check import check
from pipelines.core.simulation.rules.forms import read_rules
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import Vocabulary, build_vocabulary
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import parse_tools_schema

WORLD: JsonObject = {
    "order": {"4521": {"status": "open", "total": 80.0, "user_id": "U1", "address": {"city": "Graz"}}},
    "user": {"U1": {"name": "Ada", "limit": 100}},
    "coupon": {"C1": {}},
}


def tool(name: str, *arguments: str, **more: object) -> JsonObject:
    properties: JsonObject = {argument: {"type": "string"} for argument in arguments}
    body: JsonObject = {"name": name, "description": "", "input_schema": {"type": "object"}}
    return body | {"input_schema": {"type": "object", "properties": properties}} | more  # type: ignore[operator]


TOOLS = parse_tools_schema(
    [
        tool("get_order", "order_id"),
        tool("cancel_order", "order_id", "reason"),
        tool("refund_order", "order_id", "user_id", "amount"),
        tool("list_orders", "user_id"),
        tool("verify_user", "user_id"),
        tool("ping"),
    ]
)


def vocabulary(world: JsonObject = WORLD) -> Vocabulary:
    return build_vocabulary(TOOLS, survey_for(list(TOOLS), world=World.from_initial_state(world)))


def read(*bodies: JsonObject) -> tuple[Rule, ...]:
    problems: list[Problem] = []
    found = read_rules([*bodies], "/rules", problems)
    assert not problems
    return found.rules


def require(tool: str, expression: str) -> JsonObject:
    return {"form": "require", "tools": [tool], "expression": expression}


def put(tool: str, name: str, expression: str) -> JsonObject:
    return {"form": "put", "tools": [tool], "target": name, "expression": expression}


FINE: dict[str, JsonObject] = {
    "a field of the record": require("cancel_order", "order.status == 'open' and order.id != null"),
    "a field inside one": require("cancel_order", "order.address.city == 'Graz'"),
    "an argument": require("cancel_order", "args.reason in ['late', 'wrong']"),
    "a type of which no field is known": require("cancel_order", "coupon.value > 3"),
    "another record": require("cancel_order", "user.limit > 3 and entity('user', 'U1').anything"),
    "what a comprehension binds": require("cancel_order", "any(one.x for one in entities('order'))"),
    "the calls before": require("cancel_order", "len(calls('verify_user')) > 0 and today > '2026-01-01'"),
    "a flag that nobody raised": {"form": "flag", "tools": ["ping"], "target": "outage"},
    "a flag that is asked for": require("ping", "not is_flagged('outage')"),
    "of each record": {"form": "limit_calls", "tools": ["refund_order"], "count": 1, "per": "order"},
    "after another tool": {
        "form": "after",
        "tools": ["refund_order"],
        "target": "verify_user",
        "per": "user",
    },
    "a running total": {
        "form": "running_total",
        "tools": ["refund_order"],
        "expression": "args.amount",
        "limit": "user.limit",
        "per": "user",
    },
    "each element": {"form": "keep", "tools": ["list_orders"], "expression": "each.status == 'open'"},
    "an order of elements": {"form": "sort", "tools": ["list_orders"], "target": ["-total", "id"]},
    "a tool of which nothing is known": {"form": "take", "tools": ["ping"], "count": 3},
    "a record of a new type": {"form": "add", "tools": ["ping"], "target": "fee", "fields": {"amount": 3}},
    "the field that it changes itself": put("get_order", "total", "reply.total * 1.2"),
    "fields of the reply": {"form": "without", "tools": ["get_order"], "names": ["total", "address"]},
    "the reply around a list": put("list_orders", "count", "len(reply.orders)"),
}


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_what_the_tools_and_the_world_have_is_fine(body: JsonObject) -> None:
    assert check(read(body), vocabulary(), "/rules") == []


WRONG: dict[str, tuple[JsonObject, str, str | None]] = {
    "tool": (
        require("cancel_ordr", "true"),
        "there is no tool `cancel_ordr`",
        "did you mean `cancel_order`?",
    ),
    "tool called before": (
        require("cancel_order", "len(calls('verify_usr')) > 0"),
        "there is no tool `verify_usr`",
        "did you mean `verify_user`?",
    ),
    "tool to come after": (
        {"form": "after", "tools": ["refund_order"], "target": "verify"},
        "there is no tool `verify`",
        "did you mean `verify_user`?",
    ),
    "type": (require("cancel_order", "ordr.status"), "there is no type `ordr`", "did you mean `order`?"),
    "type of a function": (
        require("cancel_order", "entity('ordr', 1)"),
        "there is no type `ordr`",
        "did you mean `order`?",
    ),
    "type that is removed": (
        {"form": "remove", "tools": ["cancel_order"], "target": "invoice"},
        "there is no type `invoice`",
        "there is `order`, `user`, `coupon`",
    ),
    "type that is not found": (
        {"form": "not_found", "tools": ["get_order"], "target": "orders"},
        "there is no type `orders`",
        "did you mean `order`?",
    ),
    "field": (
        require("cancel_order", "order.statu == 'open'"),
        "`order` has no field `statu`",
        "did you mean `status`?",
    ),
    "field inside a field": (
        require("cancel_order", "order.address.zip == '8010'"),
        "`order` has no field `address.zip`",
        "there is `city`",
    ),
    "argument": (
        require("cancel_order", "args.reasn == 'late'"),
        "`cancel_order` takes no argument `reasn`",
        "did you mean `reason`?",
    ),
    "argument of a tool that takes none": (require("ping", "args.x"), "`ping` takes no argument `x`", None),
    "record that no argument names": (
        {"form": "limit_calls", "tools": ["cancel_order"], "count": 1, "per": "user"},
        "no argument of `cancel_order` says which `user`",
        None,
    ),
    "record that no argument of the tool before names": (
        {"form": "after", "tools": ["refund_order"], "target": "get_order", "per": "user"},
        "no argument of `get_order` says which `user`",
        None,
    ),
    "list": (
        {"form": "keep", "tools": ["cancel_order"], "expression": "each.status == 'open'"},
        "`cancel_order` returns no list",
        None,
    ),
    "field of each": (
        {"form": "keep", "tools": ["list_orders"], "expression": "each.stat == 'open'"},
        "the reply of `list_orders` has no field `stat`",
        "did you mean `status`?",
    ),
    "field to sort by": (
        {"form": "sort", "tools": ["list_orders"], "target": ["-totl"]},
        "the reply of `list_orders` has no field `totl`",
        "did you mean `total`?",
    ),
    "field to mask": (
        {"form": "mask", "tools": ["get_order"], "target": "card"},
        "the reply of `get_order` has no field `card`",
        "there is `id`, `status`, `total`, `user_id`, `address`",
    ),
    "function": (require("ping", "lenn('x') > 1"), "there is no function `lenn`", "did you mean `len`?"),
    "total by which it is limited": (
        {
            "form": "running_total",
            "tools": ["refund_order"],
            "expression": "args.amount",
            "limit": "args.amount * 2",
        },
        "the limit refers to `args.amount`, which it limits",
        None,
    ),
    "total by what was called before": (
        {
            "form": "running_total",
            "tools": ["refund_order"],
            "expression": "args.amount",
            "limit": "sum(one.amount for one in calls('refund_order'))",
        },
        "the limit refers to the calls of `refund_order`, which it limits",
        None,
    ),
}


@pytest.mark.parametrize(("body", "message", "hint"), WRONG.values(), ids=WRONG)
def test_what_names_nothing_is_told_with_what_may_be_meant(
    body: JsonObject, message: str, hint: str | None
) -> None:
    assert check(read(body), vocabulary(), "/rules") == [
        Problem(path="/rules/0", message=f"rule 1: {message}", hint=hint)
    ]


def test_a_rule_is_named_by_its_name_where_it_has_one() -> None:
    rules = read({"name": "open-only", **require("cancel_order", "ordr.status")})
    [problem] = check(rules, vocabulary(), "/rules")
    assert problem.message == "rule `open-only`: there is no type `ordr`"


def test_everything_wrong_is_told_at_once_each_at_its_rule() -> None:
    rules = read(
        require("cancel_ordr", "args.x and order.statu"),
        require("get_order", "true"),
        {
            "form": "require",
            "tools": ["cancel_order", "refund_order"],
            "expression": "args.amount > usr.limit",
        },
    )
    found = check(rules, vocabulary(), "/rules")
    assert [(one.path, one.message.partition(": ")[2]) for one in found] == [
        ("/rules/0", "there is no tool `cancel_ordr`"),
        ("/rules/0", "`order` has no field `statu`"),
        ("/rules/2", "`cancel_order` takes no argument `amount`"),
        ("/rules/2", "there is no type `usr`"),
    ]


def test_entries_that_are_no_rules_are_counted() -> None:
    [problem] = check(read(require("pong", "true")), vocabulary(), "/rules", places=[4])
    assert (problem.path, problem.message) == ("/rules/4", "rule 5: there is no tool `pong`")


@pytest.mark.parametrize(
    "making",
    [
        {"form": "set", "tools": ["ping"], "target": "order.held", "expression": "true"},
        {"form": "add", "tools": ["ping"], "target": "order", "fields": {"held": "true"}},
        put("cancel_order", "held", "true"),
    ],
    ids=lambda body: str(body["form"]),
)
def test_another_rule_may_make_the_field(making: JsonObject) -> None:
    asks = require("cancel_order", "order.held")
    assert [one.message for one in check(read(asks), vocabulary(), "")]
    assert check(read(asks, making), vocabulary(), "") == []
    assert check(read(asks), vocabulary(), "", beside=read(making)) == []


def test_a_rule_makes_no_type_strict_whose_fields_nobody_declares() -> None:
    rules = read(
        {"form": "set", "tools": ["ping"], "target": "coupon.used", "expression": "true"},
        require("ping", "coupon.value"),
    )
    assert check(rules, vocabulary(), "") == []


def test_fields_that_are_worked_out_from_each_other_are_refused() -> None:
    rules = read(
        put("get_order", "total", "reply.tax * 5"),
        put("get_order", "tax", "reply.net * 0.2"),
        put("get_order", "net", "reply.total - reply.tax"),
        put("get_order", "gross", "reply.total"),
    )
    assert [one.as_json() for one in check(rules, vocabulary(), "/rules")] == [
        {
            "path": "/rules/0",
            "message": "rule 1: `get_order` computes `total`, `tax`, `net` from each other",
            "hint": "compute one of them from fields that no rule sets",
        }
    ]


def test_a_tool_that_writes_keeps_what_it_puts_so_the_record_counts_too() -> None:
    pair = [("total", "order.status"), ("status", "order.total")]
    writes = check(read(*(put("cancel_order", *one) for one in pair)), vocabulary(), "")
    assert ["each other" in one.message for one in writes] == [True]
    assert check(read(*(put("get_order", *one) for one in pair)), vocabulary(), "") == []


def test_fields_of_different_tools_make_no_circle() -> None:
    rules = read(put("get_order", "total", "reply.status"), put("cancel_order", "status", "reply.total"))
    assert check(rules, vocabulary(), "") == []


def test_a_chain_of_any_length_is_no_circle_and_its_end_may_be_one() -> None:
    chain = [put("get_order", f"f{at}", f"reply.f{at + 1}") for at in range(3_000)]
    assert not [one for one in check(read(*chain), vocabulary(), "") if "each other" in one.message]
    closed = [*chain[:-1], put("get_order", "f2999", "reply.f2998")]
    assert [one.path for one in check(read(*closed), vocabulary(), "")] == ["/2998"]


def test_of_many_rules_that_name_nothing_few_get_a_hint() -> None:
    rules = read(*(require("cancel_order", f"order.statu{at}") for at in range(300)))
    found = check(rules, vocabulary(), "")
    assert len(found) == 300
    assert [one.hint for one in (found[0], found[-1])] == ["did you mean `status`?", None]


def test_without_a_world_only_tools_arguments_and_functions_are_looked_at() -> None:
    rules = read(
        require("cancel_order", "invoice.paid and args.x and lenn(order.statu) > 0"),
        {"form": "limit_calls", "tools": ["pong"], "count": 1, "per": "invoice"},
    )
    found = check(rules, vocabulary({}), "/rules", has_world=False)
    assert [one.message for one in found] == [
        "rule 1: there is no function `lenn`",
        "rule 1: `cancel_order` takes no argument `x`",
        "rule 2: there is no tool `pong`",
    ]
