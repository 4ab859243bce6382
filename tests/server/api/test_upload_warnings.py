"""Oracles that prove nothing are taken, and named by row and column in the answer to the upload."""

import csv
import io
import json

import pytest

from support.desk import STATE, Org, Row, answered

pytestmark = pytest.mark.anyio

GOOD: Row = {
    "user": "Refund order #4521.",
    "state": STATE,
    "expected_state": {"order.4521.status": "refunded"},
}
MET_BY_DOING_NOTHING = GOOD | {"expected_state": {"order.4521.status": "shipped"}}
NOTHING_TO_REFUSE: Row = {"user": "Refund order #4521.", "state": {}, "expected_outcome": "refusal"}
ONLY_PROHIBITIONS: Row = {
    "user": "Refund order #4521.",
    "state": STATE,
    "expected_calls": {"must_not": ["cancel_order"]},
}
ROWS = [GOOD, MET_BY_DOING_NOTHING, NOTHING_TO_REFUSE, GOOD, ONLY_PROHIBITIONS]
FOUND = [
    (2, "expected_state", "does nothing"),
    (3, "expected_outcome", "nothing to refuse"),
    (5, "expected_calls", "does nothing"),
]


def assert_found(uploaded: Row, header: int = 0) -> None:
    """`header`: how many rows of the sheet stand above the first task."""
    warnings = uploaded["warnings"]
    found = [(row + header, column, says) for row, column, says in FOUND]
    assert [(each["row"], each["column"]) for each in warnings] == [(row, column) for row, column, _ in found]
    for warning, (row, column, says) in zip(warnings, found, strict=True):
        assert says in warning["message"]
        assert warning["path"].startswith(f"row {row}, column {column}")
    assert len(uploaded["task_ids"]) == len(ROWS)  # a warning holds nothing back


async def test_rows_sent_as_json(org: Org):
    agent_id = (await org.agent())["id"]
    assert_found(await org.dataset(*ROWS, agent_id=agent_id))


async def test_rows_sent_as_csv(org: Org):
    agent_id = (await org.agent())["id"]
    text = io.StringIO()
    table = csv.DictWriter(text, ["user", "state", "expected_state", "expected_outcome", "expected_calls"])
    table.writeheader()
    for row in ROWS:
        table.writerow({k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()})
    sent = await org.client.post(
        "/api/datasets",
        files={"file": ("tasks.csv", text.getvalue().encode())},
        data={"name": "tasks", "agent_id": str(agent_id)},
    )
    assert_found(answered(sent, 201), header=1)


async def test_good_rows_are_taken_without_a_word(org: Org):
    agent_id = (await org.agent())["id"]
    assert (await org.dataset(GOOD, GOOD, agent_id=agent_id))["warnings"] == []
