"""Rules that a model made: which are in force at which version, the same in both databases."""

from collections.abc import Iterator
from typing import Any

import pytest

from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import author_jobs, authored_rules
from pipelines.storage.agents.authored_rules import NewRule
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.runs.model_exchanges import NewExchange, add_exchange
from pipelines.storage.tasks import datasets
from support.private_postgres import Cluster, cluster

pytestmark = pytest.mark.anyio
NOW = "2026-05-01T12:00:00.000000Z"
RULE: dict[str, Any] = {"form": "take", "tools": ["list_orders"], "count": 3}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Cluster]:
    with cluster() as started:
        yield started


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(_fill)
    return database


def _fill(connection: Connection) -> None:
    org_id = add_org(connection, "one", NOW)
    datasets.add_dataset(connection, org_id=org_id, name="tasks", agent_id=None, now=NOW)
    add_exchange(
        connection,
        NewExchange(
            org_id=org_id,
            run_id=None,
            batch_id=None,
            subject="dataset 1",
            purpose="author",
            model="m",
            prompt_version="rules/1",
            question_key="k",
            request="{}",
        ),
        now=NOW,
    )


def rule(count: int, sentence: str = "At most a few.") -> NewRule:
    return NewRule(
        org_id=1,
        dataset_id=1,
        sentence=sentence,
        rules=[RULE | {"count": count}],
        left_out=None,
        tried={"problem": None},
        status=authored_rules.PROPOSED,
        model="m",
        exchange_id=1,
    )


def in_force(connection: Connection, version: int) -> list[Any]:
    found = authored_rules.rules_in_force(
        connection, dataset_id=1, version=version, behavior="At most a few. Another."
    )
    return [each["count"] for rules in found.values() for each in rules if isinstance(each, dict)]


async def test_each_version_keeps_the_rules_that_were_in_force_at_it(database: Database) -> None:
    def play(connection: Connection) -> list[list[Any]]:
        for count in (3, 5):
            (rule_id,) = authored_rules.add_proposals(connection, [rule(count)], now=NOW)
            found = authored_rules.rules_by_id(connection, [rule_id])
            assert authored_rules.accept(connection, found, by="Ada", now=NOW) == []
            assert authored_rules.accept(connection, found, by="Bob", now=NOW) == [rule_id]
        (last, first) = authored_rules.rules_of_dataset(connection, org_id=1, dataset_id=1)
        assert (last.status, first.status) == ("accepted", "withdrawn")
        assert authored_rules.reject(connection, last, by="Ada", now=NOW)
        return [in_force(connection, version) for version in range(7)]

    versions = await database.write(play)
    # A decision that came too late counts, and changes nothing.
    assert versions == [[], [3], [3], [5], [5], [], []]


async def test_many_are_accepted_in_one_version_or_none_of_them(database: Database) -> None:
    def play(connection: Connection) -> tuple[list[int], list[list[Any]]]:
        ids = authored_rules.add_proposals(connection, [rule(3), rule(4, "Another.")], now=NOW)
        both = authored_rules.rules_by_id(connection, ids)
        assert authored_rules.reject(connection, both[0], by="Ada", now=NOW)
        decided = authored_rules.accept(connection, both, by="Ada", now=NOW)
        (again,) = authored_rules.add_proposals(connection, [rule(5)], now=NOW)
        rest = authored_rules.rules_by_id(connection, [ids[1], again])
        assert authored_rules.accept(connection, rest, by="Ada", now=NOW) == []
        assert {each.status for each in authored_rules.rules_by_id(connection, [ids[1], again])} == {
            "accepted"
        }
        return decided, [sorted(in_force(connection, version)) for version in range(3)]

    decided, versions = await database.write(play)
    assert (len(decided), versions) == (1, [[], [], [4, 5]])


async def test_what_nobody_decided_on_is_replaced_and_what_was_decided_stays(database: Database) -> None:
    def play(connection: Connection) -> list[tuple[str, Any]]:
        (first,) = authored_rules.add_proposals(connection, [rule(1)], now=NOW)
        (found,) = authored_rules.rules_by_id(connection, [first])
        assert authored_rules.reject(connection, found, by="Ada", now=NOW)
        authored_rules.add_proposals(connection, [rule(2)], now=NOW)
        authored_rules.add_proposals(connection, [rule(3), rule(4, "Another.")], now=NOW)
        items = authored_rules.rules_of_dataset(connection, org_id=1, dataset_id=1)
        return [(each.status, each.rules) for each in reversed(items)]

    told = await database.write(play)
    assert [status for status, _ in told] == ["rejected", "proposed", "proposed"]
    assert [rules[0]["count"] for _, rules in told] == [1, 3, 4]


async def test_a_dismissal_withdraws_what_was_accepted_and_holds_from_its_version_on(
    database: Database,
) -> None:
    def play(connection: Connection) -> tuple[list[Any], list[str]]:
        ids = authored_rules.add_proposals(connection, [rule(3)], now=NOW)
        authored_rules.accept(connection, authored_rules.rules_by_id(connection, ids), by="Ada", now=NOW)
        more: Any = {"org_id": 1, "by": "Ada", "now": NOW}
        authored_rules.dismiss(connection, 1, sentences=["At  most a few"], **more)
        found = [
            authored_rules.rules_in_force(connection, dataset_id=1, version=at, behavior="At most a few.")
            for at in range(3)
        ]
        items = authored_rules.rules_of_dataset(connection, org_id=1, dataset_id=1)
        return found, [each.status for each in items]

    found, statuses = await database.write(play)
    assert [[*one.values()] for one in found] == [[], [[RULE | {"count": 3}]], [[]]]
    assert statuses == ["dismissed", "withdrawn"]


async def test_a_job_keeps_its_progress_and_ends_once(database: Database) -> None:
    def play(connection: Connection) -> list[Any]:
        job_id = author_jobs.add_job(connection, org_id=1, subject="dataset 1", now=NOW)
        author_jobs.note_progress(connection, job_id, done=1, total=3, now=NOW)
        running = author_jobs.last_job(connection, org_id=1, subject="dataset 1")
        author_jobs.end_job(connection, job_id, answer={"items": []}, error=None, now=NOW)
        author_jobs.end_job(connection, job_id, answer=None, error={"code": "late"}, now=NOW)
        ended = author_jobs.job_by_id(connection, org_id=1, job_id=job_id)
        assert author_jobs.job_by_id(connection, org_id=2, job_id=job_id) is None
        return [(one.status, one.done, one.total, one.answer, one.error) for one in (running, ended) if one]

    assert await database.write(play) == [
        ("running", 1, 3, None, None),
        ("done", 1, 3, {"items": []}, None),
    ]
