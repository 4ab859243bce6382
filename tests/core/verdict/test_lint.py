"""Oracle lint: tasks whose verdicts would prove nothing are named before they are run."""

import subprocess
import sys

import pytest
from verdict_cases import STATE, TOOLS

from pipelines.core.ledger_schema import parse_ledger_schema
from pipelines.core.seed import parse_seed
from pipelines.core.verdict.lint import lint_seed, lint_seeds

SCHEMA = parse_ledger_schema(
    {
        "entities": [
            {
                "type": "order",
                "id_field": "order_id",
                "fields": [
                    {
                        "name": "status",
                        "type": "string",
                        "enum": ["paid", "shipped", "refunded", "cancelled"],
                    },
                    {"name": "amount", "type": "number"},
                    {"name": "user_id", "type": "string"},
                ],
            },
            {"type": "user", "id_field": "email"},
        ],
        "flags": {"policy": "closed", "values": ["sale", "outage"]},
    }
)
BUYER = "Only the original buyer can cancel an order."


def seed(**axes):
    return parse_seed({"user_instruction": "Refund order 4521.", "initial_state": STATE} | axes)


def warnings(**axes):
    return lint_seed(seed(**axes), tools=TOOLS, ledger_schema=SCHEMA)


GOOD = {
    "no oracle": {},
    "a change": {"expected_state": {"order.4521.status": "refunded"}},
    "a range": {"expected_state": {"order.4521.amount": {"$lte": 0}}},
    "one of several": {"expected_state": {"order.4521.status": {"$in": ["refunded", "cancelled"]}}},
    "a new entity": {"expected_state": {"order.<new>": {"status": "paid"}}},
    "an added entity": {"expected_state": {"order.5000": {"$exists": True}}},
    "a field the schema leaves open": {"expected_state": {"order.4521.colour": "blue"}},
    "a call": {"expected_calls": ["refund_order"]},
    "a question with its call": {"expected_state": {"unchanged": True}, "expected_calls": ["get_order"]},
    "a question with its answer": {
        "expected_state": {"unchanged": True},
        "tracked_constraints": [
            {
                "id": "answer",
                "description": "Says shipped.",
                "check": {"final_response": {"$contains": "shipped"}},
            }
        ],
    },
    "a refusal": {
        "expected_outcome": "refusal",
        "behavior_instructions": BUYER,
        "expected_state": {"unchanged": True},
        "expected_calls": {"must": ["get_order"], "must_not": ["refund_order"]},
    },
    "a refusal with a checked reason": {
        "expected_outcome": "refusal",
        "tracked_constraints": [
            {"id": "refusal_reason", "description": "x", "check": {"final_response": {"$contains": "buyer"}}}
        ],
    },
}


@pytest.mark.parametrize("axes", GOOD.values(), ids=GOOD)
def test_a_good_oracle_is_left_alone(axes):
    assert warnings(**axes) == []


