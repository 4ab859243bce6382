"""A database of the release in which translated rules belonged to one text, on both stores: its runs keep
them, and new runs have them by their sentence."""

from collections.abc import Callable
from typing import Any

import pytest

from pipelines.core.text.json_text import dumps
from pipelines.storage.agents import authored_rules
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database, Store
from pipelines.storage.tasks.texts import named

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
FIRST, SECOND = "A few only. Be kind.", "A few only."
ROWS = (
    (FIRST, "A few only.", 3, "accepted", 1),
    (SECOND, "A few only.", 5, "accepted", 2),
    (FIRST, "Be kind.", 7, "proposed", None),
    (SECOND, "Be kind.", 8, "proposed", None),
    (FIRST, "Old.", 9, "rejected", None),
)
#: A trial as that release stored it: of each rule, calls that pass and calls that it refuses.
CALL = {"tool": "list_orders", "arguments": {}, "now": NOW, "status": 200, "body": []}
TRIED = {
    "calls": 1,
    "differ": 1,
    "refused": 0,
    "problem": None,
    "examples": [{"rule": {}, "passes": [], "refused": [CALL], "calls": 1, "differ": 1, "refused_count": 0}],
}


@pytest.fixture
def store(store_before: Callable[[str, Callable[[Connection], None]], Store]) -> Store:
    return store_before("0027", fill)


def fill(connection: Connection) -> None:
    connection.execute("INSERT INTO orgs (id, name, created_at) VALUES (1, 'org', ?)", (NOW,))
    connection.execute(
        "INSERT INTO datasets (id, org_id, name, rules_version, created_at) VALUES (1, 1, 'tasks', 2, ?)",
        (NOW,),
    )
    for text, sentence, count, status, version in ROWS:
        connection.execute(
            "INSERT INTO authored_rules (org_id, dataset_id, text_hash, sentence, rules, tried, status,"
            " model, from_version, created_at) VALUES (1, 1, ?, ?, ?, ?, ?, 'm', ?, ?)",
            (
                *(named(text.encode()).hash, sentence, dumps([{"count": count}]).decode()),
                *(dumps(TRIED).decode(), status),
                *(version, NOW),
            ),
        )


def in_force(connection: Connection, version: int, text: str) -> list[Any]:
    found = authored_rules.rules_in_force(connection, dataset_id=1, version=version, behavior=text)
    return [each["count"] for rules in found.values() for each in rules if isinstance(each, dict)]


async def test_runs_keep_the_rules_of_their_text_and_new_runs_have_them_by_sentence(
    database: Database,
) -> None:
    def read(connection: Connection) -> tuple[Any, ...]:
        version = authored_rules.rules_version(connection, 1)
        before = [in_force(connection, 2, text) for text in (FIRST, SECOND)]
        texts = (FIRST, SECOND, "A third text. A few only.", "Nothing.")
        between = [in_force(connection, 3, text) for text in texts]
        return version, before, between, [in_force(connection, version, text) for text in texts]

    version, before, between, now = await database.read(read)
    assert (version, before) == (4, [[3], [5]])
    assert between == now == [[5], [5], [5], []]


async def test_of_two_proposals_for_a_sentence_the_newer_is_left_and_can_be_accepted(
    database: Database,
) -> None:
    def play(connection: Connection) -> list[Any]:
        items = authored_rules.rules_of_dataset(connection, org_id=1, dataset_id=1)
        proposed = [rule for rule in items if rule.status == "proposed"]
        assert [rule.rules for rule in proposed] == [[{"count": 8}]]
        unstated = {"given": {}, "before": [], "expected": {}, "problem": None}
        assert proposed[0].as_json()["tried"] == {
            "problem": None,
            "warning": None,
            "read_as": [],
            "examples": [CALL | unstated],
        }
        assert authored_rules.accept(connection, proposed, by="Ada", now=NOW) == []
        return in_force(connection, 5, FIRST)

    assert sorted(await database.write(play)) == [5, 8]
