"""A small shop for tests of typed rules: its world, its tools, a plan per tool, and calls under rules."""

from dataclasses import dataclass, field
from typing import Any

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.language import Plan, parse_plan
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules.apply_rules import AppliedRules, apply_rules
from pipelines.core.simulation.rules.forms import read_rule
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import Vocabulary, build_vocabulary
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem

NOW = "2026-07-01T12:00:00Z"


@dataclass(frozen=True, kw_only=True)
class ShopTool:
    name: str
    description: str = ""
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    annotations: None = None


def tool(name: str, *arguments: str, output: JsonObject | None = None) -> ShopTool:
    """`tool("refund_order", "order_id", "amount?")`: a question mark marks an optional argument."""
    kinds: dict[str, str] = {
        "amount": "number",
        "quantity": "integer",
        "page": "integer",
        "subtotal": "number",
    }
    properties: JsonObject = {
        name.rstrip("?"): {"type": kinds.get(name.rstrip("?"), "string")} for name in arguments
    }
    required: list[Json] = [name for name in arguments if not name.endswith("?")]
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return ShopTool(name=name, input_schema=schema, output_schema=output)


STATE: JsonObject = {
    "order": {
        "o-1": {
            "status": "pending",
            "user_id": "u-1",
            "total": 100,
            "subtotal": 90,
            "balance": 15,
            "refunded": False,
            "created_at": "2026-06-20",
            "shipped_at": None,
            "delivered_at": None,
            "items": [
                {"product_id": "p-1", "quantity": 2, "price": 20},
                {"product_id": "p-2", "quantity": 1, "price": 50},
            ],
        },
        "o-2": {
            "status": "shipped",
            "user_id": "u-2",
            "total": 20,
            "subtotal": 20,
            "balance": -5,
            "refunded": False,
            "created_at": "2026-06-01",
            "shipped_at": "2026-06-05",
            "delivered_at": None,
            "items": [{"product_id": "p-3", "quantity": 1, "price": 20}],
        },
        "o-3": {
            "status": "delivered",
            "user_id": "u-1",
            "total": 600,
            "subtotal": 550,
            "balance": 0,
            "refunded": False,
            "created_at": "2026-01-02",
            "shipped_at": "2026-01-05",
            "delivered_at": "2026-01-10",
            "items": [],
        },
        "o-4": {
            "status": "cancelled",
            "user_id": "u-2",
            "total": 40,
            "subtotal": 40,
            "balance": 0,
            "refunded": True,
            "created_at": "2026-05-01",
            "shipped_at": None,
            "delivered_at": None,
            "items": [],
        },
    },
    "user": {
        "u-1": {
            "name": "Ada",
            "email": "ada@example.com",
            "tier": "gold",
            "verified": True,
            "role": "customer",
            "loyalty_points": 5,
            "balance": 30,
            "ssn": "123-45-6789",
            "card_number": "4111111111111111",
        },
        "u-2": {
            "name": "Bo",
            "email": "bo@example.com",
            "tier": "silver",
            "verified": False,
            "role": "customer",
            "loyalty_points": 0,
            "balance": 0,
            "ssn": "987-65-4321",
            "card_number": "4222222222222222",
        },
        "u-9": {
            "name": "Root",
            "email": "root@example.com",
            "tier": "silver",
            "verified": True,
            "role": "admin",
            "loyalty_points": 0,
            "balance": 0,
            "ssn": "000-00-0000",
            "card_number": "4333333333333333",
        },
    },
    "product": {
        "p-1": {"name": "Mug", "price": 20, "stock": 3, "active": True, "created_at": "2026-03-01"},
        "p-2": {"name": "Lamp", "price": 50, "stock": 0, "active": True, "created_at": "2026-05-01"},
        "p-3": {"name": "Atlas", "price": 30, "stock": 9, "active": False, "created_at": "2026-04-01"},
    },
}

TOOLS = (
    tool("cancel_order", "order_id", "user_id?", "reason?"),
    tool("refund_order", "order_id", "amount?", "reason?"),
    tool("get_order", "order_id"),
    tool("get_quote", "order_id"),
    tool("list_orders", "user_id?"),
    tool("search_products", "query?", "page?"),
    tool("place_order", "user_id", "product_id", "quantity"),
    tool("delete_user", "user_id", "requester_id?"),
    tool("get_user", "user_id"),
    tool("register_user", "email", "name?"),
    tool("archive_order", "order_id"),
)


def _order(change: JsonObject | None = None) -> list[Json]:
    steps: list[Json] = [{"find": {"as": "order", "in": "order", "id": "args.order_id"}}]
    return [
        *steps,
        *([{"set": change}] if change else []),
        {"return": {"id": "id_of(order)", "...": "order"}},
    ]


