"""Whatever JSON an author sends, a parser answers with a value or with Refused, never with a crash."""

import time
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.agents.agent_definition import parse_agent_definition
from pipelines.core.ledger.initial_state import parse_initial_state
from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.task_files.read_tasks import parse_tasks
from pipelines.core.tasks.seed import parse_seed
from pipelines.core.text.authored import Fields, did_you_mean, nearest_names, quote_names
from pipelines.core.text.problems import MOST_SHOWN, Problem, Refused
from pipelines.core.tools.failure_rules import parse_failure_rules
from pipelines.core.tools.passthrough_binding import EndpointFacts
from pipelines.core.tools.tools_schema import parse_tools_schema

LEDGER_SCHEMA = {
    "entities": [
        {
            "type": "order",
            "id_field": "order_id",
            "description": "an order",
            "fields": [
                {
                    "name": "status",
                    "type": "string",
                    "enum": ["paid", "shipped"],
                    "description": "where it is",
                },
                {"name": "total", "type": "number"},
            ],
        }
    ],
    "flags": {"policy": "closed", "values": ["warehouse_outage"]},
}
RULES = [
    {
        "trigger": "after_n_calls",
        "tool": "get_order",
        "n": 3,
        "duration": 1,
        "error": {"code": 502, "message": "Down"},
    },
    {"trigger": "random", "tool": "*", "probability": 0.1, "error": {"code": 503, "message": "Busy"}},
    {
        "trigger": "after_state_change",
        "tool": "get_order",
        "condition": "warehouse_outage",
        "duration": 5,
        "error": {"code": 200, "response": {"items": [], "stale": True}},
    },
]
STATE = {"order": {"o-101": {"total": 49.99, "status": "paid"}}, "flags": {"warehouse_outage": False}}
TOOLS = [
    {
        "name": "get_order",
        "description": "Look an order up.",
        "input_schema": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string", "pattern": "^[0-9]+$"},
                "of": {"$ref": "#/$defs/x"},
            },
            "required": ["order_id"],
            "$defs": {"x": {"anyOf": [{"type": "null"}, {"enum": [1, "a"]}]}},
        },
        "output_schema": {"type": "object"},
        "default_execution_mode": "passthrough",
        "passthrough_binding": {"endpoint_name": "orders-api", "tool_name": "get_order"},
        "ledger_write_policy": "adapter",
        "ledger_adapter": {
            "op": "update",
            "entity_type": "order",
            "id_from": "$.order_id",
            "field_map": {"status": "$.status", "total": "$.amount"},
            "flags": ["warehouse_outage", "fetched_order:{order_id}"],
        },
    },
    {"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}, "strict": True}},
]
POLITE = {"final_response": {"$not": {"$contains": "haha"}}}
AXES = {
    "user_instruction": "Refund order #4521.",
    "behavior_instructions": "Orders can be refunded once.",
    "initial_state": STATE,
    "failure_rules": RULES,
    "expected_outcome": "Refusal",
    "turn_mode": "model_as_user",
    "max_turns": 5,
    "memory_mode": "stateful",
    "simulator_mode": "scripted",
    "user_simulator_persona": "In a hurry.",
    "scripted_user_turns": ["Yes."],
    "tracked_constraints": ["Be polite.", {"id": "tone", "description": "No jokes.", "check": POLITE}],
    "termination_keyword": "bye",
    "scenario_ref": "s-1",
    "workspace_seed": {"git": "https://example.com/x.git"},
    "setup_command": "make",
    "eval": "pytest -q",
    "expected_state": {"order.4521.status": "refunded"},
    "expected_calls": ["get_order"],
    "expected_answer": {"status": "refunded"},
    "task_input": {"order_id": "4521"},
    "tags": "refunds, smoke",
}
ROWS = [
    {"user": "Hello.", "state": STATE, "failure_rules": RULES, "max_turns": "1", "tags": ["a"]},
    {"user": "Again.", "state": '{"order": {}}', "turn_mode": "single_shot"},
]
AGENT = {
    "name": "Refund agent",
    "description": "Refunds.",
    "mode": "external_http",
    "endpoint_url": "https://agents.example.com/dispatch",
    "auth_header_name": "Authorization",
    "auth_header_value": "Bearer s3cret",
    "run_timeout_s": 60,
    "tools_schema": TOOLS,
    "ledger_schema": LEDGER_SCHEMA,
    "response_contract": {"response_mode": "rich", "strictness": "strict"},
    "config": {
        "sub_agents": [
            {"actor_id": "supervisor", "talks_to": ["supervisor/refunds"]},
            {"actor_id": "supervisor/refunds", "tools": ["refund"]},
        ],
        "topology": {"entry": "supervisor"},
    },
    "max_concurrency": 4,
    "variation_delivery": "user",
}
ENDPOINTS = {
    "e-1": EndpointFacts(id="e-1", name="orders-api", type="http_openapi", tools=frozenset({"get_order"}))
}
SCHEMA = parse_ledger_schema(LEDGER_SCHEMA)
DECLARED = parse_tools_schema(TOOLS, ledger_schema=SCHEMA, endpoints=ENDPOINTS)


def agent(body):
    return parse_agent_definition(body, endpoints=ENDPOINTS)


