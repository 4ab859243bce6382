"""Oracle lint: tasks whose verdicts would prove nothing are named before they are run."""

import subprocess
import sys

import pytest

from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.tasks.seed import parse_seed
from pipelines.core.text.problems import Refused
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.lint.lint import lint_seed, lint_seeds
from support.verdict_cases import STATE, TOOLS, tool

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
    "an answer that is told from a day that nobody knows": {
        "expected_answer": {"when": {"$date": "tomorrow"}}
    },
    "an answer": {"expected_answer": {"status": "refunded"}},
    "a question with the values of its answer": {
        "expected_state": {"unchanged": True},
        "expected_answer": {"amount": 79.5},
    },
    "nothing that may change": {"expected_outcome": "no_change", "expected_state": {"unchanged": True}},
    "nothing that may change, looked up first": {
        "expected_outcome": "no_change",
        "expected_calls": {"must": ["get_order"], "must_not": ["refund_order"]},
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
    "no change that changes the world": (
        {"expected_outcome": "no_change", "expected_state": {"order.4521.status": "refunded"}},
        "/expected_state",
        "nothing may change, but this expects the world to change",
    ),
    "no change that calls it": (
        {"expected_outcome": "no_change", "expected_calls": ["refund_order"]},
        "/expected_calls/must/0",
        "nothing may change, but this expects refund_order to succeed",
    ),
    "what prose cannot say": (
        {"expected_answer": {"status": "refunded", "done": {"value": True, "in": "final"}}},
        "/expected_answer/done",
        "prose cannot give",
    ),
    "an answer that the request gives already": (
        {"expected_answer": {"order_id": "4521"}},
        "/expected_answer",
        "an agent that repeats the request",
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
    right = seed(expected_state={"order.4521.status": "refunded"})
    seeds = [right, seed(expected_state={"unchanged": True}), seed(expected_calls=["refund"])]
    first, second = lint_seeds(seeds, tools=TOOLS)
    assert (first.row, first.column, first.path) == (2, "expected_state", "row 2, column expected_state")
    assert second.path == "row 3, column expected_calls, at /0/tool"


@pytest.mark.parametrize(
    "reader", ["expected_state", "expected_calls", "expected_answer", "constraint_check"]
)
def test_what_seeds_can_be_checked_with_does_not_need_seeds(reader):
    """Otherwise core.seed could not import it: the two would go in a circle."""
    script = (
        f"import sys, pipelines.core.oracles.{reader}; sys.exit('pipelines.core.tasks.seed' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


QUESTION = "What did order 4521 cost?"
ANSWER = {"id": "answer", "description": "Names it.", "check": {"final_response": {"$number": 79.5}}}
UNCOVERED = {
    "no oracle": ({}, "/expected_state", "nothing says what is right"),
    "no oracle but the default": (
        {"expected_outcome": "completion"},
        "/expected_state",
        "nothing says what is right",
    ),
    "a question with the default": (
        {"user_instruction": QUESTION, "expected_calls": ["get_order"], "expected_outcome": "completion"},
        "/expected_answer",
        "nothing checks the answer",
    ),
    "a question without any": (
        {"user_instruction": QUESTION},
        "/expected_state",
        "nothing says what is right",
    ),
    "a question whose call alone is checked": (
        {"user_instruction": QUESTION, "expected_calls": ["get_order"]},
        "/expected_answer",
        "nothing checks the answer",
    ),
    "a flag that nothing sets": (
        {
            "expected_state": {"order.4521.status": "refunded"},
            "failure_rules": [
                {
                    "trigger": "after_state_change",
                    "tool": "*",
                    "condition": "outage",
                    "duration": 1,
                    "error": {"code": 503, "message": "down"},
                }
            ],
        },
        "/failure_rules/0/condition",
        "never fires",
    ),
}
COVERED = {
    "a question with its answer": {"user_instruction": QUESTION, "tracked_constraints": [ANSWER]},
    "a question with the values of its answer": {
        "user_instruction": QUESTION,
        "expected_calls": ["get_order"],
        "expected_answer": {"amount": 79.5},
    },
    "a request that is put as a question": {
        "user_instruction": "Can you refund order 4521?",
        "expected_state": {"order.4521.status": "refunded"},
    },
    "a request whose call is checked": {
        "user_instruction": "Would you refund order 4521?",
        "expected_calls": ["refund_order"],
    },
    "a question that has to be refused": {
        "user_instruction": "What is the buyer's address?",
        "behavior_instructions": BUYER,
        "expected_outcome": "refusal",
    },
}


@pytest.mark.parametrize(("axes", "place", "says"), UNCOVERED.values(), ids=UNCOVERED)
def test_what_is_left_out_is_named(axes, place, says):
    (problem,) = warnings(**axes)
    assert problem.path == place
    assert says in problem.message
    assert problem.hint


@pytest.mark.parametrize("axes", COVERED.values(), ids=COVERED)
def test_what_is_covered_is_left_alone(axes):
    assert warnings(**axes) == []


@pytest.mark.parametrize("sets", ["state", "behaviour text"])
def test_a_flag_that_something_sets_is_left_alone(sets):
    axes = UNCOVERED["a flag that nothing sets"][0]
    state = STATE | {"flags": {"outage": True}} if sets == "state" else STATE
    text = "Refunding an order sets the flag outage." if sets != "state" else None
    more = {"initial_state": state} | ({"behavior_instructions": text} if text else {})
    assert warnings(**(axes | more)) == []


def test_a_flag_that_a_closed_schema_lacks_is_refused_where_tools_are():
    [rule] = UNCOVERED["a flag that nothing sets"][0]["failure_rules"]
    body = {"user_instruction": "x", "failure_rules": [rule | {"condition": "outrage"}]}
    with pytest.raises(Refused) as refused:
        parse_seed(body, ledger_schema=SCHEMA)
    [problem] = refused.value.problems
    assert (problem.path, problem.hint) == ("/failure_rules/0/condition", "did you mean `outage`?")


GUESSED = [
    tool("get_order", "order_id"),
    tool("process_thing", "order_id", "x"),
    tool("create_ticket", "subject"),
]


@pytest.mark.parametrize(
    ("expected", "named"),
    [
        ({"order.4521.status": "refunded"}, "process_thing"),  # nobody knows what it does
        ({"ticket.<new>": {"subject": "Late"}}, "create_ticket"),  # of a type that the world does not show
    ],
)
def test_an_oracle_that_only_our_guess_can_trip_is_named(expected, named):
    body = {"user_instruction": "Do it.", "initial_state": STATE, "expected_state": expected}
    tools = parse_tools_schema(GUESSED)
    found = lint_seeds([parse_seed(body)], tools=tools)
    [problem] = [one for one in found if "guess" in one.message]
    assert (problem.row, problem.column) == (1, "expected_state")
    assert named in problem.message
    assert "simulation" in problem.hint


def test_a_tool_whose_plan_is_sure_or_written_down_trips_it_rightly():
    plan = {
        "simulation": [
            {"find": {"as": "o", "in": "order", "id": "args.order_id"}},
            {"set": {"o.status": "'x'"}},
        ]
    }
    body = {
        "user_instruction": "Do it.",
        "initial_state": STATE,
        "expected_state": {"order.4521.status": "x"},
    }
    for tools in ([tool("refund_order", "order_id")], [tool("process_thing", "order_id") | plan]):
        found = lint_seeds([parse_seed(body)], tools=parse_tools_schema(tools))
        assert [one for one in found if "guess" in one.message] == []
