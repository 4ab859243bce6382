"""Hints on tools by other hands: with `readOnlyHint` no plan writes, whatever the tool is called; with
`readOnlyHint: false` none is a sure read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tool_scores import DECLARED, ELEVENTH, LIKELY, TENTH, writes

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import ToolPlan, build_simulator
from pipelines.core.text.json_text import loads
from pipelines.core.tools.tools_schema import parse_tools_schema

FOLDERS = (TENTH, ELEVENTH)


def plans_with(folder: Path, **hints: bool) -> Iterator[tuple[dict[str, Any], ToolPlan]]:
    for path in sorted(folder.glob("*.json")):
        body: Any = loads(path.read_bytes())
        declared = [
            {key: one[key] for key in DECLARED if key in one} | {"annotations": hints}
            for one in body["tools"]
        ]
        world = World.from_initial_state(body["world"])
        simulator = build_simulator(parse_tools_schema(declared), world=world)
        yield from ((one, simulator.plans[one["name"]]) for one in body["tools"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_tool_that_is_said_to_read_writes(folder: Path) -> None:
    found = list(plans_with(folder, readOnlyHint=True))
    assert len(found) > 100
    assert [one["name"] for one, plan in found if plan.plan is None or writes(plan)] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_tool_that_is_said_to_change_something_is_a_sure_read(folder: Path) -> None:
    """Reads by every word of theirs: what they would change is not known, or guessed."""
    found = [each for each in plans_with(folder, readOnlyHint=False) if each[0]["side"] == "read"]
    sure = [one["name"] for one, plan in found if plan.confidence >= LIKELY and not writes(plan)]
    assert (len(found) > 40, sure) == (True, [])