def seed(body):
    return parse_seed(body, tools=DECLARED, ledger_schema=SCHEMA)


PARSERS = {
    "tools schema": (lambda body: parse_tools_schema(body, ledger_schema=SCHEMA, endpoints=ENDPOINTS), TOOLS),
    "ledger schema": (parse_ledger_schema, LEDGER_SCHEMA),
    "failure rules": (lambda body: parse_failure_rules(body, tools={"get_order"}), RULES),
    "initial state": (lambda body: parse_initial_state(body, ledger_schema=SCHEMA), STATE),
    "seed": (seed, AXES),
    "rows": (lambda body: parse_tasks(body, tools=DECLARED, ledger_schema=SCHEMA), ROWS),
    "agent": (agent, AGENT),
}

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["", " ", "*", "\0", "#/$defs/x", "object", "http://x", "$.a", "[", "{"])
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


def places(value, path=()):
    """Every place in a JSON value, as a path."""
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in steps:
        yield from places(child, (*path, key))


def with_change(body, path, change):
    """The body with the value at a path replaced, removed or given a further key."""
    whole = {"": deepcopy(body)}
    parent = whole
    steps = ("", *path)
    for step in steps[:-1]:
        parent = parent[step]
    last = steps[-1]
    kind, value = change
    if kind == "remove" and path:
        del parent[last]
    elif kind == "extra" and isinstance(parent[last], dict):
        parent[last]["extra"] = value
    else:
        parent[last] = value
    return whole[""]


def refusal(parse, body):
    try:
        parse(body)
    except Refused as refused:
        return refused
    return None


@pytest.mark.parametrize("name", PARSERS)
def test_the_examples_themselves_are_accepted(name):
    parse, example = PARSERS[name]
    parse(example)


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_one_change_to_a_valid_body_gives_a_value_or_problems(name, data):
    parse, example = PARSERS[name]
    path = data.draw(st.sampled_from(list(places(example))))
    change = data.draw(st.tuples(st.sampled_from(["replace", "remove", "extra"]), json_values))
    body = with_change(example, path, change)
    if name in ("seed", "agent") and not isinstance(body, dict):
        return
    refused = refusal(parse, body)
    if refused is not None:
        assert refused.total >= len(refused.problems) > 0
        assert all(problem.message and problem.path.startswith("/") for problem in refused.problems)


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - {"seed", "agent"}))
@given(body=json_values)
@settings(max_examples=60, deadline=None)
def test_any_json_gives_a_value_or_problems(name, body):
    parse, _ = PARSERS[name]
    refused = refusal(parse, body)
    assert refused is None or refused.problems


FREE = {"input_schema", "parameters", "output_schema", "response", "check", "workspace_seed", "task_input"}
FREE |= {"expected_state", "expected_answer", "initial_state", "state", "field_map"}


def closed_objects():
    """Every object in the examples whose keys are ours to name."""
    for name, (_, body) in PARSERS.items():
        for path in places(body):
            node = body
            for step in path:
                node = node[step]
            if isinstance(node, dict) and name != "initial state" and not FREE & set(map(str, path)):
                yield name, path


@pytest.mark.parametrize(
    ("name", "path"),
    list(closed_objects()),
    ids=lambda value: value if isinstance(value, str) else "/".join(map(str, value)) or "whole",
)
def test_an_unknown_field_is_never_dropped_in_silence(name, path):
    parse, example = PARSERS[name]
    with pytest.raises(Refused) as refused:
        parse(with_change(example, path, ("extra", 1)))
    assert any("extra" in problem.path for problem in refused.value.problems)


def test_names_a_person_may_have_meant():
    assert nearest_names("get_ordr", ["refund_order", "get_order", "get_orders"])[0] == "get_order"
    assert nearest_names("GetOrder", ["get_order", "x"]) == ["get_order"]
    assert nearest_names("zzz", ["get_order"]) == []
    assert nearest_names("a" * 100_000, ["get_order"]) == []
    assert did_you_mean("orders", ["order", "user"]) == "did you mean `order`?"
    assert did_you_mean("Companies", ["company"]) == "did you mean `company`?"


def test_alternatives_read_as_a_sentence():
    assert [quote_names("a"), quote_names("ab"), quote_names("abc")] == [
        "`a`",
        "`a` or `b`",
        "`a`, `b` or `c`",
    ]


def test_a_refusal_lists_the_first_thousand_and_counts_all():
    refused = Refused([Problem(path=str(index), message="x") for index in range(MOST_SHOWN + 5)], "the file")
    assert len(refused.problems) == 1_000
    assert refused.total == 1_005
    assert str(refused) == "the file has 1005 problems"
    assert str(Refused([Problem(path="", message="x")])) == "the input has 1 problem"


def test_many_unknown_fields_are_counted_and_not_each_told():
    problems: list[Problem] = []
    body = {f"naem{at}": 1 for at in range(MOST_SHOWN + 2_000)}
    began = time.process_time()
    Fields(body, "/x", problems).refuse_unknown(("name",))
    assert time.process_time() - began < 1
    assert len(problems) == MOST_SHOWN + 1
    assert problems[0].hint is not None
    assert problems[-1] == Problem(path="/x", message="there are 2,000 more unknown fields")
