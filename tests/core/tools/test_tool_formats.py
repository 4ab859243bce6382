"""Tool lists of MCP servers and model SDKs: taken as they are, and strictly all the same."""

import json
import re

import pytest

from pipelines.core.text.problems import Refused
from pipelines.core.tools.tool_annotations import HINTS, ToolAnnotations
from pipelines.core.tools.tool_formats import ANTHROPIC, MCP, OPENAI
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema, tools_from_stored
from support.repository import DOCS

ORDER_ID = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
ORDER = {"type": "object", "properties": {"status": {"type": "string"}}}
NAMED = {"name": "get_order", "description": "Look an order up."}
OURS = Tool(**NAMED, input_schema=ORDER_ID)


def parse(*entries):
    return parse_tools_schema(list(entries))


def problems(*entries):
    with pytest.raises(Refused) as refused:
        parse(*entries)
    return refused.value.problems


FORMS = {
    "MCP, the least": NAMED | {"inputSchema": ORDER_ID},
    "MCP, what a backend needs nothing of": NAMED
    | {
        "inputSchema": ORDER_ID,
        "icons": [{"src": "https://example.com/order.png", "mimeType": "image/png", "sizes": ["48x48"]}],
        "execution": {"taskSupport": "optional"},
        "_meta": {"example.com/team": "orders"},
    },
    "chat completions": {"type": "function", "function": NAMED | {"parameters": ORDER_ID, "strict": True}},
    "responses": NAMED
    | {
        "type": "function",
        "parameters": ORDER_ID,
        "strict": False,
        "defer_loading": True,
        "allowed_callers": ["direct"],
        "async": False,
    },
    "Anthropic": NAMED
    | {
        "type": "custom",
        "input_schema": ORDER_ID,
        "cache_control": {"type": "ephemeral"},
        "strict": True,
        "defer_loading": False,
        "allowed_callers": ["direct"],
        "input_examples": [{"order_id": "4521"}],
        "eager_input_streaming": True,
    },
    "Anthropic, without a type": NAMED | {"type": None, "input_schema": ORDER_ID},
    "two spellings that agree": NAMED | {"inputSchema": ORDER_ID, "parameters": ORDER_ID},
    "nothing for what is not given": NAMED
    | {"inputSchema": ORDER_ID, "outputSchema": None, "annotations": None, "title": None, "_meta": None},
    "empty annotations": NAMED | {"inputSchema": ORDER_ID, "annotations": {}},
}


@pytest.mark.parametrize("entry", FORMS.values(), ids=FORMS)
def test_each_format_is_the_same_tool(entry):
    assert parse(entry) == (OURS,)


def test_all_formats_in_one_list():
    several = [
        {"name": "a", "inputSchema": ORDER_ID},
        {"type": "function", "function": {"name": "b", "parameters": ORDER_ID}},
        {"type": "function", "name": "c", "parameters": ORDER_ID, "strict": True},
        {"name": "d", "input_schema": ORDER_ID, "cache_control": {"type": "ephemeral"}},
    ]
    assert [(tool.name, tool.input_schema) for tool in parse(*several)] == [
        (name, ORDER_ID) for name in "abcd"
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "function", "function": {"name": "ping"}},
        {"type": "function", "name": "ping"},
        {"type": "function", "name": "ping", "parameters": None, "strict": None},
    ],
)
def test_a_function_of_openai_without_parameters_takes_no_arguments(entry):
    (tool,) = parse(entry)
    assert tool.input_schema == {"type": "object", "properties": {}}


def test_the_reply_of_a_tool_of_mcp():
    (tool,) = parse(NAMED | {"inputSchema": ORDER_ID, "outputSchema": ORDER})
    assert tool.output_schema == ORDER


# Annotations

