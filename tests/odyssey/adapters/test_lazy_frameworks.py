"""Frameworks are loaded by the adapter that needs them, and missing ones are named with what to install."""

import subprocess
import sys

import pytest

from pipelines.odyssey.adapters.adapter_run import actor_label, as_tools_schema, subagent_actor
from pipelines.wire.actor import is_actor_id
from support.repository import ROOT

PACKAGES = ("agents", "anthropic", "langchain", "langchain_core", "langgraph", "strands")


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_sdk_loads_no_framework():
    done = python(
        "import sys, pipelines.odyssey, pipelines.odyssey.adapters, pipelines.odyssey.adapters.adapter_run;"
        f"print([name for name in {PACKAGES} if name in sys.modules])"
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    ("adapter", "package", "requirement"),
    [
        ("openai_agents", "agents", "openai-agents>=0.24,<0.25"),
        ("anthropic", "anthropic", "anthropic>=2.8,<3"),
        ("langchain", "langchain", "langchain>=1.4,<2"),
        ("strands", "strands", "strands-agents>=1.62,<2"),
    ],
)
def test_a_missing_framework_is_named_with_what_to_install(adapter: str, package: str, requirement: str):
    done = python(f"import sys; sys.modules[{package!r}] = None; import pipelines.odyssey.adapters.{adapter}")
    assert done.returncode == 1
    assert f"pip install '{requirement}'" in done.stderr.splitlines()[-1]


def test_requirements_are_those_of_the_extra():
    import tomllib

    from pipelines.odyssey.adapters import anthropic, langchain, openai_agents, strands

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = project["project"]["optional-dependencies"]["adapters"]
    assert declared == [each.REQUIREMENT for each in (anthropic, langchain, openai_agents, strands)]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Refund desk", "Refund_desk"),
        ("refunds", "refunds"),
        ("é/ü", "agent"),
        ("", "agent"),
        (None, "agent"),
        ("x" * 100, "x" * 64),
    ],
)
def test_any_name_is_a_label_of_an_actor(name: str | None, label: str):
    assert actor_label(name) == label
    assert is_actor_id(label)


def test_a_path_stays_an_actor_id_however_deep():
    path = "entry"
    for number in range(20):
        path = subagent_actor(path, f"agent {number}")
        assert is_actor_id(path)
    assert path.startswith("entry/")
    assert path.endswith("/agent_19")


def test_tools_of_one_name_are_one_tool_if_they_agree_and_named_if_not():
    order = {"name": "get_order", "description": "d", "input_schema": {"type": "object"}}
    assert as_tools_schema([order, order | {"cache_control": {}}]) == [order]
    other = {"input_schema": {"type": "object", "required": ["id"]}}
    named = [order | {"name": name} for name in ("a", "b")]
    clashing = [*named, *(each | other for each in named)]
    with pytest.raises(ValueError, match="a, b"):
        as_tools_schema(clashing)
