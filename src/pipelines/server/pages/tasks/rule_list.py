"""Typed rules for a page: name, form, tools, and the rule as YAML."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.yaml_text import as_yaml

MOST_RULES = 100  # on a page; all of them are in the download
LONGEST_YAML = 2_000  # characters of one


class RuleRow(NamedTuple):
    name: str
    form: str
    tools: list[str]
    yaml: str
    is_agents: bool  # inherited, and
    is_off: bool  # switched off by the task


class RuleList(NamedTuple):
    rows: list[RuleRow]
    left: int  # how many more there are


def rule_list(agent: Sequence[JsonObject], task: Sequence[JsonObject] = ()) -> RuleList:
    """The inherited rules of a task and its own, in order; or the rules of an agent."""
    off = {str(entry["off"]) for entry in task if "off" in entry}
    own = [entry for entry in task if "off" not in entry]
    entries = [*((entry, True) for entry in agent), *((entry, False) for entry in own)]
    rows = [_row(entry, is_agents, off) for entry, is_agents in entries[:MOST_RULES]]
    return RuleList(rows, max(0, len(entries) - MOST_RULES))


def _row(entry: JsonObject, is_agents: bool, off: Collection[str]) -> RuleRow:
    name = _text(entry.get("name"))
    tools = entry.get("tools")
    return RuleRow(
        name=name,
        form=_text(entry.get("form")),
        tools=[str(tool) for tool in (tools if isinstance(tools, list) else [tools])],
        yaml=as_yaml(entry)[:LONGEST_YAML],
        is_agents=is_agents,
        is_off=is_agents and name in off,
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
