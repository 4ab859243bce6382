"""The tools schema: what is accepted, every refusal of the documented list, and checking calls."""

import pytest

from pipelines.core.text.problems import Refused
from pipelines.core.tools.tools_schema import (
    nearest_names,
    parse_tools_schema,
    tools_from_stored,
)
from support.tool_bodies import TYPED, parse, problems

OBJECT = {"type": "object"}

# As the documentation has it
SEARCH_WIKIPEDIA = {
    "name": "search_wikipedia",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    "default_execution_mode": "passthrough",
    "passthrough_binding": {"endpoint_name": "research-tools", "tool_name": "search_wikipedia"},
}

GET_ORDER = {
    "name": "get_order",
    "default_execution_mode": "passthrough",
    "passthrough_binding": {"endpoint_name": "orders-api", "tool_name": "get_order"},
    "ledger_write_policy": "adapter",
    "ledger_adapter": {
        "op": "update",
        "entity_type": "order",
        "id_from": "$.order_id",
        "field_map": {"status": "$.status", "total": "$.amount"},
        "flags": ["fetched_order:{order_id}"],
    },
}

WHOLE_ORDER = GET_ORDER | {"input_schema": OBJECT}

SHAPE = {
    "name": "get_order",
    "description": "Look an order up.",
    "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    "output_schema": {"type": "object", "properties": {"status": {"type": "string"}}},
    "default_execution_mode": "sandbox",
    "passthrough_binding": {"endpoint_id": "0c4e", "tool_name": "get_order"},
}


def adapter(**changes):
    whole = GET_ORDER["ledger_adapter"] | changes
    return WHOLE_ORDER | {"ledger_adapter": {key: value for key, value in whole.items() if value is not None}}


def binding(**parts):
    return SEARCH_WIKIPEDIA | {"passthrough_binding": parts}


# What is accepted


def test_the_documented_shape():
    (tool,) = parse(SHAPE)
    assert tool.as_json() == SHAPE


def test_the_documented_code_endpoint_binding():
    (tool,) = parse(SEARCH_WIKIPEDIA)
    assert tool.is_passthrough
    assert tool.as_json() == SEARCH_WIKIPEDIA | {"description": ""}


def test_the_documented_adapter():
    (tool,) = parse(WHOLE_ORDER)
    assert tool.as_json() == WHOLE_ORDER | {"description": ""}


def test_the_documented_adapter_as_printed_lacks_only_its_input_schema():
    (problem,) = problems(GET_ORDER)
    assert problem.path == "/tools_schema/0/input_schema"
    assert problem.message == "tool `get_order`: `input_schema` is missing"


def test_the_least_there_can_be():
    (tool,) = parse({"name": "ping", "input_schema": {}})
    assert tool.as_json() == {
        "name": "ping",
        "description": "",
        "input_schema": {},
        "default_execution_mode": "sandbox",
    }


SDK_FORMS = {
    "parameters": {"name": "f", "description": "d", "parameters": OBJECT},
    "both and equal": {"name": "f", "description": "d", "parameters": OBJECT, "input_schema": OBJECT},
    "chat completions": {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": OBJECT, "strict": True},
    },
    "responses": {"type": "function", "name": "f", "description": "d", "parameters": OBJECT, "strict": None},
    "messages": {
        "name": "f",
        "description": "d",
        "input_schema": OBJECT,
        "cache_control": {"type": "ephemeral"},
    },
    "nested, with our own fields beside": {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": OBJECT},
        "default_execution_mode": "sandbox",
    },
    "nulls for what is not given": {
        "name": "f",
        "description": "d",
        "input_schema": OBJECT,
        "output_schema": None,
        "passthrough_binding": None,
        "ledger_adapter": None,
    },
}


@pytest.mark.parametrize("entry", SDK_FORMS.values(), ids=SDK_FORMS)
def test_tool_lists_of_model_sdks_are_taken_as_they_are(entry):
    (tool,) = parse(entry)
    assert (tool.name, tool.description, tool.input_schema) == ("f", "d", OBJECT)