ANNOTATED = NAMED | {
    "inputSchema": ORDER_ID,
    "annotations": {
        "title": "Get an order",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
}


def test_annotations_are_kept_and_stored():
    (tool,) = parse(ANNOTATED)
    assert tool.annotations == ToolAnnotations(
        title="Get an order", reads_only=True, is_destructive=False, is_idempotent=True, is_open_world=False
    )
    assert tool.as_json()["annotations"] == ANNOTATED["annotations"]
    assert tools_from_stored([tool.as_json()]) == (tool,)
    assert parse(tool.as_json()) == (tool,)


def test_what_is_not_given_is_not_guessed():
    (tool,) = parse(NAMED | {"inputSchema": ORDER_ID, "annotations": {"readOnlyHint": None}})
    assert tool.annotations is None
    (tool,) = parse(NAMED | {"inputSchema": ORDER_ID, "annotations": {"idempotentHint": True}})
    assert tool.as_json()["annotations"] == {"idempotentHint": True}


def test_tools_stored_before_there_were_annotations_have_none():
    (tool,) = tools_from_stored([NAMED | {"input_schema": ORDER_ID, "default_execution_mode": "sandbox"}])
    assert tool == OURS


@pytest.mark.parametrize("inner", [{}, {"annotations": {"title": "Old"}}])
def test_the_title_beside_the_annotations_comes_first_as_in_mcp(inner):
    (tool,) = parse(NAMED | {"inputSchema": ORDER_ID, "title": "New"} | inner)
    assert tool.annotations == ToolAnnotations(title="New")


HINTS_GIVEN = {
    "reads": ({"readOnlyHint": True}, False),
    "changes": ({"readOnlyHint": False}, True),
    "destroys": ({"destructiveHint": True}, True),
    "reads, and so destroys nothing": ({"readOnlyHint": True, "destructiveHint": True}, False),
    "only adds": ({"destructiveHint": False}, False),
    "says nothing of it": ({"idempotentHint": True}, False),
}


@pytest.mark.parametrize(("given", "expected"), HINTS_GIVEN.values(), ids=HINTS_GIVEN)
def test_whether_the_annotations_say_that_something_changes(given, expected):
    (tool,) = parse(NAMED | {"inputSchema": ORDER_ID, "annotations": given})
    assert tool.annotations.changes_something is expected


def test_annotations_stand_beside_any_format():
    (tool,) = parse(
        {
            "type": "function",
            "function": NAMED | {"parameters": ORDER_ID},
            "annotations": {"readOnlyHint": True},
        }
    )
    assert tool.annotations == ToolAnnotations(reads_only=True)


# What is refused

MISTAKES = {
    "a misspelled schema": ({"name": "f", "inputShema": {}}, "/inputShema", "did you mean `input_schema`?"),
    "a misspelled field of MCP": (
        {"name": "f", "inputSchema": {}, "icon": []},
        "/icon",
        "did you mean `icons`?",
    ),
    "a misspelled field of OpenAI": (
        {"type": "function", "function": {"name": "f", "parameters": {}, "stric": True}},
        "/function/stric",
        "did you mean `strict`?",
    ),
    "a misspelled field of Anthropic": (
        {"name": "f", "input_schema": {}, "cache_controll": {}},
        "/cache_controll",
        "did you mean `cache_control`?",
    ),
    "a misspelled hint": (
        {"name": "f", "inputSchema": {}, "annotations": {"readonlyhnt": True}},
        "/annotations/readonlyhnt",
        "did you mean `readOnlyHint`?",
    ),
    "a hint in the spelling of Python": (
        {"name": "f", "inputSchema": {}, "annotations": {"read_only_hint": True}},
        "/annotations/read_only_hint",
        "did you mean `readOnlyHint`?",
    ),
    "a field of OpenAI in a tool of MCP": (
        {"name": "f", "inputSchema": {}, "strict": True},
        "/strict",
        "it is a field of OpenAI and Anthropic; the other fields of this tool are those of MCP",
    ),
    "a field of MCP in a tool of OpenAI": (
        {"name": "f", "parameters": {}, "icons": []},
        "/icons",
        "it is a field of MCP; the other fields of this tool are those of OpenAI",
    ),
    "a field of Anthropic in a tool of OpenAI": (
        {"type": "function", "name": "f", "parameters": {}, "input_examples": []},
        "/input_examples",
        "it is a field of Anthropic; the other fields of this tool are those of OpenAI",
    ),
}


@pytest.mark.parametrize(("entry", "place", "hint"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_what_was_meant(entry, place, hint):
    problem = problems(entry)[0]
    assert (problem.path, problem.hint) == (f"/tools_schema/0{place}", hint)
    assert problem.message.startswith("tool `f`: ")


CLASHES = {
    "MCP and ours": ({"inputSchema": ORDER_ID, "input_schema": ORDER}, "`input_schema` and `inputSchema`"),
    "MCP and OpenAI": ({"inputSchema": ORDER_ID, "parameters": ORDER}, "`inputSchema` and `parameters`"),
    "of the reply": (
        {"inputSchema": {}, "outputSchema": ORDER_ID, "output_schema": ORDER},
        "`output_schema` and `outputSchema`",
    ),
}


@pytest.mark.parametrize(("parts", "says"), CLASHES.values(), ids=CLASHES)
def test_two_spellings_that_differ_are_a_problem(parts, says):
    (problem,) = problems({"name": "f"} | parts)
    assert f"{says} are given and differ" in problem.message
    assert problem.hint == "give it once"


WRONG_ANNOTATIONS = {
    "a list": ([], "/annotations", "`annotations` must be a JSON object, not an array"),
    "a hint as text": (
        {"readOnlyHint": "true"},
        "/annotations/readOnlyHint",
        "`readOnlyHint` must be true or false, not a string",
    ),
    "a title that is a number": ({"title": 5}, "/annotations/title", "`title` must be a string"),
}


@pytest.mark.parametrize(("given", "place", "says"), WRONG_ANNOTATIONS.values(), ids=WRONG_ANNOTATIONS)
def test_wrong_annotations(given, place, says):
    (problem,) = problems({"name": "f", "inputSchema": {}, "annotations": given})
    assert problem.path == f"/tools_schema/0{place}"
    assert says in problem.message


def test_all_mistakes_of_a_list_come_at_once():
    found = problems(
        {"name": "f", "inputSchema": {}, "icon": [], "annotations": {"readOnly": True, "destructiveHint": 1}},
        {"type": "function", "function": {"name": "g", "parameters": {"type": "string"}, "stric": True}},
        {"name": "h", "input_schema": {}, "type": "web_search"},
    )
    assert [problem.path.removeprefix("/tools_schema") for problem in found] == [
        "/0/icon",
        "/0/annotations/readOnly",
        "/0/annotations/destructiveHint",
        "/1/function/stric",
        "/1/function/parameters",
        "/2/type",
    ]


# The formats as their own libraries define them


def _fields(model):
    return {each.alias or name for name, each in model.model_fields.items()}


def test_mcp_as_its_library_has_it():
    types = pytest.importorskip("mcp_types")
    known = {"name", "description", "annotations", *MCP.ours, *MCP.others}
    assert _fields(types.Tool) <= known
    assert _fields(types.ToolAnnotations) == {"title", *HINTS.values()}


def test_openai_as_its_library_has_it():
    responses = pytest.importorskip("openai.types.responses")
    shared = pytest.importorskip("openai.types.shared_params")
    known = {"name", "description", "output_schema", *OPENAI.ours, *OPENAI.others}
    assert _fields(responses.FunctionTool) <= known
    assert set(shared.FunctionDefinition.__annotations__) <= known


def test_anthropic_as_its_library_has_it():
    types = pytest.importorskip("anthropic.types")
    known = {"name", "description", "input_schema", *ANTHROPIC.others}
    assert set(types.ToolParam.__annotations__) <= known


PAGE = DOCS / "reference/tools-schema.md"


def test_the_examples_of_the_reference_page_are_the_same_tool():
    lists = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)]
    tools = [parse(*entries) for entries in lists]
    assert [len(each) for each in tools] == [1, 1, 2, 1]
    assert {(each[0].name, each[0].description) for each in tools} == {
        ("get_order", "Look up an order by its id.")
    }
    assert all(each[0].input_schema == ORDER_ID for each in tools)
    assert tools[1][0].annotations == ToolAnnotations(
        title="Get an order", reads_only=True, is_open_world=False
    )
