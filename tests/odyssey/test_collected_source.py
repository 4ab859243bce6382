"""Shipping functions: which files come along, what is warned about, and what cannot be shipped and why."""

import functools
import importlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripted_proxy import Reply, scripted

from pipelines.odyssey import tool_endpoints
from pipelines.odyssey.collected_source import CannotShip, collect

#: The seed's example: a package with network tools, and what they use.
PROJECT = {
    "research_agent/__init__.py": "",
    "research_agent/tools_network.py": """
from __future__ import annotations
import functools
import httpx
import json as j
from typing import TYPE_CHECKING
from . import settings
from .text.clean import strip
import shared
if TYPE_CHECKING:
    import pandas
try:
    import lxml
except ImportError:
    lxml = None
BASE = settings.BASE
def logged(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)
    return call
def renamed(function):
    def call(*args):
        return function(*args)
    return call
@logged
def search_wikipedia(query: str) -> list[dict]:
    return [{"title": strip(query), "base": BASE}]
async def fetch_url(url: str) -> str:
    import trafilatura
    return url
@renamed
def hidden(query): return query
square = lambda x: x * x
def outer():
    local = 1
    def inner():
        return local
    return inner
class Client:
    def get(self): return 1
    @staticmethod
    def plain(): return 1
    @classmethod
    def made(cls): return 1
    def __call__(self): return 1
""",
    "research_agent/settings.py": "BASE = 'https://example.com'\n",
    "research_agent/text/clean.py": "import re\nfrom .. import settings\ndef strip(t): return t.strip()\n",
    "research_agent/unused.py": "import secret_things\n",
    "shared/__init__.py": "from .things import THING\n",
    "shared/things.py": "THING = 1\n",
    "other/tools.py": "def search_wikipedia(): ...\n",
    "registers.py": "from pipelines.odyssey import tool_endpoints\ndef f(): ...\n"
    "made = tool_endpoints.create_code(name='x', functions=[f]) if False else None\n",
    "guarded.py": "from pipelines.odyssey import tool_endpoints\ndef f(): ...\n"
    "if __name__ == '__main__':\n    tool_endpoints.create_code(name='x', functions=[f])\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    for absent in ("httpx", "trafilatura"):  # only their names count
        monkeypatch.setitem(sys.modules, absent, ModuleType(absent))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {path.partition("/")[0].removesuffix(".py") for path in PROJECT}:
            del sys.modules[name]


Import = Callable[[str], ModuleType]


def test_a_function_comes_with_the_modules_of_its_project_that_it_needs(project: Import) -> None:
    tools = project("research_agent.tools_network")
    collected = collect([tools.search_wikipedia, tools.fetch_url], ["httpx>=0.27", "trafilatura"])
    assert sorted(collected.files) == [
        "research_agent/__init__.py",
        "research_agent/settings.py",
        "research_agent/text/clean.py",
        "research_agent/tools_network.py",
        "shared/__init__.py",
        "shared/things.py",
    ]
    assert collected.files["research_agent/tools_network.py"] == PROJECT["research_agent/tools_network.py"]
    assert collected.functions == [
        "research_agent/tools_network.py:search_wikipedia",
        "research_agent/tools_network.py:fetch_url",
    ]
    assert collected.warnings == []


def test_what_is_shipped_can_be_imported_elsewhere(project: Import, tmp_path_factory: Any) -> None:
    tools = project("research_agent.tools_network")
    files = collect([tools.search_wikipedia]).files
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name, text in {**files, "httpx.py": ""}.items():
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text(text)
    code = "from research_agent import tools_network as t; print(t.search_wikipedia(' a '))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=elsewhere, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[{'title': 'a', 'base': 'https://example.com'}]\n", done.stderr


def test_packages_that_no_requirement_names_are_warned_about(project: Import) -> None:
    tools = project("research_agent.tools_network")
    told = collect([tools.fetch_url], ["HTTPX[http2]>=0.27"]).warnings
    assert len(told) == 1, "optional imports, those for type checkers and the standard library are no matter"
    assert told[0].startswith(
        "research_agent/tools_network.py imports trafilatura, which is neither shipped nor in requirements"
    )


def test_everything_that_cannot_be_shipped_is_named_with_what_to_do(project: Import) -> None:
    tools = project("research_agent.tools_network")
    cases: Mapping[str, Any] = {
        "<lambda> is a lambda: write it with def": tools.square,
        "outer.<locals>.inner is defined inside another function and uses its local: write it": tools.outer(),
        "Client.get is a method bound to a Client: write it with def": tools.Client().get,
        "Client.made is a method bound to Client: write it with def": tools.Client.made,
        "Client.plain is a function of a class: write it with def": tools.Client.plain,
        "Client is a class: write a function of your own": tools.Client,
        "hidden was made by a decorator, which calls it renamed.<locals>.call: use func": tools.hidden,
        "len is not a function written in Python: write a function of your own": len,
        "sqrt is not a function written in Python": math.sqrt,
        "dumps is part of json, which is installed: write a function of your own": json.dumps,
        "is a partial: write it with def": functools.partial(tools.fetch_url, "x"),
        "3 cannot be called: give the functions themselves": 3,
        "is not a function written in Python": tools.Client(),
    }
    with pytest.raises(CannotShip) as refused:
        collect([*cases.values(), tools.fetch_url])
    assert len(refused.value.problems) == len(cases)
    for problem, said in zip(refused.value.problems, cases, strict=True):
        assert said in problem


def test_a_function_of_a_prompt_has_no_file_to_ship() -> None:
    space: dict[str, Any] = {"__name__": "typed_at_a_prompt"}
    exec("def typed(): return 1", space)
    with pytest.raises(CannotShip, match="typed was not defined in a file"):
        collect([space["typed"]])


def test_two_functions_of_one_name_are_refused(project: Import) -> None:
    tools, other = project("research_agent.tools_network"), project("other.tools")
    with pytest.raises(CannotShip, match="search_wikipedia: two functions have this name"):
        collect([tools.search_wikipedia, other.search_wikipedia])


def test_a_file_that_registers_itself_when_imported_is_refused_and_a_guarded_one_is_not(
    project: Import,
) -> None:
    sys.modules["registers"] = module = ModuleType("registers")
    module.__file__ = str(Path(project("guarded").__file__ or "").with_name("registers.py"))
    exec(compile("def f(): ...", module.__file__, "exec"), module.__dict__)
    with pytest.raises(CannotShip, match=r"registers\.py calls create_code when it is imported"):
        collect([module.f])
    assert list(collect([project("guarded").f]).files) == ["guarded.py"]


def test_a_module_that_is_run_is_shipped_where_it_would_be_imported_from(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "texts.py").write_text("A = 1\n")
    (tmp_path / "pack" / "tools.py").write_text(
        "from .texts import A\ndef f(): return A\nif __name__ == '__main__':\n"
        "    from pipelines.odyssey.collected_source import collect\n"
        "    print(sorted(collect([f]).files), collect([f]).functions)\n"
    )
    command = [sys.executable, "-W", "ignore", "-m", "pack.tools"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == ("['pack/__init__.py', 'pack/texts.py', 'pack/tools.py'] ['pack/tools.py:f']\n"), (
        done.stderr
    )


def test_no_functions_are_refused() -> None:
    with pytest.raises(CannotShip, match="no functions were given"):
        collect([])


def test_the_seeds_example_as_it_is_printed(project: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    tools_network = project("research_agent.tools_network")
    monkeypatch.setenv("PIPELINES_API_KEY", "k")
    with scripted(Reply(201, {"id": "x"})) as server, pytest.warns(UserWarning, match="no host"):
        endpoint = tool_endpoints.create_code(
            name="research-tools",
            functions=[tools_network.search_wikipedia, tools_network.fetch_url],
            requirements=["httpx>=0.27", "trafilatura"],
            org_id=42,
            api_key=os.environ["PIPELINES_API_KEY"],
            base_url=server.url,
        )
    assert endpoint == {"id": "x"}
    (asked,) = server.asked
    assert asked.path == "/api/tool-endpoints"
    assert {name: asked.body[name] for name in asked.body if name != "files"} == {
        "name": "research-tools",
        "type": "code",
        "functions": [
            "research_agent/tools_network.py:search_wikipedia",
            "research_agent/tools_network.py:fetch_url",
        ],
        "requirements": ["httpx>=0.27", "trafilatura"],
        "env_vars": [],
        "allow_hosts": [],
        "org_id": 42,
    }
    assert len(asked.body["files"]) == 6


def test_a_missing_requirement_is_a_warning_of_python(project: Import) -> None:
    tools = project("research_agent.tools_network")
    with scripted(Reply(201, {"id": "x"})) as server, pytest.warns(UserWarning, match="imports httpx"):
        tool_endpoints.create_code(
            name="t",
            functions=[tools.fetch_url],
            requirements=["trafilatura"],
            allow_hosts=["*.wikipedia.org"],
            base_url=server.url,
            api_key="k",
        )
