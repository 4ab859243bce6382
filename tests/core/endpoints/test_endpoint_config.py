"""Tool endpoints as authors write them: what is taken, and every refusal with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.endpoints.credential_reference import CredentialReference, missing_credentials
from pipelines.core.endpoints.endpoint_config import MAX_SPEC_BYTES, EndpointDefinition, read_endpoint
from pipelines.core.endpoints.endpoint_drift import CHANGED, GONE, StoredTool, compare_tools
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.live_tools import DiscoveredTool

OPENAPI: JsonObject = {"base_url": "https://api.example.com/v2", "spec": "openapi: 3.1.0"}
MCP: JsonObject = {"url": "https://mcp.example.com/mcp"}
CODE: JsonObject = {"source": "def ping(): return 1", "functions": ["ping"]}


def endpoint(type: str, config: JsonObject, **more: object) -> JsonObject:
    return {"name": "orders-api", "type": type, "config": config, **more}  # type: ignore[dict-item]


TAKEN: dict[str, tuple[JsonObject, JsonObject, JsonObject | None]] = {
    "a spec as text": (endpoint("http_openapi", OPENAPI), OPENAPI, None),
    "a spec as an object": (
        endpoint("http_openapi", OPENAPI | {"spec": {"openapi": "3.1.0"}}),
        OPENAPI | {"spec": '{"openapi":"3.1.0"}'},
        None,
    ),
    "a URL of a spec, and a bearer": (
        endpoint(
            "http_openapi",
            {"base_url": "http://127.0.0.1:9000", "spec_url": "http://127.0.0.1:9000/openapi.json?v=1"},
            auth={"type": "bearer", "credential": "ORDERS_KEY"},
        ),
        {"base_url": "http://127.0.0.1:9000", "spec_url": "http://127.0.0.1:9000/openapi.json?v=1"},
        {"type": "bearer", "credential": "ORDERS_KEY"},
    ),
    "the usual header of an API key": (
        endpoint("mcp_server", MCP, auth={"type": "api_key", "credential": "KEY"}),
        MCP,
        {"type": "api_key", "header": "X-API-Key", "credential": "KEY"},
    ),
    "no auth, in a word": (endpoint("mcp_server", MCP, auth="none"), MCP, None),
    "no auth, as an object": (endpoint("mcp_server", MCP, auth={"type": "none"}), MCP, None),
    "a command": (
        endpoint("mcp_server", {"command": "uvx", "args": ["mcp-server-time"]}),
        {"command": "uvx", "args": ["mcp-server-time"], "env_vars": {}},
        None,
    ),
    "code, its fields at the top": (
        {"name": "research-tools", "type": "code", **CODE, "env_vars": ["SEARCH_KEY"]},
        CODE | {"requirements": [], "env_vars": {"SEARCH_KEY": "SEARCH_KEY"}, "allow_hosts": []},
        None,
    ),
    "code in files": (
        endpoint(
            "code",
            {
                "files": {"a.py": "x = 1"},
                "requirements": ["httpx>=0.27"],
                "env_vars": {"TOKEN": "MY_TOKEN"},
                "allow_hosts": ["api.example.com:8443", "*.example.org"],
            },
        ),
        {
            "files": {"a.py": "x = 1"},
            "functions": [],
            "requirements": ["httpx>=0.27"],
            "env_vars": {"TOKEN": "MY_TOKEN"},
            "allow_hosts": ["api.example.com:8443", "*.example.org"],
        },
        None,
    ),
}


def parsed(body: JsonObject) -> EndpointDefinition:
    made, problems = read_endpoint(body)
    assert not problems
    assert made is not None
    return made


@pytest.mark.parametrize(("body", "config", "auth"), TAKEN.values(), ids=TAKEN)
def test_what_is_taken_has_one_normal_form(body, config, auth):
    made = parsed(body)
    assert (made.config, made.auth) == (config, auth)
    # What was normal once stays as it is.
    again = parsed({"name": made.name, "type": made.type, "config": made.config, "auth": made.auth})
    assert (again.config, again.auth) == (config, auth)


REFUSED: dict[str, tuple[JsonObject, list[tuple[str, str]]]] = {
    "nothing": ({}, [("/name", "missing"), ("/type", "missing")]),
    "a type that there is not": (
        endpoint("openapi", OPENAPI),
        [("/type", "must be `mcp_server`, `http_openapi` or `code`")],
    ),
    "a name with a slash": (
        endpoint("mcp_server", MCP) | {"name": "a/b"},
        [("/name", "does not match")],
    ),
    "no document and no address": (
        endpoint("http_openapi", {}),
        [("/config/base_url", "missing"), ("/config", "gives no OpenAPI document")],
    ),
    "two documents": (
        endpoint("http_openapi", OPENAPI | {"spec_url": "https://a.example.com/s.json"}),
        [("/config", "gives both")],
    ),
    "addresses that are none": (
        endpoint("http_openapi", {"base_url": "ftp://a", "spec_url": "https://user:pass@a/s"}),
        [("/config/base_url", "http:// or https://"), ("/config/spec_url", "contains credentials")],
    ),
    "a base with a query": (
        endpoint("http_openapi", OPENAPI | {"base_url": "https://a.example.com/?key=1"}),
        [("/config/base_url", "has a query or a fragment")],
    ),
    "a spec that is a number": (
        endpoint("http_openapi", OPENAPI | {"spec": 3}),
        [("/config/spec", "must be a string")],
    ),
    "a spec that is too large": (
        endpoint("http_openapi", OPENAPI | {"spec": "x" * (MAX_SPEC_BYTES + 1)}),
        [("/config/spec", "at most 20 MiB")],
    ),
    "fields of another type": (
        endpoint("mcp_server", MCP | {"base_url": "https://a.example.com"}),
        [("/config/base_url", "unknown field")],
    ),
    "fields at the top beside a config": (
        endpoint("mcp_server", MCP) | {"url": "https://mcp.example.com"},
        [("/url", "unknown field")],
    ),
    "neither URL nor command": (endpoint("mcp_server", {}), [("/config", "neither `url` nor `command`")]),
    "arguments of a URL": (
        endpoint("mcp_server", MCP | {"args": ["x"]}),
        [("/config/args", "is for `command`")],
    ),
    "auth of a command": (
        endpoint("mcp_server", {"command": "x"}, auth={"type": "bearer", "credential": "K"}),
        [("/auth", "endpoints with a URL")],
    ),
    "a secret instead of its name": (
        endpoint("mcp_server", MCP, auth={"type": "bearer", "credential": "sk-live-1234"}),
        [("/auth/credential", "never its value")],
    ),
    "a secret under a name of its own": (
        endpoint("mcp_server", MCP, auth={"type": "bearer", "token": "sk-live-1234"}),
        [("/auth/token", "unknown field `token`"), ("/auth/credential", "missing")],
    ),
    "a header of ours": (
        endpoint("mcp_server", MCP, auth={"type": "api_key", "header": "Host", "credential": "K"}),
        [("/auth/header", "set by the platform")],
    ),
    "code without source": (
        endpoint("code", {"functions": "def a(): ..."}),
        [("/config", "has no source"), ("/config/functions", "must be a list of function names")],
    ),
    "code given twice": (
        endpoint("code", {"source": "x", "zip": "eA=="}),
        [("/config", "gives `source` and `zip`")],
    ),
    "variables and hosts that are none": (
        endpoint(
            "code", {"source": "x", "env_vars": {"PATH": "A", "B": "sk-1"}, "allow_hosts": ["https://a"]}
        ),
        [
            ("/config/env_vars/PATH", "set by the platform"),
            ("/config/env_vars/B", "never its value"),
            ("/config/allow_hosts/0", "is not a host name"),
        ],
    ),
    "files that are no texts": (
        endpoint("code", {"files": {"a/b.py": 1}}),
        [("/config/files/a~1b.py", "must be a string")],
    ),
}


@pytest.mark.parametrize(("body", "expected"), REFUSED.values(), ids=REFUSED)
def test_every_refusal_has_its_place(body, expected):
    _, problems = read_endpoint(body)
    assert [problem.path for problem in problems] == [path for path, _ in expected]
    for problem, (_, words) in zip(problems, expected, strict=True):
        assert words in problem.message
        assert "sk-" not in problem.message + str(problem.hint)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["name", "type", "config", "auth", "url", "env_vars", "files", "credential", "x"]),
        inner | st.sampled_from(["http_openapi", "mcp_server", "code", "bearer"]), max_size=6)
)))  # fmt: skip
def test_no_body_breaks_the_reader(value):
    body = value if isinstance(value, dict) else {"config": value}
    made, problems = read_endpoint(body)
    assert problems or made is not None


def test_a_credential_that_is_missing_is_told_with_the_one_that_may_be_meant():
    made = parsed(endpoint("mcp_server", MCP, auth={"type": "bearer", "credential": "ORDER_KEY"}))
    assert made.credentials == (CredentialReference("/auth/credential", "ORDER_KEY"),)
    (problem,) = missing_credentials(made.credentials, {"ORDERS_KEY"})
    assert problem.path == "/auth/credential"
    assert problem.hint == "did you mean `ORDERS_KEY`?"
    assert list(missing_credentials(made.credentials, {"ORDER_KEY"})) == []


def test_what_is_large_of_a_config_is_told_apart():
    small, large = parsed(endpoint("http_openapi", OPENAPI)).split_config()
    assert small == {"base_url": "https://api.example.com/v2"}
    assert large == {"spec": "openapi: 3.1.0"}


# -- drift


def tool(name: str, **schema: object) -> DiscoveredTool:
    properties = {key: {"type": value} for key, value in schema.items()}
    return DiscoveredTool(
        name=name,
        description=f"{name}.",
        input_schema={"type": "object", "properties": properties},  # type: ignore[dict-item]
        call={"path": f"/{name}"},
    )


def test_the_first_discovery_and_new_tools_are_accepted_as_they_are():
    first = compare_tools({}, [tool("a"), tool("b")], accept=False)
    assert (first.added, first.drifted, first.is_changed) == (("a", "b"), (), True)
    known = {each.accepted.name: each for each in first.stored}
    again = compare_tools(known, [tool("a"), tool("b")], accept=False)
    assert (again.stored, again.is_changed) == ((), False)
    later = compare_tools(known, [tool("a"), tool("b"), tool("c")], accept=False)
    assert later.added == ("c",)
    assert [each.accepted.name for each in later.stored] == ["c"]


def test_what_changed_or_went_is_kept_beside_what_was_accepted_until_somebody_accepts_it():
    known = {"a": StoredTool(tool("a", id="string")), "b": StoredTool(tool("b"))}
    found = [tool("a", id="integer", limit="integer")]
    drift = compare_tools(known, found, accept=False)
    changed, gone = drift.drifted
    assert (changed.accepted, changed.drift, changed.found) == (known["a"].accepted, CHANGED, found[0])
    assert changed.differences() == [
        {"path": "/input_schema/properties/id/type", "before": "string", "after": "integer"},
        {"path": "/input_schema/properties/limit", "after": {"type": "integer"}},
    ]
    assert (gone.accepted.name, gone.drift, gone.differences()) == ("b", GONE, [])
    assert (drift.removed, drift.is_changed) == ((), False)

    since = {"a": changed, "b": gone}
    assert compare_tools(since, found, accept=False).stored == ()
    accepted = compare_tools(since, found, accept=True)
    assert accepted.stored == (StoredTool(found[0]),)
    assert (accepted.removed, accepted.drifted, accepted.is_changed) == (("b",), (), True)


def test_a_tool_that_is_again_what_was_accepted_is_no_drift_any_more():
    known = {"a": StoredTool(tool("a"), CHANGED, tool("a", id="string"))}
    back = compare_tools(known, [tool("a")], accept=False)
    assert (back.stored, back.drifted, back.is_changed) == ((StoredTool(tool("a")),), (), False)


def test_how_a_tool_is_called_may_change_without_drift():
    known = {"a": StoredTool(tool("a"))}
    moved = DiscoveredTool(
        name="a", description="a.", input_schema=tool("a").input_schema, call={"path": "/v2/a"}
    )
    outcome = compare_tools(known, [moved], accept=False)
    assert (outcome.stored, outcome.drifted, outcome.is_changed) == ((StoredTool(moved),), (), True)


def test_differences_are_few_and_short():
    before = tool("a", **{f"p{index}": "x" * 1_000 for index in range(50)})
    after = tool("a", **{f"p{index}": "y" * 1_000 for index in range(50)})
    told = StoredTool(before, CHANGED, after).differences()
    assert len(told) == 20
    assert all(len(str(each)) < 600 for each in told)


TOOLS = st.dictionaries(
    st.sampled_from("abcd"), st.sampled_from(["string", "integer", "boolean"]), max_size=4
)


@given(first=TOOLS, second=TOOLS)
def test_accepting_leaves_just_what_was_found(first, second):
    known = {name: StoredTool(tool(name, id=kind)) for name, kind in first.items()}
    found = [tool(name, id=kind) for name, kind in second.items()]
    for accept_at_once in (True, False):
        state = dict(known)
        for accept in (True,) if accept_at_once else (False, True):
            outcome = compare_tools(state, found, accept=accept)
            state |= {each.accepted.name: each for each in outcome.stored}
            for name in outcome.removed:
                del state[name]
        assert state == {each.name: StoredTool(each) for each in found}


def test_a_found_tool_is_read_back_as_it_was_stored():
    found = DiscoveredTool(
        name="a", description="A.", input_schema={"type": "object"}, output_schema={}, call={"m": 1}
    )
    assert DiscoveredTool.from_stored(found.as_json()) == found
