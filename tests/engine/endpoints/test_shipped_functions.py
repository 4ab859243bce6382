"""The whole way over a real server: functions shipped by the SDK, found, called by hand and by shell."""

import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pipelines.odyssey import tool_endpoints
from pipelines.odyssey.errors import ApiFailed
from support.repository import DOCS
from support.server_process import Api, House, fresh_house_in

PROJECT = {
    "wiki_agent/__init__.py": "",
    "wiki_agent/words.py": "def tidy(text):\n    return ' '.join(text.split())\n",
    "wiki_agent/tools_network.py": '''
import os

from .words import tidy


def search_wikipedia(query: str, limit: int = 3) -> list[dict]:
    """Search Wikipedia.

    Args:
        query: what to look for
    """
    print("searching with", os.environ["SEARCH_KEY"])
    return [{"title": tidy(query), "rank": rank} for rank in range(limit)]


async def fetch_url(url: str) -> str:
    """Fetch a page."""
    raise RuntimeError(f"no page at {url}")
''',
}
HOWTO = DOCS / "howto" / "code-endpoints.md"
SECRET = "search-key-90ee21b7"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with fresh_house_in(tmp_path_factory.mktemp("shipped") / "house") as house:
        yield house


@pytest.fixture(scope="module")
def api(house: House) -> Api:
    opened = house.open()
    found = opened.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    opened.post("/api/credentials", {"name": "SEARCH_KEY", "value": SECRET})
    return opened


@pytest.fixture
def tools_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("wiki_agent.tools_network")
    for name in [name for name in sys.modules if name.partition(".")[0] == "wiki_agent"]:
        del sys.modules[name]


def test_functions_are_shipped_found_and_called(api: Api, tools_network: ModuleType, house: House) -> None:
    made = tool_endpoints.create_code(
        name="research-tools",
        functions=[tools_network.search_wikipedia, tools_network.fetch_url],
        env_vars=["SEARCH_KEY"],
        allow_hosts=["*.wikipedia.org"],
        org_id=1,
        api_key=api.key,
        base_url=api.url,
    )
    assert made.get("discovery_error") is None, made
    found = {tool["name"]: tool for tool in api.get(f"/api/tool-endpoints/{made['id']}/tools")["items"]}
    assert sorted(found) == ["fetch_url", "search_wikipedia"]
    assert found["search_wikipedia"]["input_schema"]["required"] == ["query"]
    assert found["fetch_url"]["output_schema"] == {"type": "string"}

    called = tool_endpoints.call(
        "research-tools",
        "search_wikipedia",
        {"query": " a  b", "limit": 1},
        api_key=api.key,
        server_url=api.url,
    )
    assert called["response"] == [{"title": "a b", "rank": 0}]
    with pytest.raises(ApiFailed, match="fetch_url raised RuntimeError: no page at x") as failed:
        tool_endpoints.call("research-tools", "fetch_url", {"url": "x"}, api_key=api.key, server_url=api.url)
    assert failed.value.code == "transport_error"

    again = tool_endpoints.discover("research-tools", api_key=api.key, server_url=api.url)
    assert again["drift"] == []
    assert SECRET not in json.dumps([made, found, called, again])


def test_the_commands_of_the_howto_do_what_it_says(api: Api, tmp_path: Path) -> None:
    page = HOWTO.read_text()
    (source,) = re.findall(r"```python\n(def get_price.*?)```", page, re.DOTALL)
    (tmp_path / "prices.py").write_text(source)
    commands = [
        shlex.split(line) for line in page.splitlines() if line.startswith("    pipelines endpoints ")
    ]
    assert [command[2] for command in commands] == ["add", "tools", "call"]
    printed = []
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *command, "--url", api.url, "--api-key", api.key],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        printed.append(done.stdout)
    assert "1 tool" in printed[0]
    assert "As on the label" in printed[1]
    assert '"price": 4' in printed[2]


def test_everything_wrong_is_told_at_once(api: Api) -> None:
    config = {"source": "x", "functions": ["a b"], "env_vars": ["PATH"], "allow_hosts": ["10.0.0.1"]}
    config["requirements"] = ["-r other.txt"]
    told = api.client.post("/api/tool-endpoints", json={"name": "wrong", "type": "code", "config": config})
    problems = {problem["path"] for problem in told.json()["error"]["details"]}
    assert len(problems) == 4, told.text
    assert problems >= {"/config/functions/0", "/config/allow_hosts/0"}


WRONG = {
    "a function that is not in the files": (
        {"files": {"a.py": ""}, "functions": ["b.py:f"]},
        "is in `b.py`, which is not among the files",
    ),
    "an address": ({"source": "def f(): ...", "allow_hosts": ["10.0.0.1"]}, "is an IP address"),
    "a variable of the system": ({"source": "def f(): ...", "env_vars": ["PATH"]}, "is set by the platform"),
}


@pytest.mark.parametrize(("config", "said"), WRONG.values(), ids=WRONG)
def test_a_config_that_cannot_be_used_is_refused_at_once(
    api: Api, config: dict[str, object], said: str
) -> None:
    told = api.client.post("/api/tool-endpoints", json={"name": "x", "type": "code", "config": config})
    assert told.status_code == 422
    assert said in told.text
