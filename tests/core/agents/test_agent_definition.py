"""Agents as authors register them: defaults, limits, and every problem in one answer."""

import pytest

from pipelines.core.agents.agent_definition import parse_agent_definition
from pipelines.core.text.problems import Refused
from pipelines.core.tools.passthrough_binding import EndpointFacts

LEAST = {"name": "Refunds", "endpoint_url": "https://agents.example.com/dispatch"}
TOOL = {"name": "refund", "input_schema": {"type": "object"}}
WHOLE = {
    "name": "Refunds",
    "description": "Refunds orders.",
    "mode": "external_http",
    "endpoint_url": "http://localhost:8080/dispatch?x=1",
    "auth_header_name": "Authorization",
    "run_timeout_s": 1800,
    "tools_schema": [
        {
            "name": "refund",
            "description": "",
            "input_schema": {"type": "object"},
            "default_execution_mode": "passthrough",
            "passthrough_binding": {"endpoint_id": "e-1", "tool_name": "refund"},
            "ledger_write_policy": "adapter",
            "ledger_adapter": {"op": "update", "entity_type": "order", "id_from": "$.id"},
        }
    ],
    "ledger_schema": {"entities": [{"type": "order", "id_field": "id"}]},
    "response_contract": {"response_mode": "rich", "strictness": "strict"},
    "config": {
        "sub_agents": [
            {"actor_id": "supervisor", "tools": [], "talks_to": ["supervisor/refunds"]},
            {"actor_id": "supervisor/refunds", "tools": ["refund"]},
        ],
        "topology": {"entry": "supervisor"},
    },
    "max_concurrency": 1000,
    "variation_delivery": "user",
}
ENDPOINTS = {"e-1": EndpointFacts(id="e-1", name="shop", type="code", tools=frozenset({"refund"}))}


def parse(body, **around):
    return parse_agent_definition(body, endpoints=ENDPOINTS, **around)


def problems(body, **around):
    with pytest.raises(Refused) as refused:
        parse(body, **around)
    return refused.value.problems


def sub_agents(*entries):
    return {"config": {"sub_agents": list(entries)}}


def test_the_least_there_can_be():
    assert parse(LEAST).as_json() == {
        "name": "Refunds",
        "description": "",
        "mode": "external_http",
        "endpoint_url": "https://agents.example.com/dispatch",
        "auth_header_name": None,
        "run_timeout_s": 300,
        "tools_schema": [],
        "ledger_schema": None,
        "response_contract": None,
        "config": {},
        "max_concurrency": 8,
        "variation_delivery": "system",
    }


def test_a_whole_agent_is_written_as_it_was_read():
    assert parse(WHOLE).as_json() == WHOLE


def test_what_was_written_can_be_read_again():
    """A change is the old definition with the new fields over it."""
    for body in (LEAST, WHOLE):
        assert parse(parse(body).as_json()) == parse(body)


def test_the_auth_header_value_is_kept_but_never_shown():
    agent = parse(LEAST | {"auth_header_name": "Authorization", "auth_header_value": "Bearer s3cret"})
    assert agent.auth_header_value == "Bearer s3cret"
    assert "s3cret" not in repr(agent)
    assert "s3cret" not in str(agent.as_json())


def test_a_draft_and_a_code_agent_need_no_url():
    assert parse({"name": "x"}, draft=True).endpoint_url is None
    assert parse({"name": "x", "mode": "code"}).endpoint_url is None