ADAPTERS = {
    "op defaults to update": adapter(op=None),
    "add": adapter(op="add"),
    "remove": adapter(op="remove", field_map=None, flags=None),
    "set_flag": adapter(op="set_flag", entity_type=None, id_from=None, field_map=None),
    "a type without declared fields takes any": adapter(entity_type="user", field_map={"anything": "$.x"}),
    "a declared flag": adapter(flags=["vip"]),
}


@pytest.mark.parametrize("tool", ADAPTERS.values(), ids=ADAPTERS)
def test_adapters_that_are_fine(tool):
    (read,) = parse(tool)
    assert read.ledger_write_policy == "adapter"


def test_set_flag_needs_no_ledger_schema():
    assert parse(adapter(op="set_flag", entity_type=None, id_from=None, field_map=None), ledger_schema=None)


@pytest.mark.parametrize("policy", ["record_only", "none"])
def test_policies_without_an_adapter(policy):
    (tool,) = parse(SEARCH_WIKIPEDIA | {"ledger_write_policy": policy})
    assert tool.ledger_write_policy == policy


def test_a_binding_may_wait_on_a_sandbox_tool():
    """So that a tool can be flipped to passthrough and back by its mode alone."""
    (tool,) = parse(SEARCH_WIKIPEDIA | {"default_execution_mode": "sandbox"})
    assert not tool.is_passthrough
    assert tool.passthrough_binding is not None


def test_stored_tools_come_back_equal_without_the_org_around_them():
    tools = parse(WHOLE_ORDER, SEARCH_WIKIPEDIA, SHAPE | {"name": "x", "simulation": [{"return": "1"}]})
    assert tools_from_stored([tool.as_json() for tool in tools]) == tools


def test_a_thousand_tools_and_no_more():
    many = [{"name": f"tool_{index}", "input_schema": OBJECT} for index in range(1_001)]
    assert len(parse(*many[:1_000])) == 1_000
    (problem,) = problems(*many)
    assert "1,000" in problem.message


# What is refused