PLANS: dict[str, list[Json]] = {
    "cancel_order": _order({"order.status": "'cancelled'"}),
    "refund_order": _order({"order.status": "'refunded'"}),
    "archive_order": _order({"order.archived": True}),
    "get_order": _order(),
    "get_quote": _order(),
    "list_orders": [
        {
            "find": {
                "as": "orders",
                "in": "order",
                "all": True,
                "where": "args.user_id == null or orders.user_id == args.user_id",
            }
        },
        {"return": "[merge({'id': id_of(one)}, one) for one in orders]"},
    ],
    "search_products": [
        {"find": {"as": "products", "in": "product", "all": True}},
        {
            "return": {
                "items": "[merge({'id': id_of(one)}, one) for one in products]",
                "count": "len(products)",
            }
        },
    ],
    "place_order": [
        {"find": {"as": "user", "in": "user", "id": "args.user_id"}},
        {
            "add": {
                "in": "order",
                "as": "order",
                "attrs": {"...": "args", "status": "'pending'", "created_at": "today"},
            }
        },
        {"return": {"id": "id_of(order)", "...": "order"}},
    ],
    "delete_user": [
        {"find": {"as": "user", "in": "user", "id": "args.user_id"}},
        {"remove": "user"},
        {"return": {"deleted": True}},
    ],
    "get_user": [{"find": {"as": "user", "in": "user", "id": "args.user_id"}}, {"return": "user"}],
    "register_user": [
        {"add": {"in": "user", "as": "user", "attrs": "args"}},
        {"return": {"id": "id_of(user)", "...": "user"}},
    ],
}


@dataclass(kw_only=True)
class Shop:
    """The shop under some rules, each written as data. Calls change it, as a run's calls do."""

    rules: list[JsonObject] = field(default_factory=list)
    state: JsonObject = field(default_factory=lambda: STATE)
    tools: tuple[ShopTool, ...] = TOOLS
    plans: dict[str, list[Json]] = field(default_factory=lambda: PLANS)
    is_inferred: bool = False
    world: World = field(init=False)
    ledger: Ledger = field(init=False)
    vocabulary: Vocabulary = field(init=False)
    typed: tuple[Rule, ...] = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        self.world = World.from_initial_state(self.state)
        self.ledger = Ledger(self.world)
        survey = survey_for(self.tools, world=self.world)
        self.vocabulary = build_vocabulary(self.tools, survey, plans=dict(self.plans))
        self.typed = tuple(typed(body) for body in self.rules)

    def applied(self, name: str) -> AppliedRules:
        return apply_rules(
            self.plans[name],
            tool=name,
            rules=self.typed,
            vocabulary=self.vocabulary,
            is_inferred=self.is_inferred,
        )

    def plan(self, name: str) -> Plan:
        result = self.applied(name)
        assert not result.unapplied, result.unapplied
        [own] = [one for one in self.tools if one.name == name]
        arguments = own.input_schema["properties"]
        assert isinstance(arguments, dict)
        return parse_plan(
            without_rule(result.body),
            origin="read",
            argument_names=[*arguments],
            entity_types=[*self.vocabulary.kinds],
        )

    def call(self, name: str, **arguments: Any) -> SimulatedReply:
        self.calls += 1
        moment = Moment(seed="s", call_number=self.calls, now=NOW)
        reply = run(self.plan(name), arguments, self.ledger, moment)
        self.ledger.apply(reply.updates)
        return reply

    def record(self, kind: str, id: str) -> JsonObject:
        found = self.ledger.get(kind, id)
        assert found is not None
        return dict(found)

    def reasons(self, name: str) -> list[str]:
        return [one.reason for one in self.applied(name).unapplied]


def typed(body: JsonObject) -> Rule:
    """A rule as its author writes it; `sentence` stands beside it where a test wants a certain one."""
    problems: list[Problem] = []
    sentence = str(body.get("sentence", f"rule {body.get('form')}"))
    own = {key: value for key, value in body.items() if key != "sentence"}
    found = read_rule(own, "", problems, sentence=sentence)
    assert found is not None, problems
    return found


def without_rule(steps: Json) -> Json:
    """Plans without the key `rule`, which the plan language learns apart from the weaving."""
    if isinstance(steps, dict):
        is_step = "note" in steps
        return {key: without_rule(part) for key, part in steps.items() if not (is_step and key == "rule")}
    return [without_rule(step) for step in steps] if isinstance(steps, list) else steps


PENDING: JsonObject = {
    "form": "require",
    "tools": ["cancel_order"],
    "expression": "order.status == 'pending'",
    "sentence": "Only pending orders can be cancelled.",
}
SUM = "sum([default(call.amount, 0) for call in calls('refund_order')])"
FIND: JsonObject = {"find": {"as": "order", "in": "order", "id": "args.order_id"}}


def require(expression: str, tool: str = "cancel_order", **more: Json) -> JsonObject:
    return {"form": "require", "tools": [tool], "expression": expression, **more}


def verbs(body: list[Json]) -> list[str]:
    known = ("find", "require", "if", "let", "set", "add", "remove", "return", "fail", "flag", "for")
    return [verb for step in body if isinstance(step, dict) for verb in known if verb in step]


def applied(
    rules: list[JsonObject], body: list[Json], name: str = "cancel_order", **more: bool
) -> AppliedRules:
    shop = Shop(rules=rules, plans={**PLANS, name: body}, **more)  # type: ignore[arg-type]
    result = shop.applied(name)
    parse_plan(without_rule(result.body), origin="read")
    return result


def error(shop: Shop, name: str, **arguments: Json) -> tuple[int, str]:
    reply = shop.call(name, **arguments)
    assert isinstance(reply.response, dict), reply
    told = reply.response.get("error")
    return reply.status, str(told["code"]) if isinstance(told, dict) else ""
