"""The pages about the SDK: made from the docstrings, and their examples run."""

import doctest
import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from scripted_proxy import DONE, scripted
from test_sdk_dispatch import asgi_server

from pipelines import odyssey
from support.repository import DOCS

MODULES = sorted((DOCS.parent / "src" / "pipelines" / "odyssey").glob("*.py"))


def page_maker() -> Any:
    spec = importlib.util.spec_from_file_location("sdk_page", DOCS / "sdk_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_docstrings_say() -> None:
    written = (DOCS / "reference" / "sdk.md").read_text()
    assert written == page_maker().page(), "run: python docs/sdk_page.py > docs/reference/sdk.md"


def test_every_public_name_is_in_the_reference() -> None:
    told = {name for _, module, names in page_maker().SECTIONS if module is odyssey for name in names}
    assert told == set(odyssey.__all__)


def test_every_public_name_is_described() -> None:
    assert [name for name in odyssey.__all__ if not getattr(odyssey, name).__doc__] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_the_examples_in_docstrings_hold(path: Path) -> None:
    name = "pipelines.odyssey" if path.stem == "__init__" else f"pipelines.odyssey.{path.stem}"
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / "howto" / page).read_text(), re.DOTALL)


def test_the_ten_lines_port_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TOKEN", "secret")
    lines: dict[str, Any] = {}
    exec(blocks("port-an-agent.md", "python")[0], lines)
    expected = [
        line.removeprefix("# ") for line in blocks("port-an-agent.md", "sh")[1].split("\n") if "# " in line
    ]
    auth = {"Authorization": "Bearer secret"}
    with asgi_server(lines["app"]) as url, scripted(DONE) as proxy:

        def post(body: Any, **headers: str) -> str:
            return httpx2.post(f"{url}/dispatch", json=body, headers=headers).text

        answers = [post({"ping": True}), post({"ping": True}, **auth), post({}, **auth)]
        for answer, told in zip(answers, expected, strict=True):
            assert answer.startswith(told.split("…")[0])
        envelope = proxy.envelope
        answer = post(envelope.body(), **envelope.headers() | auth)
    assert answer == '{"final_response": "The order is shipped."}'


def test_the_ten_lines_of_the_readme_port_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As written; only the loop they hand the tools to is ours."""
    monkeypatch.setenv("AGENT_TOKEN", "secret")
    readme = (DOCS.parent / "README.md").read_text()
    (written,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len([line for line in written.splitlines() if line.strip()]) <= 10

    def run_my_agent(asked: str, tools: list[Any]) -> str:
        (get_order,) = tools
        return f"{asked} It is {get_order('4521')['status']}."

    lines: dict[str, Any] = {"run_my_agent": run_my_agent}
    exec(written, lines)
    with asgi_server(lines["app"]) as url, scripted(DONE) as proxy:
        envelope = proxy.envelope
        headers = envelope.headers() | {"Authorization": "Bearer secret"}
        answer = httpx2.post(f"{url}/dispatch", json=envelope.body(), headers=headers)
    assert answer.json() == {"final_response": "Refund order 4521. It is shipped."}
    (asked,) = proxy.asked
    assert asked.path.endswith("/tools/get_order")
    assert asked.body == {"order_id": "4521"}
    assert asked.headers["authorization"] == f"Bearer {envelope.run_token}"


def test_the_registration_in_the_howto_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from pipelines.core.agents.agent_definition import parse_agent_definition

    sent: list[Any] = []
    monkeypatch.setenv("AGENT_TOKEN", "secret")
    monkeypatch.setattr(
        "pipelines.odyssey.agents.create_or_update_http_agent", lambda **fields: sent.append(fields)
    )
    exec(blocks("port-an-agent.md", "python")[1], {})
    assert parse_agent_definition(sent[0]).tools[0].name == "get_order"


def test_the_unit_tests_of_the_howto_pass() -> None:
    lines: dict[str, Any] = {}
    exec(blocks("unit-tests.md", "python")[0], lines)
    tests = [name for name in lines if name.startswith("test_")]
    assert len(tests) == 2
    for name in tests:
        lines[name]()
