"""docs/reference/rule-translation.md shows what a model is asked, word for word."""

import json
from pathlib import Path
from typing import Any

from pipelines.core.ledger.ledger import World
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.rule_translation.prompt import instructions
from pipelines.core.simulation.rule_translation.translation import (
    translation_question,
    translation_schema,
    translations,
)
from pipelines.core.simulation.rule_translation.trial import try_translation
from pipelines.core.tools.tools_schema import parse_tools_schema
from support.desk import ORDER_ID, tool
from support.scripted_models import data_of
from support.shown_prompts import blocks, check_page, written

PAGE = Path(__file__).parents[4] / "docs/reference/rule-translation.md"
TEXT = "Precious goods leave the house only with a clerk."
CANCEL = tool("cancel_order", "Cancel an order. The status becomes 'cancelled'.", ORDER_ID, ["order_id"])
STATE = {"order": {"7001": {"status": "pending", "amount": 20}}}
AROUND = build_simulator(parse_tools_schema([CANCEL]), world=World.from_initial_state(STATE), behavior=TEXT)


def test_the_page_shows_the_instructions_and_the_data() -> None:
    question = translation_question(TEXT, [TEXT], AROUND, now="2026-05-01T12:00:00Z")
    check_page(PAGE, [instructions(), written(data_of(question))])


def test_the_answer_of_the_page_is_accepted() -> None:
    answer: Any = json.loads(blocks(PAGE)[2])
    assert CompiledSchema(translation_schema()).accepts(answer)
    assert try_translation(TEXT, translations(answer, [TEXT])[TEXT], AROUND).problem is None
