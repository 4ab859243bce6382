"""Lists of datasets and tasks with their filters, on both databases."""

from typing import Any

import pytest

from pipelines.core.tasks.seed import parse_seed
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents.agents import add_agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.lists import dataset_lists
from pipelines.storage.lists.dataset_lists import TaskFilter
from pipelines.storage.runs.batches import add_batch
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.texts import add_parts, slices_of

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
SEEDS: list[dict[str, Any]] = [
    {"user_instruction": "Refund 50% of ORDER_1", "tags": ["refund", 'with "quotes"']},
    {"user_instruction": "Cancel it", "initial_state": {"order": {}}, "expected_outcome": "refusal"},
    {"user_instruction": "Say what", "task_input": {"check": 1, "failure_rules": []}, "tags": ["refunds"]},
    {"user_instruction": "Müller's order", "tracked_constraints": ["Is polite"]},
    {
        "user_instruction": "x" * 30_000,
        "tracked_constraints": [{"id": "a", "description": "b", "check": {"final_response": "c"}}],
    },
]


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(_fill)
    return database


def _fill(connection: Connection) -> None:
    org_id = add_org(connection, "one", NOW)
    other = add_org(connection, "two", NOW)
    agent_id = add_agent(connection, org_id=org_id, name="clerk", status="published", now=NOW)
    written = [datasets.as_texts(parse_seed(seed)) for seed in SEEDS]
    for slice in slices_of({text.hash: text for each in written for text in each.texts}.values()):
        add_parts(connection, parts=slice, now=NOW)
    for name, of_org, kind in (
        ("Late_refunds", org_id, "tasks"),
        ("hidden", org_id, "eval"),
        ("theirs", other, "tasks"),
    ):
        made = datasets.add_dataset(
            connection,
            org_id=of_org,
            name=name,
            agent_id=agent_id if of_org == org_id else None,
            now=NOW,
            kind=kind,
        )
        tasks = [each.task for each in written]
        datasets.add_tasks(connection, org_id=of_org, dataset_id=made, tasks=tasks, now=NOW)
    for status in ("completed", "running", "opening"):
        add_batch(
            connection,
            org_id=org_id,
            agent_id=agent_id,
            agent_version=1,
            dataset_id=1,
            repeats=1,
            concurrency=1,
            status=status,
            now=NOW,
        )


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"words": "order"}, [1, 4]),  # the world of the second is no part of what is searched
        ({"words": "order_1"}, [1]),
        ({"words": "50%"}, [1]),
        ({"words": "0% of"}, [1]),
        ({"words": "müller's"}, [4]),
        ({"words": 'with "quotes"'}, [1]),
        ({"words": "nowhere"}, []),
        ({"tag": "refund"}, [1]),
        ({"tag": 'with "quotes"'}, [1]),
        ({"tag": "_efund"}, []),
        ({"axis": "initial_state"}, [2]),
        ({"axis": "failure_rules"}, []),
        ({"axis": "tracked_constraints"}, [4, 5]),
        ({"has_oracle": True}, [2, 5]),
        ({"has_oracle": False}, [1, 3, 4]),
        ({"has_oracle": False, "words": "polite"}, [4]),
    ],
)
async def test_tasks_that_fit(database: Database, wanted: dict[str, Any], rows: list[int]) -> None:
    found = await database.read(
        lambda connection: dataset_lists.task_lines(
            connection, 1, wanted=TaskFilter(**wanted), limit=50, after_id=None
        )
    )
    assert [line.row_number for line in found.items] == rows
    assert found.last_id is None


async def test_pages_of_tasks_that_fit_hold_each_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_lists, "TASKS_AT_ONCE", 2)

    def read(connection: Connection) -> list[int]:
        rows, after = [], None
        while True:
            found = dataset_lists.task_lines(
                connection, 1, wanted=TaskFilter(has_oracle=False), limit=1, after_id=after
            )
            rows += [line.row_number for line in found.items]
            if found.last_id is None:
                return rows
            after = found.last_id

    assert await database.read(read) == [1, 3, 4]


async def test_a_list_of_datasets_holds_ones_own_and_no_hidden_ones(database: Database) -> None:
    def read(connection: Connection, **wanted: Any) -> list[str]:
        asked = {"words": "", "agent_id": None, "limit": 10, "before_id": None} | wanted
        found = dataset_lists.dataset_lines(connection, 1, **asked)
        return [f"{line.name} {line.task_count} {line.agent_name}" for line in found.items]

    assert await database.read(read) == ["Late_refunds 5 clerk"]
    assert await database.read(lambda connection: read(connection, words="late_")) == ["Late_refunds 5 clerk"]
    assert await database.read(lambda connection: read(connection, words="a%e")) == []
    assert await database.read(lambda connection: read(connection, agent_id=9)) == []


async def test_what_stands_beside_a_dataset(database: Database) -> None:
    axes = await database.read(lambda connection: dataset_lists.axes_of_datasets(connection, [1]))
    assert {"initial_state", "expected_outcome", "tracked_constraints", "tags", "task_input"} <= axes[1]
    assert "failure_rules" not in axes[1]
    last = await database.read(lambda connection: dataset_lists.last_batches(connection, 1, [1, 2]))
    assert {dataset_id: (batch.id, batch.status) for dataset_id, batch in last.items()} == {1: (2, "running")}
    ran = await database.read(lambda connection: dataset_lists.batches_of_dataset(connection, 1, 1, limit=10))
    assert [(batch.id, batch.agent_name) for batch in ran] == [(2, "clerk"), (1, "clerk")]
    tags = await database.read(lambda connection: dataset_lists.tags_of_dataset(connection, 1))
    assert tags == ["refund", "refunds", 'with "quotes"']