REFUSALS = {
    "no name": ({"name": None}, "/name", "missing"),
    "blank name": ({"name": " "}, "/name", "empty"),
    "long name": ({"name": "x" * 256}, "/name", "255"),
    "long description": ({"description": "x" * 5_001}, "/description", "5,000"),
    "unknown field": ({"endpoint": "x"}, "/endpoint", "unknown field"),
    "unknown mode": ({"mode": "http"}, "/mode", "`external_http` or `code`"),
    "no url": ({"endpoint_url": None}, "/endpoint_url", "missing"),
    "url is a number": ({"endpoint_url": 5}, "/endpoint_url", "string"),
    "url without scheme": ({"endpoint_url": "agents.example.com"}, "/endpoint_url", "http://"),
    "url of another scheme": ({"endpoint_url": "file:///etc/passwd"}, "/endpoint_url", "http://"),
    "url without host": ({"endpoint_url": "https:///dispatch"}, "/endpoint_url", "no host"),
    "url with a port only": ({"endpoint_url": "https://:80/x"}, "/endpoint_url", "no host"),
    "url with a bad port": ({"endpoint_url": "https://a:99999/"}, "/endpoint_url", "not a URL"),
    "url with half an address": ({"endpoint_url": "http://[::1/"}, "/endpoint_url", "not a URL"),
    "url with credentials": ({"endpoint_url": "https://me:pw@a.example/"}, "/endpoint_url", "credentials"),
    "url with a user": ({"endpoint_url": "https://me@a.example/"}, "/endpoint_url", "credentials"),
    "url with a line break": ({"endpoint_url": "https://a.exa\nmple/"}, "/endpoint_url", "control"),
    "url with a space": ({"endpoint_url": "https://a.example/ x"}, "/endpoint_url", "spaces"),
    "long url": ({"endpoint_url": "https://a.example/" + "x" * 2_048}, "/endpoint_url", "2,048"),
    "header name with a space": ({"auth_header_name": "X Key"}, "/auth_header_name", "no HTTP header"),
    "header name with a line break": ({"auth_header_name": "X-Key\r\nA: b"}, "/auth_header_name", "no HTTP"),
    "header of ours": ({"auth_header_name": "x-pipelines-run-token"}, "/auth_header_name", "platform"),
    "hop-by-hop header": ({"auth_header_name": "Transfer-Encoding"}, "/auth_header_name", "platform"),
    "host header": ({"auth_header_name": "Host"}, "/auth_header_name", "platform"),
    "header value without name": ({"auth_header_value": "x"}, "/auth_header_name", "needs"),
    "header value with a line break": (
        {"auth_header_name": "A", "auth_header_value": "x\r\nB: c"},
        "/auth_header_value",
        "line breaks",
    ),
    "header value with a line break at its end": (
        {"auth_header_name": "A", "auth_header_value": "Bearer x\n"},
        "/auth_header_value",
        "line breaks",
    ),
    "header value that is not ASCII": (
        {"auth_header_name": "A", "auth_header_value": "Bearer é"},
        "/auth_header_value",
        "ASCII",
    ),
    "no time": ({"run_timeout_s": 0}, "/run_timeout_s", "from 1 to 1800"),
    "too much time": ({"run_timeout_s": 1801}, "/run_timeout_s", "from 1 to 1800"),
    "a fraction of a second": ({"run_timeout_s": 0.5}, "/run_timeout_s", "0.5"),
    "no concurrency": ({"max_concurrency": 0}, "/max_concurrency", "from 1 to 1000"),
    "too much concurrency": ({"max_concurrency": 1001}, "/max_concurrency", "from 1 to 1000"),
    "no such delivery": ({"variation_delivery": "sytem"}, "/variation_delivery", "`system`, `user` or"),
    "a delivery that is no text": ({"variation_delivery": 1}, "/variation_delivery", "a number"),
    "tools_schema is no list": ({"tools_schema": {}}, "/tools_schema", "array"),
    "a wrong tool": ({"tools_schema": [{"name": "f"}]}, "/tools_schema/0/input_schema", "missing"),
    "a wrong ledger schema": ({"ledger_schema": {}}, "/ledger_schema/entities", "missing"),
    "half a response contract": (
        {"response_contract": {"response_mode": "rich"}},
        "/response_contract/strictness",
        "missing",
    ),
    "another response contract": (
        {"response_contract": {"response_mode": "thin", "strictness": "strict"}},
        "/response_contract/response_mode",
        "`rich`",
    ),
    "config is text": ({"config": "x"}, "/config", "object"),
    "unknown key of config": ({"config": {"agents": []}}, "/config/agents", "unknown field"),
    "sub_agents is an object": ({"config": {"sub_agents": {}}}, "/config/sub_agents", "array"),
    "is not a valid actor id": (sub_agents({}), "/config/sub_agents/0/actor_id", "missing"),
    "a bad actor id": (
        sub_agents({"actor_id": "a//b"}),
        "/config/sub_agents/0/actor_id",
        "is not a valid actor id",
    ),
    "an empty actor id": (
        sub_agents({"actor_id": ""}),
        "/config/sub_agents/0/actor_id",
        "is not a valid actor id",
    ),
    "an actor id twice": (
        sub_agents({"actor_id": "a"}, {"actor_id": "a"}),
        "/config/sub_agents/1/actor_id",
        "twice",
    ),
    "a tool that is not declared": (
        sub_agents({"actor_id": "a", "tools": ["refund"]}),
        "/config/sub_agents/0/tools/0",
        "no tool `refund`",
    ),
    "a partner that is not declared": (
        sub_agents({"actor_id": "a", "talks_to": ["a", "b"]}),
        "/config/sub_agents/0/talks_to/1",
        "no sub-agent `b`",
    ),
    "topology without entry": (
        {"config": {"topology": {}}},
        "/config/topology/entry",
        "missing",
    ),
    "an entry that is not declared": (
        {"config": {"topology": {"entry": "a"}}},
        "/config/topology/entry",
        "no sub-agent `a`",
    ),
}


@pytest.mark.parametrize(("change", "place", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_wrong_agent_is_refused_where_it_is_wrong(change, place, says):
    (problem,) = problems(LEAST | change)
    assert problem.path == place
    assert says in problem.message


def test_a_secret_that_is_refused_is_not_repeated():
    (problem,) = problems(LEAST | {"auth_header_name": "A", "auth_header_value": "s3cret\n"})
    assert "s3cret" not in str(problem)


def test_all_problems_of_all_parts_come_at_once():
    found = problems(
        {
            "nmae": "x",
            "tools_schema": [TOOL, TOOL],
            "ledger_schema": {"entities": [{}]},
            "run_timeout_s": -1,
            "config": {"sub_agents": [{"actor_id": "a", "tools": ["refnd"]}]},
        }
    )
    assert sorted(problem.path for problem in found) == [
        "/config/sub_agents/0/tools/0",
        "/endpoint_url",
        "/ledger_schema/entities/0/id_field",
        "/ledger_schema/entities/0/type",
        "/name",
        "/nmae",
        "/run_timeout_s",
        "/tools_schema/1/name",
    ]
    hints = {problem.path: problem.hint for problem in found}
    assert hints["/nmae"] == "did you mean `name`?"
    assert hints["/config/sub_agents/0/tools/0"] == "did you mean `refund`?"


def test_a_tool_with_problems_of_its_own_is_still_a_declared_name():
    tools = [{"name": "refund"}, {"type": "function", "function": {"name": "search", "parameters": 5}}]
    found = problems(
        LEAST | {"tools_schema": tools} | sub_agents({"actor_id": "a", "tools": ["refund", "search"]})
    )
    assert {problem.path for problem in found} == {
        "/tools_schema/0/input_schema",
        "/tools_schema/1/function/parameters",
    }


def test_an_adapter_is_checked_against_what_can_be_read_of_the_ledger_schema():
    body = WHOLE | {"ledger_schema": {"entities": [{"type": "order", "id_field": "id"}, {"type": 5}]}}
    assert all(problem.path.startswith("/ledger_schema/entities/1") for problem in problems(body))
