"""The pages about plans: every example runs, every function and verb is told, as the code has them."""

import re
from pathlib import Path

import pytest

from pipelines.core.ledger.ledger import Add, Ledger, Update, World
from pipelines.core.simulation.plan_text import parse_plans_text, read_plans_text
from pipelines.core.simulation.plan_verbs import VERBS
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.functions import SECTIONS
from pipelines.core.text.json_text import Json, JsonObject

DOCS = Path(__file__).parents[3] / "docs"
REFERENCE = (DOCS / "reference" / "plans.md").read_text()
HOWTO = (DOCS / "howto" / "plans.md").read_text()


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```yaml{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


STATE = read_plans_text("".join(blocks(HOWTO, " state"))).bodies
PLANS = parse_plans_text("".join(blocks(HOWTO, " plan")))
CALLS = [read_plans_text(block).bodies for block in blocks(HOWTO, " call")]


def changes(ledger_updates: object) -> JsonObject:
    found: JsonObject = {}
    for update in ledger_updates:  # type: ignore[attr-defined]
        assert isinstance(update, (Add, Update))
        changed: Json = update.attrs if isinstance(update, Add) else update.set
        found[f"{update.entity_type} {update.id}"] = changed
    return found


@pytest.mark.parametrize("example", CALLS, ids=lambda example: f"{next(iter(example))} {example['status']}")
def test_every_call_on_the_page_comes_out_as_it_says(example):
    tool, arguments = next(iter(example.items()))
    moment = Moment(seed="docs", call_number=1, now="2026-11-15T10:30:00Z")
    reply = run(PLANS[tool], arguments, Ledger(World.from_initial_state(STATE)), moment)
    assert (reply.status, reply.response) == (example["status"], example["response"])
    assert changes(reply.updates) == example.get("changes", {})


def test_the_page_shows_a_success_and_a_failure_of_each_plan():
    shown = {(next(iter(call)), call["status"] < 400) for call in CALLS}
    assert shown == {(tool, is_success) for tool in PLANS for is_success in (True, False)}


def test_every_function_is_in_the_reference_as_the_table_has_it():
    for title, functions in SECTIONS.items():
        rows = [f"| `{one.signature}` | {one.help} | `{one.example}` |" for one in functions]
        table = "\n".join(["| function | what it gives | example |", "|---|---|---|", *rows])
        assert f"### {title}\n\n{table}\n" in REFERENCE


def test_every_verb_is_in_the_reference():
    assert [verb for verb in VERBS if f"`{verb}: " not in REFERENCE and f"`{verb}`" not in REFERENCE] == []


def test_every_code_of_a_stopped_plan_is_in_the_reference():
    source = DOCS.parent / "src" / "pipelines" / "core" / "simulation"
    codes = {
        code for path in source.rglob("*.py") for code in re.findall(r'"(plan_[a-z_]+)"', path.read_text())
    }
    told = set(re.findall(r"^\| `(plan_[a-z_]+)` \|", REFERENCE, re.MULTILINE))
    assert told == codes


@pytest.mark.parametrize("block", blocks(REFERENCE, ""))
def test_the_plans_in_the_reference_are_plans(block):
    if block.startswith("-"):
        found = [f"- find: {{as: {name}, in: order, id: args.id}}" for name in ("order", "recent_order")]
        block = "plan:\n" + "".join(f"  {line}\n" for line in [*found, *block.splitlines()])
    assert parse_plans_text(block)
