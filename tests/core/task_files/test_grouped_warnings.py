"""Warnings of an upload: what several rows share is told once, by sentence and not by row."""

from dataclasses import replace

from pipelines.core.task_files.upload_warnings import MOST_ROWS, grouped, upload_warnings
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import parse_tools_schema

TOOLS = parse_tools_schema(
    [
        {
            "name": "cancel_order",
            "description": "Cancel an order.",
            "input_schema": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}},
                "required": ["order_id"],
            },
        }
    ]
)
ODD, STRANGE = "Suspicious orders stay.", "Precious goods leave with a clerk."


def seed(behavior: str, amount: int) -> Seed:
    """Each with a world of its own values, and an oracle, so that only the sentence is told of."""
    told = {
        "user_instruction": "Cancel order 1.",
        "behavior_instructions": behavior,
        "initial_state": {"order": {"1": {"status": "open", "amount": amount}}},
        "expected_state": {"order.1.status": "cancelled"},
    }
    return Seed.from_stored(told)


def test_a_sentence_of_many_rows_is_one_warning() -> None:
    seeds = [seed(ODD, 1), seed(f"{ODD}\n{STRANGE}", 2), seed(STRANGE, 3), seed(ODD, 4)]
    found = upload_warnings(seeds, tools=TOOLS, ledger_schema=None, rows=[2, 3, 4, 5])
    told = {
        sentence: [one for one in found.warnings if sentence in str(one["message"])]
        for sentence in (ODD, STRANGE)
    }
    (odd,), (strange,) = told[ODD], told[STRANGE]
    assert (odd["row"], str(odd["message"]).endswith("(also rows 3, 5)")) == (2, True)
    assert (strange["row"], str(strange["message"]).endswith("(also row 4)")) == (3, True)


def test_others_are_told_as_they_are_and_many_rows_are_counted() -> None:
    one = Problem(path="/user", message="is odd", row=2)
    assert grouped([one]) == [one]
    assert grouped([one, one]) == [one]
    assert grouped([replace(one, row=None)]) == [replace(one, row=None)]
    other = Problem(path="/user", message="is odd", hint="write another", row=3)
    assert grouped([one, other]) == [one, other]
    (many,) = grouped(replace(one, row=row) for row in range(2, 2_000))
    assert many.row == 2
    listed = ", ".join(map(str, range(3, 3 + MOST_ROWS)))
    assert many.message == f"is odd (also rows {listed} and 1,987 more)"
