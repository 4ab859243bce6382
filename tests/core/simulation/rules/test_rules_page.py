"""The examples of docs/reference/rules.md do what the page says, and every one is shown as a sentence."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.rules.forms import read_rules
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.problems import Problem
from pipelines.core.text.yaml_text import read_yaml
from pipelines.core.tools.tools_schema import parse_tools_schema

PAGE = (Path(__file__).parents[4] / "docs/reference/rules.md").read_text()


def blocks(tag: str) -> list[str]:
    return re.findall(rf"^```yaml {tag}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def parsed(text: str) -> Any:
    return read_yaml(text, what="example", most_bytes=20_000).value


def tools() -> list[Any]:
    made = []
    for head, steps in parsed(blocks("plans")[0]).items():
        name, arguments = re.fullmatch(r"(\w+)\((.*)\)", head).groups()  # type: ignore[union-attr]
        names = [one.strip() for one in arguments.split(",") if one.strip()]
        schema = {
            "type": "object",
            "properties": {one: {"type": "string"} for one in names},
            "required": names,
        }
        made.append({"name": name, "description": "", "input_schema": schema, "simulation": steps})
    return made


TOOLS, WORLD = parse_tools_schema(tools()), World.from_initial_state(parsed(blocks("world")[0]))


def simulator(rules: Any) -> PlannedSimulator:
    problems: list[Problem] = []
    read = read_rules(rules, "", problems)
    assert not problems
    return build_simulator(TOOLS, world=WORLD, rules=read.rules)


def call(under: PlannedSimulator, said: str) -> SimulatedReply:
    name, _, arguments = said.partition(" ")
    return under.answer(name, parsed(arguments), Ledger(WORLD), Moment("t", 1, "2026-05-01T12:00:00Z"))


def changes(reply: SimulatedReply) -> Any:
    """By record, the fields that differ."""
    ledger = Ledger(WORLD)
    ledger.apply(reply.updates)
    found: dict[str, Any] = {}
    for kind, records in WORLD.entities.items():
        for id, before in records.items():
            after = ledger.get(kind, id)
            if after != before:
                keys = [*before, *(after or {})]
                found[f"{kind} {id}"] = after and {
                    key: after.get(key) for key in keys if after.get(key) != before.get(key)
                }
    return found


def examples() -> Iterator[Any]:
    for block in blocks("rules"):
        rules, *calls = re.split(r"^(?=call: )", block, flags=re.MULTILINE)
        for one in calls:
            said = re.sub(r"^call: (.*)$", lambda found: f"call: '{found[1]}'", one, count=1, flags=re.M)
            yield parsed(rules), parsed(said)


EXAMPLES = [*examples()]


@pytest.mark.parametrize(("rules", "expected"), EXAMPLES, ids=[one["call"] for _, one in EXAMPLES])
def test_an_example_does_what_the_page_says(rules: Any, expected: Any) -> None:
    under = simulator(rules)
    assert under.not_applied == {}
    reply: Any = call(under, expected["call"])
    assert reply.status == expected["status"], reply.response
    if "error" in expected:
        assert reply.response["error"]["code"] == expected["error"]
    if "changes" in expected:
        assert changes(reply) == expected["changes"]
    if "ids" in expected:
        ids = {record["created_at"]: id for id, record in WORLD.entities["ticket"].items()}
        assert [ids[record["created_at"]] for record in reply.response] == expected["ids"]


@pytest.mark.parametrize("rules", [rules for rules, _ in EXAMPLES])
def test_an_example_makes_the_difference(rules: Any) -> None:
    """Without its last rule the calls come out otherwise."""
    said = [expected for each, expected in EXAMPLES if each is rules or each == rules]
    with_all, without = simulator(rules), simulator(rules[:-1])
    pairs = [(call(with_all, one["call"]), call(without, one["call"])) for one in said]
    assert any((a.status, a.response, a.updates) != (b.status, b.response, b.updates) for a, b in pairs)


@pytest.mark.parametrize("rules", [rules for rules, _ in EXAMPLES])
def test_every_rule_of_the_page_is_shown_as_a_sentence(rules: Any) -> None:
    shown = [rule.sentence for rule in simulator(rules).rule_book.rules]
    assert not any("{" in one for one in shown), shown