REFUSALS = {
    "entry is no object": ("get_order", "", "must be a JSON object"),
    "name is missing": ({"input_schema": OBJECT}, "/name", "missing"),
    "name is a number": ({"name": 5, "input_schema": OBJECT}, "/name", "string"),
    "name is empty": ({"name": "", "input_schema": OBJECT}, "/name", "does not match"),
    "name starts with a digit": ({"name": "1a", "input_schema": OBJECT}, "/name", "does not match"),
    "name has a space": ({"name": "get order", "input_schema": OBJECT}, "/name", "does not match"),
    "name ends with a newline": ({"name": "get_order\n", "input_schema": OBJECT}, "/name", "does not match"),
    "name is too long": ({"name": "a" * 129, "input_schema": OBJECT}, "/name", "does not match"),
    "name is not ASCII": ({"name": "größe", "input_schema": OBJECT}, "/name", "does not match"),
    "input_schema is missing": ({"name": "f"}, "/input_schema", "missing"),
    "input_schema is no object": ({"name": "f", "input_schema": []}, "/input_schema", "an array"),
    "input_schema is text": ({"name": "f", "input_schema": "{}"}, "/input_schema", "a string"),
    "input_schema is not for an object": (
        {"name": "f", "input_schema": {"type": "string"}},
        "/input_schema",
        "for an object",
    ),
    "input_schema is invalid": (
        {"name": "f", "input_schema": {"properties": {"a": {"type": "text"}}}},
        "/input_schema/properties/a/type",
        "not a valid JSON Schema",
    ),
    "invalid under the name it was given": (
        {"name": "f", "parameters": {"required": "a"}},
        "/parameters/required",
        "not a valid JSON Schema",
    ),
    "invalid inside `function`": (
        {"type": "function", "function": {"name": "f", "parameters": {"minProperties": -1}}},
        "/function/parameters/minProperties",
        "not a valid JSON Schema",
    ),
    "a pattern that is none": (
        {"name": "f", "input_schema": {"properties": {"a": {"pattern": "("}}}},
        "/input_schema/properties/a/pattern",
        "regex",
    ),
    "a remote reference": (
        {"name": "f", "input_schema": {"properties": {"a": {"$ref": "http://169.254.169.254/latest"}}}},
        "/input_schema/properties/a/$ref",
        "not followed",
    ),
    "a file reference": (
        {"name": "f", "output_schema": {"$ref": "file:///etc/passwd"}, "input_schema": {}},
        "/output_schema/$ref",
        "not followed",
    ),
    "a relative reference": (
        {"name": "f", "input_schema": {"$ref": "a.json"}},
        "/input_schema/$ref",
        "a.json",
    ),
    "a reference to nowhere": (
        {"name": "f", "input_schema": {"$ref": "#/$defs/nothing"}},
        "/input_schema",
        "not a usable JSON Schema",
    ),
    "an $id inside": (
        {"name": "f", "input_schema": {"$defs": {"a": {"$id": "http://x/y"}}}},
        "/input_schema/$defs/a/$id",
        "one document",
    ),
    "an unknown $schema": (
        {"name": "f", "input_schema": {"$schema": "http://example.com/mine"}},
        "/input_schema/$schema",
        "do not know",
    ),
    "output_schema is invalid": (
        {"name": "f", "input_schema": {}, "output_schema": {"type": 5}},
        "/output_schema/type",
        "not a valid JSON Schema",
    ),
    "parameters differ from input_schema": (
        {"name": "f", "input_schema": {}, "parameters": OBJECT},
        "/parameters",
        "differ",
    ),
    "function is no object": ({"name": "f", "input_schema": {}, "function": 5}, "/function", "number"),
    "two names": (
        {"name": "g", "function": {"name": "f", "parameters": {}}},
        "/function/name",
        "different values",
    ),
    "a server tool of an SDK": ({"type": "web_search", "name": "f", "input_schema": {}}, "/type", "function"),
    "an unknown field": ({"name": "f", "input_schema": {}, "output_shema": {}}, "/output_shema", "unknown"),
    "an unknown mode": (
        {"name": "f", "input_schema": {}, "default_execution_mode": "live"},
        "/default_execution_mode",
        "`sandbox` or `passthrough`",
    ),
    "a mode in capitals": (
        {"name": "f", "input_schema": {}, "default_execution_mode": "Sandbox"},
        "/default_execution_mode",
        "Sandbox",
    ),
    "passthrough without binding": (
        {"name": "f", "input_schema": {}, "default_execution_mode": "passthrough"},
        "/passthrough_binding",
        "needs a `passthrough_binding`",
    ),
    "binding is text": (SEARCH_WIKIPEDIA | {"passthrough_binding": "x"}, "/passthrough_binding", "object"),
    "both endpoint_id and endpoint_name": (
        binding(endpoint_id="77b1", endpoint_name="research-tools", tool_name="search_wikipedia"),
        "/passthrough_binding",
        "names both",
    ),
    "neither of them": (binding(tool_name="search_wikipedia"), "/passthrough_binding", "names neither"),
    "binding without tool_name": (
        binding(endpoint_name="research-tools"),
        "/passthrough_binding/tool_name",
        "missing",
    ),
    "endpoint_id of nothing, or of another org": (
        binding(endpoint_id="1234", tool_name="x"),
        "/passthrough_binding/endpoint_id",
        "no tool endpoint with id `1234`",
    ),
    "endpoint_name that does not resolve": (
        binding(endpoint_name="research-tool", tool_name="x"),
        "/passthrough_binding/endpoint_name",
        "no tool endpoint named",
    ),
    "endpoint of an unsupported type": (
        binding(endpoint_id="9999", tool_name="get_order"),
        "/passthrough_binding/endpoint_id",
        "soap",
    ),
    "tool that the endpoint does not have": (
        binding(endpoint_id="77b1", tool_name="search"),
        "/passthrough_binding/tool_name",
        "has no tool `search`",
    ),
    "unknown field of a binding": (
        binding(endpoint_id="77b1", tool_name="search_wikipedia", url="x"),
        "/passthrough_binding/url",
        "unknown field",
    ),
    "unknown policy": (
        SEARCH_WIKIPEDIA | {"ledger_write_policy": "write"},
        "/ledger_write_policy",
        "`record_only`, `adapter` or `none`",
    ),
    "policy adapter without adapter": (
        SEARCH_WIKIPEDIA | {"ledger_write_policy": "adapter"},
        "/ledger_adapter",
        "needs a `ledger_adapter`",
    ),
    "adapter without its policy": (
        {key: value for key, value in WHOLE_ORDER.items() if key != "ledger_write_policy"},
        "/ledger_adapter",
        "never run",
    ),
    "a policy on a sandbox tool": (
        {"name": "f", "input_schema": {}, "ledger_write_policy": "none"},
        "/ledger_write_policy",
        "passthrough tools only",
    ),
    "an adapter on a sandbox tool": (
        WHOLE_ORDER | {"default_execution_mode": "sandbox"},
        "/ledger_write_policy",
        "passthrough tools only",
    ),
    "adapter of an undeclared type": (
        adapter(entity_type="orders"),
        "/ledger_adapter/entity_type",
        "no entity type `orders`",
    ),
    "adapter without entity_type": (adapter(entity_type=None), "/ledger_adapter/entity_type", "missing"),
    "adapter without id_from": (adapter(id_from=None), "/ledger_adapter/id_from", "missing"),
    "adapter with an unknown op": (adapter(op="upsert"), "/ledger_adapter/op", "upsert"),
    "adapter with an unknown field": (adapter(fields={}), "/ledger_adapter/fields", "unknown field"),
    "id_from is no JSONPath": (adapter(id_from="order_id"), "/ledger_adapter/id_from", "JSONPath"),
    "id_from is too long": (adapter(id_from="$." + "a" * 511), "/ledger_adapter/id_from", "512"),
    "id_from may lead to several places": (
        adapter(id_from="$.orders[*].id"),
        "/ledger_adapter/id_from",
        "must select one value",
    ),
    "id_from ends too soon": (adapter(id_from="$.order_id["), "/ledger_adapter/id_from", "(character 12)"),
    "field_map of too many": (
        adapter(field_map={f"f{at}": "$.x" for at in range(201)}),
        "/ledger_adapter/field_map",
        "`field_map` has 201 fields; at most 200 are allowed",
    ),
    "field_map with a pattern": (
        adapter(field_map={"status": "$[?match(@.a, '(a|aa)+b')]"}),
        "/ledger_adapter/field_map/status",
        "'match' is not defined",
    ),
    "field_map with a descent in a filter": (
        adapter(field_map={"status": "$..[?count($..*) > 2]"}),
        "/ledger_adapter/field_map/status",
        "`..` inside a filter",
    ),
    "field_map to an undeclared field": (
        adapter(field_map={"statsu": "$.status"}),
        "/ledger_adapter/field_map/statsu",
        "declares no field `statsu`",
    ),
    "field_map value is no JSONPath": (
        adapter(field_map={"status": 5}),
        "/ledger_adapter/field_map/status",
        "a number",
    ),
    "field_map value is null": (
        adapter(field_map={"status": None}),
        "/ledger_adapter/field_map/status",
        "null",
    ),
    "set_flag without flags": (
        adapter(op="set_flag", entity_type=None, id_from=None, field_map=None, flags=None),
        "/ledger_adapter/flags",
        "needs `flags`",
    ),
    "set_flag with an entity": (
        adapter(op="set_flag", id_from=None, field_map=None),
        "/ledger_adapter/entity_type",
        "remove it",
    ),
    "flags are no strings": (adapter(flags=[5]), "/ledger_adapter/flags/0", "non-empty strings"),
    "a flag that the schema closes out": (adapter(flags=["vpi"]), "/ledger_adapter/flags", "`vpi`"),
}


