"""A small shop for tests of how rules are tried: its world, its tools, a plan per tool, and simulators."""

from typing import Any

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules.forms import read_rule
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.trial import TrialResult, try_rules
from pipelines.core.simulation.rules.vocabulary import Vocabulary, build_vocabulary
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool

ORDER: JsonObject = {"status": "pending", "user_id": "u-1", "total": 100, "paid": True, "coupon": None}
STATE: JsonObject = {
    "order": {
        "o-1": {**ORDER, "created_at": "2026-06-20", "shipped_at": None, "address": {"city": "Graz"}},
        "o-2": {
            **ORDER,
            "status": "shipped",
            "user_id": "u-2",
            "total": 20,
            "created_at": "2026-06-01",
            "shipped_at": "2026-06-05",
            "address": {"city": "Linz"},
        },
        "o-3": {**ORDER, "status": "delivered", "total": 600, "created_at": "2026-01-02"},
        "o-4": {**ORDER, "status": "pending", "user_id": "u-2", "total": 40, "created_at": "2026-05-01"},
    },
    "user": {
        "u-1": {"name": "Ada", "tier": "gold", "verified": True, "role": "customer", "balance": 30},
        "u-2": {"name": "Bo", "tier": "silver", "verified": False, "role": "customer", "balance": 0},
        "u-9": {"name": "Root", "tier": "silver", "verified": True, "role": "admin", "balance": 0},
    },
    "product": {
        "p-1": {"name": "Mug", "price": 20, "stock": 3, "active": True, "added": "1 March 2026"},
        "p-2": {"name": "Lamp", "price": 50, "stock": 0, "active": True, "added": "2 May 2026"},
        "p-3": {"name": "Atlas", "price": 30, "stock": 9, "active": True, "added": "3 April 2026"},
    },
}
_KINDS: dict[str, JsonObject] = {
    "amount": {"type": "number", "maximum": 100},
    "quantity": {"type": "integer", "minimum": 1},
    "page": {"type": "integer"},
    "state": {"type": "string", "enum": ["lost", "found"]},
    "due": {"type": "string", "format": "date"},
}


def tool(name: str, *arguments: str, plan: Json = None) -> Tool:
    """`tool("refund_order", "order_id", "amount?")`: a question mark marks an optional argument."""
    properties: JsonObject = {
        one.rstrip("?"): _KINDS.get(one.rstrip("?"), {"type": "string"}) for one in arguments
    }
    required: list[Json] = [one for one in arguments if not one.endswith("?")]
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return Tool(name=name, input_schema=schema, simulation=plan)


def _find(kind: str, *more: Json) -> list[Json]:
    return [{"find": {"as": kind, "in": kind, "id": f"args.{kind}_id"}}, *more]


def _order(*more: Json) -> list[Json]:
    return _find("order", *more, {"return": {"id": "id_of(order)", "...": "order"}})


def _all(kind: str) -> list[Json]:
    listed = "[merge({'id': id_of(one)}, one) for one in found]"
    return [{"find": {"as": "found", "in": kind, "all": True}}, {"return": listed}]


PLANS: dict[str, list[Json]] = {
    "cancel_order": _order({"set": {"order.status": "'cancelled'"}}),
    "refund_order": _order({"set": {"order.status": "'refunded'"}}),
    "mark_order": _order({"set": {"order.mark": "args.state"}}),
    "get_order": _order(),
    "list_orders": _all("order"),
    "list_products": _all("product"),
    "get_user": _find("user", {"return": "user"}),
    "place_order": _find(
        "user",
        {"add": {"in": "order", "as": "order", "attrs": {"...": "args", "status": "'open'"}}},
        {"return": {"id": "id_of(order)", "...": "order"}},
    ),
}
TOOLS = (
    tool("cancel_order", "order_id", "user_id?", "reason?", plan=PLANS["cancel_order"]),
    tool("refund_order", "order_id", "amount?", plan=PLANS["refund_order"]),
    tool("mark_order", "order_id", "state", "due?", plan=PLANS["mark_order"]),
    tool("get_order", "order_id", plan=PLANS["get_order"]),
    tool("list_orders", "page?", plan=PLANS["list_orders"]),
    tool("list_products", plan=PLANS["list_products"]),
    tool("get_user", "user_id", plan=PLANS["get_user"]),
    tool("place_order", "user_id", "product_id", "quantity", plan=PLANS["place_order"]),
)
WORLD = World.from_initial_state(STATE)


def vocabulary_of(world: World = WORLD) -> Vocabulary:
    return build_vocabulary(TOOLS, survey_for(TOOLS, world=world), plans=PLANS)


VOCABULARY = vocabulary_of()


def rule(form: str, *tools: str, sentence: str = "", **more: Any) -> Rule:
    problems: list[Problem] = []
    found = read_rule({"form": form, "tools": [*tools], **more}, "", problems, sentence=sentence)
    assert found is not None, problems
    return found


def require(tool: str, expression: str, **more: Any) -> Rule:
    return rule("require", tool, expression=expression, **more)


def tried_in_shop(*rules: Rule, world: World = WORLD) -> TrialResult:
    return try_rules(rules, VOCABULARY if world is WORLD else vocabulary_of(world), world)


def simulator(plans: dict[str, list[Json]] | None = None, world: World = WORLD) -> PlannedSimulator:
    """The shop, with other plans for some tools: those that a rule is written into."""
    under = plans or {}
    tools = [
        Tool(name=one.name, input_schema=one.input_schema, simulation=under.get(one.name, one.simulation))
        for one in TOOLS
    ]
    return build_simulator(tools, world=world)