DOUBTFUL = {
    "met by doing nothing": (
        {"expected_state": {"order.4521.status": "shipped"}},
        "/expected_state",
        "does nothing",
    ),
    "unchanged alone": ({"expected_state": {"unchanged": True}}, "/expected_state", "does nothing"),
    "only prohibitions": (
        {"expected_calls": {"must_not": ["cancel_order"]}},
        "/expected_calls",
        "does nothing",
    ),
    "nothing to refuse": (
        {"expected_outcome": "refusal", "initial_state": {}},
        "/expected_outcome",
        "nothing to refuse",
    ),
    "no word on why": ({"expected_outcome": "refusal"}, "/expected_outcome", "why to refuse"),
    "a refusal that changes the world": (
        {
            "expected_outcome": "refusal",
            "behavior_instructions": BUYER,
            "expected_state": {"order.4521.status": "refunded"},
        },
        "/expected_state",
        "expects the world to change",
    ),
    "a refusal that calls it": (
        {"expected_outcome": "refusal", "behavior_instructions": BUYER, "expected_calls": ["refund_order"]},
        "/expected_calls/must/0",
        "expects refund_order to succeed",
    ),
    "an undeclared type": (
        {"expected_state": {"orders.4521.status": "x"}},
        "/expected_state",
        "no entity type",
    ),
    "an unknown id": (
        {"expected_state": {"order.o-4521.status": "refunded"}},
        "/expected_state",
        "not in the",
    ),
    "gone before it began": (
        {"expected_state": {"order.1": {"$exists": False}, "order.4521.status": "paid"}},
        "/expected_state",
        "absence",
    ),
    "cannot change": (
        {"expected_state": {"order.4521.status": "paid", "order.1": {"unchanged": True}}},
        "/expected_state",
        "cannot change",
    ),
    "outside the enum": (
        {"expected_state": {"order.4521.status": "refundet"}},
        "/expected_state",
        "can never hold",
    ),
    "none of the enum": (
        {"expected_state": {"order.4521.status": {"$in": ["a", "b"]}}},
        "/expected_state",
        "never",
    ),
    "of another type": ({"expected_state": {"order.4521.amount": "80"}}, "/expected_state", "of type number"),
    "text has no order": (
        {"expected_state": {"order.4521.user_id": {"$gte": 5}}},
        "/expected_state",
        "no order",
    ),
    "a number is no text": (
        {"expected_state": {"order.4521.amount": {"$regex": "8"}}},
        "/expected_state",
        "not text",
    ),
    "a new one outside the enum": (
        {"expected_state": {"order.<new>": {"status": "x"}}},
        "/expected_state",
        "never",
    ),
    "a misspelt field": ({"expected_state": {"order.4521.statuss": "paid"}}, "/expected_state", "no field"),
    "a flag that is closed": ({"expected_state": {"flags.outages": True}}, "/expected_state", "flags do not"),
    "an argument it does not take": (
        {"expected_calls": [{"tool": "get_order", "arguments": {"id": "1"}}]},
        "/expected_calls/must/0/arguments/id",
        "takes no argument",
    ),
    "an argument of another type": (
        {"expected_calls": [{"tool": "get_order", "arguments": {"order_id": 4521}}]},
        "/expected_calls/must/0/arguments/order_id",
        "never 4521",
    ),
    "must and must not": (
        {"expected_calls": {"must": ["get_order"], "must_not": ["get_order"]}},
        "/expected_calls/must/0",
        "must not be called",
    ),
    "an undeclared tool": ({"expected_calls": ["refund"]}, "/expected_calls/0/tool", "declares no tool"),
    "a constraint nobody can check": (
        {"tracked_constraints": ["Be kind."]},
        "/tracked_constraints/0",
        "no check",
    ),
}


@pytest.mark.parametrize(("axes", "place", "says"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_doubtful_oracle_is_named(axes, place, says):
    (problem,) = warnings(**axes)
    assert problem.path == place
    assert says in problem.message


@pytest.mark.parametrize(
    ("axes", "hint"),
    [
        ({"expected_state": {"orders.4521.status": "x"}}, "did you mean `order`?"),
        ({"expected_state": {"order.o-4521.status": "paid"}}, "did you mean `4521`?"),
        (
            {"expected_calls": [{"tool": "get_order", "arguments": {"orderid": "1"}}]},
            "did you mean `order_id`?",
        ),
    ],
)
def test_what_was_meant_is_guessed(axes, hint):
    assert warnings(**axes)[0].hint == hint


def test_without_a_schema_the_world_is_the_schema():
    (problem,) = lint_seed(seed(expected_state={"orders.4521.status": "x"}))
    assert "no entity type `orders`" in problem.message


def test_warnings_name_row_and_column():
    seeds = [seed(), seed(expected_state={"unchanged": True}), seed(expected_calls=["refund"])]
    first, second = lint_seeds(seeds, tools=TOOLS)
    assert (first.row, first.column, first.path) == (2, "expected_state", "row 2, column expected_state")
    assert second.path == "row 3, column expected_calls, at /0/tool"


@pytest.mark.parametrize("reader", ["expected_state", "expected_calls", "constraint_check"])
def test_what_seeds_can_be_checked_with_does_not_need_seeds(reader):
    """Otherwise core.seed could not import it: the two would go in a circle."""
    script = f"import sys, pipelines.core.verdict.{reader}; sys.exit('pipelines.core.seed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