@pytest.mark.parametrize(("tool", "place", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_wrong_tool_is_refused_where_it_is_wrong(tool, place, says):
    (problem,) = problems(SHAPE | {"name": "fine"}, tool)
    assert problem.path == "/tools_schema/1" + place
    assert says in problem.message
    named = tool.get("function") or tool if isinstance(tool, dict) else {}
    if isinstance(named, dict) and isinstance(named.get("name"), str) and named["name"]:
        assert problem.message.startswith(f"tool `{named['name'][:128]}`: ")


@pytest.mark.parametrize("body", [{"name": "f"}, None, "x", 5])
def test_a_schema_that_is_no_list(body):
    with pytest.raises(Refused) as refused:
        parse_tools_schema(body)
    (problem,) = refused.value.problems
    assert problem.path == "/tools_schema"


def test_an_adapter_without_any_ledger_schema():
    (problem,) = problems(WHOLE_ORDER, ledger_schema=None)
    assert problem.path == "/tools_schema/0/ledger_adapter/entity_type"
    assert "ledger_schema" in problem.message


def test_a_name_used_twice_points_at_the_first():
    (problem,) = problems({"name": "f", "input_schema": {}}, {"name": "f", "input_schema": {}})
    assert (problem.path, problem.message) == (
        "/tools_schema/1/name",
        "tool `f`: the name is already taken by tool 0",
    )


def test_all_problems_of_all_tools_come_at_once():
    found = problems({"name": "a b"}, 5, {"name": "f", "input_schema": {"properties": 5, "required": 5}})
    assert [problem.path for problem in found] == [
        "/tools_schema/0/name",
        "/tools_schema/0/input_schema",
        "/tools_schema/1",
        "/tools_schema/2/input_schema/properties",
        "/tools_schema/2/input_schema/required",
    ]


def test_hints_name_what_was_probably_meant():
    hints = [
        problems({"name": "f", "inputShema": {}})[0].hint,
        problems(binding(endpoint_name="research-tool", tool_name="x"))[0].hint,
        problems(adapter(entity_type="orders"))[0].hint,
    ]
    assert hints == [
        "did you mean `input_schema`?",
        "did you mean `research-tools`?",
        "did you mean `order`?",
    ]
    assert nearest_names("get_ordr", ["get_order", "refund"]) == ["get_order"]


CALLS = {
    "fine": ({"order_id": "4521", "reason": "late"}, []),
    "missing": ({}, [("/order_id", "`order_id` is required")]),
    "missing deep inside": (
        {"order_id": "1", "lines": [{"sku": 1}, {}]},
        [("/lines/1/sku", "`sku` is required")],
    ),
    "not declared": ({"order_id": "1", "a/b": 2}, [("/a~1b", "`a/b` is not declared")]),
    "wrong type": ({"order_id": 4521}, [("/order_id", '4521 is not of type "string"')]),
    "wrong pattern": ({"order_id": "x"}, [("/order_id", '"x" does not match "^[0-9]+$"')]),
    "not in the enum": ({"order_id": "1", "reason": "damage"}, [("/reason", "must be `damaged` or `late`")]),
    "format is an annotation": ({"order_id": "1", "on": "tomorrow"}, []),
    "no object": ([], [("", "the arguments must be a JSON object, not an array")]),
}


@pytest.mark.parametrize(("arguments", "expected"), CALLS.values(), ids=CALLS)
def test_arguments_are_checked_with_a_pointer_for_each_problem(arguments, expected):
    assert [(found.path, found.message) for found in TYPED.argument_problems(arguments)] == expected
    assert TYPED.accepts(arguments) == (not expected)


def test_a_response_is_checked_against_output_schema():
    assert TYPED.response_problems({"ok": True}) == []
    assert [found.path for found in TYPED.response_problems({})] == ["/ok"]
    assert parse({"name": "f", "input_schema": {}})[0].response_problems("anything") == []
