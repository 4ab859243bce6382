"""Agents and seeds are records inside: their stored JSON is read in core, and nowhere else."""

import ast
from collections.abc import Iterator

import pytest

from support.repository import PACKAGE

RECORDS = {"definition", "seed"}
#: Reading as a dict is read. Attributes of a record have other names.
DICT_METHODS = {"get", "items", "keys", "pop", "values"}
#: What turns stored JSON into records, a part at a time; the whole is read by `from_stored` of its record.
PARTS = {"tools_from_stored", "parse_ledger_schema", "parse_failure_rules", "known_fields"}


def free_json(source: str) -> Iterator[str]:
    """Where a module takes an agent's definition or a seed for a dict, or decodes a part of one."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Subscript(value=ast.Attribute(attr=name) | ast.Name(id=name)) if name in RECORDS:
                yield f"line {node.lineno}: {name}[…]"
            case ast.Attribute(value=ast.Attribute(attr=name) | ast.Name(id=name), attr=method) if (
                name in RECORDS and method in DICT_METHODS
            ):
                yield f"line {node.lineno}: {name}.{method}"
            case ast.Name(id=name) | ast.alias(name=name) if name in PARTS:
                yield f"line {node.lineno}: {name}"


@pytest.mark.parametrize("room", ["engine", "server"])
def test_no_free_json_of_agents_or_seeds_is_read(room: str) -> None:
    found = [
        f"{path.relative_to(PACKAGE)} {place}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for place in free_json(path.read_text())
    ]
    assert found == []


def test_unknown_fields_are_refused_in_one_place() -> None:
    """By `core.authored.Fields`, which also says what may have been meant."""
    places = [path.name for path in PACKAGE.rglob("*.py") if '"unknown field' in path.read_text()]
    assert places == ["authored.py"]


FREE = {
    "a subscript": "int(str(agent.definition['run_timeout_s']))",
    "a get": "run.seed.get('turn_mode')",
    "a name of its own": "definition = agent.definition\nname = definition.get('name')",
    "all of it": "{**dict(before.definition.items())}",
    "a part decoded": "from pipelines.core.tools.tools_schema import Tool, tools_from_stored",
    "a part decoded by its module": "rules = parse_failure_rules(rules, tools=None)",
}


@pytest.mark.parametrize("source", FREE.values(), ids=FREE)
def test_free_json_is_seen(source: str) -> None:
    assert list(free_json(source)) != []


def test_a_record_is_not_taken_for_free_json() -> None:
    assert list(free_json("agent.definition.tools[0].name, run.seed.max_turns, definition.config")) == []
