"""`pipelines endpoints …` over a real server and a real service, read as a person reads at 80 columns."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_results_commands import Look
from typer.testing import CliRunner

from pipelines.cli.endpoints.add import NewEndpoint, request_body
from pipelines.cli.files import Stopped
from pipelines.cli.main import app
from support.desk import AGENT
from support.server_process import Api
from support.tool_service import Service, served

Row = dict[str, Any]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with served() as running:
        yield running


@pytest.fixture
def look(api: Api, tmp_path: Path) -> Look:
    return Look(api, tmp_path)


def written(directory: Path, *names: str, kind: str = "string") -> Path:
    """An OpenAPI document with an operation for each name."""
    parameter = {"name": "id", "in": "query", "schema": {"type": kind}}
    paths = {
        f"/tools/{name}": {
            "get": {
                "operationId": name,
                "summary": f"What {name} does.",
                "parameters": [parameter],
                "responses": {"200": {"description": "OK"}},
            }
        }
        for name in names
    }
    spec = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    file = directory / "openapi.json"
    file.write_text(json.dumps(spec))
    return file


def words(text: str) -> str:
    return " ".join(text.split())


def test_an_endpoint_from_its_document_to_its_end(look: Look, service: Service, tmp_path: Path) -> None:
    written(tmp_path, "get_order", "ping")
    add = ("endpoints", "add", "shop", "--openapi", "openapi.json", "--base-url", service.url)
    said = look(*add)
    assert "Endpoint shop is registered: http_openapi" in said
    assert "2 tools" in said
    assert max(map(len, said.splitlines())) <= 80
    assert "already" in look(*add, code=2)
    assert "shop" in look("endpoints", "list")
    assert [tool["name"] for tool in look.json("endpoints", "tools", "shop")] == ["get_order", "ping"]
    assert "What ping does." in look("endpoints", "tools", "shop")
    shown = look("endpoints", "tools", "shop", "get_order")
    assert '"path": "/tools/get_order"' in shown

    reply = look("endpoints", "call", "shop", "get_order", '{"id": "7"}')
    assert reply.startswith("200 in ")
    assert look.json("endpoints", "call", "shop", "ping")["status"] == 200
    assert "did you mean `ping`" in look("endpoints", "call", "shop", "pings", code=2)
    assert "/id" in look("endpoints", "call", "shop", "ping", '{"id": 7}', code=2)
    assert "JSON object" in look("endpoints", "call", "shop", "ping", "[]", code=2)
    assert "not valid JSON" in look("endpoints", "call", "shop", "ping", "{", code=2)
    assert "did you mean `shop`" in look("endpoints", "call", "shpo", "ping", code=2)

    written(tmp_path, "get_order", "new", kind="integer")
    said = words(look(*add, "--replace"))
    assert "Endpoint shop is changed" in said
    assert "pipelines endpoints discover shop --accept" in said
    assert "2 drifted" in look("endpoints", "list")
    said = look("endpoints", "discover", "shop")
    assert "get_order is changed" in said
    assert "string → integer" in said
    assert "ping is gone" in said
    assert "[gone]" in look("endpoints", "tools", "shop")
    assert "0 drifted" in look("endpoints", "discover", "shop", "--accept")
    assert look.json("endpoints", "discover", "shop")["drift"] == []
    assert "is gone" in look("endpoints", "rm", "shop")
    assert "no endpoint named 'shop'" in look("endpoints", "rm", "shop", code=2)


def test_a_service_that_is_away_is_registered_and_told(look: Look) -> None:
    said = look(
        "endpoints",
        "add",
        "away",
        "--openapi",
        "http://127.0.0.1:9/s.json",
        "--base-url",
        "http://127.0.0.1:9",
    )
    assert "no tools:" in said
    assert "pipelines endpoints discover away" in words(said)
    assert look("endpoints", "tools", "away").strip()
    assert "transport" not in look("endpoints", "discover", "away", code=3)
    assert look.json("endpoints", "list")[0]["discovery_error"]
    look("endpoints", "rm", "away")


def test_an_endpoint_that_an_agent_binds_stays_and_the_agent_is_named(
    look: Look, api: Api, service: Service, tmp_path: Path
) -> None:
    written(tmp_path, "get_order")
    look("endpoints", "add", "bound", "--openapi", "openapi.json", "--base-url", service.url)
    binding = {"endpoint_name": "bound", "tool_name": "get_order"}
    tool = {"name": "get_order", "input_schema": {"type": "object"}, "passthrough_binding": binding}
    tool["default_execution_mode"] = "passthrough"
    agent = api.post("/api/agents", AGENT | {"name": "Bound desk", "tools_schema": [tool]}, 201)
    said = words(look("endpoints", "rm", "bound", code=2))
    assert f"`Bound desk` ({agent['id']})" in said

    definition = AGENT | {"tools_schema": [tool]}
    assert _doctor(look, definition) == [("ok", "1 binding is as accepted: get_order")]
    written(tmp_path, "get_order", kind="integer")
    look("endpoints", "add", "bound", "--openapi", "openapi.json", "--base-url", service.url, "--replace")
    ((level, seen),) = _doctor(look, definition)
    assert level == "problem"
    assert "has changed since it was accepted" in seen
    for changed, told in (
        ({"tool_name": "get_orders"}, "has no tool get_orders"),
        ({"endpoint_name": "bond"}, "no endpoint bond"),
    ):
        other = tool | {"passthrough_binding": binding | changed}
        ((level, seen),) = _doctor(look, AGENT | {"tools_schema": [other]})
        assert level == "problem"
        assert told in seen
    ((level, seen),) = _doctor(look, definition, server="http://127.0.0.1:9")
    assert (level, seen) == ("warning", "not checked without a server: get_order")
    assert _doctor(look, AGENT) == []


def _doctor(look: Look, definition: Row, server: str | None = None) -> list[tuple[str, str]]:
    """What it says about passthrough; the folder has an agent.json and nothing else."""
    (look.directory / "agent.json").write_text(json.dumps(definition))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIPELINES_API_KEY", look.api.key)
        command = ("odyssey", "doctor", "--server", server or look.api.url, "--json")
        said = _output(look, *command)
    findings = json.loads(said)["findings"]
    return [(each["level"], each["seen"]) for each in findings if each["check"] == "passthrough"]


def _output(look: Look, *arguments: str) -> str:
    from typer.testing import CliRunner

    from pipelines.cli.main import app

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(look.directory)
        return CliRunner().invoke(app, [*arguments], env=look.env).stdout


WRONG: dict[str, tuple[Row, str]] = {
    "nothing": ({}, "Give exactly one of"),
    "two": ({"mcp": "http://a", "openapi": "s.yaml"}, "not --openapi and --mcp"),
    "no base": ({"openapi": "s.yaml"}, "needs --base-url"),
    "a base of MCP": ({"mcp": "http://a", "base_url": "http://b"}, "--base-url goes with --openapi"),
    "hosts of MCP": ({"mcp": "http://a", "allow_hosts": ("b",)}, "--allow-host goes with --code"),
    "a bearer of code": ({"code": Path("f.py"), "bearer": "K"}, "by --env"),
    "a bearer of a program": (
        {"mcp_command": "python", "bearer": "K"},
        "a program gets credentials by --env",
    ),
    "variables of a URL": ({"mcp": "http://a", "env": ("A=B",)}, "--env goes with --code or --mcp-command"),
    "hosts of a program": ({"mcp_command": "python", "allow_hosts": ("b",)}, "--allow-host goes with --code"),
    "an open quote": ({"mcp_command": "python 'x"}, "as in a shell"),
    "no words": ({"mcp_command": " "}, "as in a shell"),
    "both ways": ({"mcp": "http://a", "bearer": "K", "api_key_header": "X=K"}, "not both"),
    "no pair": ({"mcp": "http://a", "api_key_header": "X"}, "HEADER=CREDENTIAL"),
    "no file": ({"openapi": "gone.yaml", "base_url": "http://a"}, "gone.yaml"),
}


@pytest.mark.parametrize(("given", "told"), WRONG.values(), ids=WRONG)
def test_what_does_not_go_together_is_told(given: Row, told: str) -> None:
    with pytest.raises(Stopped) as stopped:
        request_body(NewEndpoint(name="x", **given))
    assert told in stopped.value.message


def test_what_is_sent_for_an_mcp_server_that_is_a_program() -> None:
    command = "/env/bin/python -m 'my server'"
    assert request_body(NewEndpoint(name="time", mcp_command=command, env=("TOKEN=TIME_KEY",))) == {
        "name": "time",
        "type": "mcp_server",
        "config": {
            "command": "/env/bin/python",
            "args": ["-m", "my server"],
            "env_vars": {"TOKEN": "TIME_KEY"},
        },
        "auth": None,
    }


@pytest.mark.parametrize(("hosts", "is_told"), [((), True), (("--allow-host", "api.example.com"), False)])
def test_functions_that_reach_nothing_outside_are_told_of(
    api: Api, tmp_path: Path, hosts: tuple[str, ...], is_told: bool
) -> None:
    source = tmp_path / "tools.py"
    source.write_text("def ping() -> int:\n    return 1\n")
    arguments = ["endpoints", "add", f"tools-{len(hosts)}", "--code", str(source), *hosts]
    env = {"PIPELINES_URL": api.url, "PIPELINES_API_KEY": api.key}
    done = CliRunner().invoke(app, arguments, env=env)
    assert done.exit_code == 0, done.output
    told = words(done.stderr)
    assert ("no host outside the sandbox" in told) is is_told
    assert ("--allow-host api.example.com" in told) is is_told


def test_what_is_sent_for_code(tmp_path: Path) -> None:
    source, requirements = tmp_path / "tools.py", tmp_path / "requirements.txt"
    source.write_text("def ping(): return 1\n")
    requirements.write_text("# what it needs\nhttpx>=0.27\n\n")
    body = request_body(
        NewEndpoint(
            name="tools",
            code=source,
            functions=("ping",),
            requirements=requirements,
            allow_hosts=("api.example.com",),
            env=("KEY=MY_KEY",),
        )
    )
    assert body == {
        "name": "tools",
        "type": "code",
        "config": {
            "source": "def ping(): return 1\n",
            "functions": ["ping"],
            "requirements": ["httpx>=0.27"],
            "env_vars": {"KEY": "MY_KEY"},
            "allow_hosts": ["api.example.com"],
        },
        "auth": None,
    }
