"""docs/reference/simulator-question.md shows what a model that answers a tool call is sent, word for word."""

import json
from pathlib import Path
from typing import Any

from asked_model import Desk, checked

from pipelines.core.simulation.by_model.prompt import INSTRUCTIONS
from support.desk import ORDER_ID, tool
from support.scripted_models import data_of
from support.shown_prompts import blocks, check_page, written

PAGE = Path(__file__).parents[3] / "docs/reference/simulator-question.md"
SETTLE = tool("settle", "Settle the order.", ORDER_ID, ["order_id"])
STATE: Any = {"order": {"7001": {"status": "pending", "amount": 20}}}
TEXT = "Precious goods are settled by a clerk."


def test_the_page_shows_the_instructions_and_the_data() -> None:
    asked = Desk([SETTLE], STATE, TEXT).question("settle", {"order_id": "7001"})
    check_page(PAGE, [INSTRUCTIONS, written(data_of(asked.question))])


def test_the_answer_of_the_page_is_accepted() -> None:
    asked = Desk([SETTLE], STATE, TEXT).question("settle", {"order_id": "7001"})
    assert checked(asked, json.loads(blocks(PAGE)[2])) == []
