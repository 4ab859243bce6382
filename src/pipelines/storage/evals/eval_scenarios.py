"""Scenarios with every version they had, and the variations that users wrote themselves.

Bodies are stored as checked and read by whoever needs them: here they are text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.evals.scenarios.scenario import Scenario
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.storage.database.connection import Connection, in_list, insert_row, some_of
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper, Stored
from pipelines.wire.records import As, Flat, Hidden, Id, Moment, Named, Record, Via

SOME = 200  # ids in one question


def _object(text: str) -> JsonObject:
    body = loads_own(text)
    assert isinstance(body, dict)
    return body


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredScenario(Record, component="Scenario"):
    """A scenario at one of its versions."""

    number: Annotated[Hidden[int], Stored(column="id")]
    scenario_id: Annotated[str, Named("id")]  # scn_…
    org_id: Hidden[int]
    version: Id
    #: The scenario as it was checked.
    body_text: Annotated[Flat[str], Via(_object), As(Scenario), Stored(column="body")]
    created_at: Moment
    updated_at: Moment

    def body(self) -> JsonObject:
        return _object(self.body_text)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenarioHead:
    """What is known of a scenario without its body."""

    name: str
    risk_level: str
    agent_id: int | None


_SCENARIO = Mapper(StoredScenario)
_HEAD = Mapper(ScenarioHead)


def add_scenario(
    connection: Connection, *, org_id: int, scenario_id: str, head: ScenarioHead, body: JsonObject, now: str
) -> None:
    """Its first version."""
    row = {"scenario_id": scenario_id, "org_id": org_id, "version": 1, "created_at": now, "updated_at": now}
    insert_row(connection, "eval_scenarios", _HEAD.row(head) | row)
    _add_version(connection, scenario_id, 1, body, now)


def change_scenario(
    connection: Connection,
    *,
    org_id: int,
    scenario_id: str,
    head: ScenarioHead,
    body: JsonObject,
    now: str,
    if_version: int | None = None,
) -> int | None:
    """Make a new version the current one; its number, or None where there is no such scenario.

    With `if_version`, None too where it is not at that version any more: somebody was faster.
    """
    row = connection.execute(
        f"UPDATE eval_scenarios SET version = version + 1, {_HEAD.assignments}, updated_at = ?"
        " WHERE scenario_id = ? AND org_id = ? AND deleted_at IS NULL"
        " AND version = COALESCE(?, version) RETURNING version",
        (*_HEAD.values(head), now, scenario_id, org_id, if_version),
    ).fetchone()
    if row is None:
        return None
    _add_version(connection, scenario_id, row[0], body, now)
    return int(row[0])


def delete_scenario(connection: Connection, *, org_id: int, scenario_id: str, now: str) -> bool:
    """Gone from every list; its versions stay for the runs that used them."""
    done = connection.execute(
        "UPDATE eval_scenarios SET deleted_at = ?"
        " WHERE scenario_id = ? AND org_id = ? AND deleted_at IS NULL",
        (now, scenario_id, org_id),
    )
    return done.rowcount == 1


def scenario_by_id(
    connection: Connection, *, org_id: int, scenario_id: str, version: int | None = None
) -> StoredScenario | None:
    """At its current version, or as it was at another. Deleted scenarios answer only by version."""
    return _SCENARIO.one(
        connection,
        f"SELECT {_SCENARIO.columns} FROM (SELECT s.id, s.scenario_id, s.org_id, v.version, v.body,"
        " s.created_at, s.updated_at FROM eval_scenarios s JOIN eval_scenario_versions v"
        " ON v.scenario_id = s.scenario_id AND v.version = COALESCE(?, s.version)"
        " WHERE s.scenario_id = ? AND s.org_id = ? AND (s.deleted_at IS NULL OR ? IS NOT NULL))"
        " AS at_version",
        (version, scenario_id, org_id, version),
    )


def scenarios_by_id(
    connection: Connection, *, org_id: int, scenario_ids: Sequence[str]
) -> dict[str, StoredScenario]:
    """Those that are there, at their current versions. For some at a time: each is read whole."""
    condition = f"org_id = ? AND scenario_id IN {in_list(scenario_ids)}"
    statement = f"SELECT {_SCENARIO.columns} FROM {_CURRENT} WHERE {condition}"
    found = _SCENARIO.all(connection, statement, (org_id, *scenario_ids))
    return {scenario.scenario_id: scenario for scenario in found}


class ListedScenario(NamedTuple):
    """A scenario without its body: thousands of them are looked at before a matrix is stored."""

    version: int
    name: str
    agent_id: int | None


def listed_scenarios(
    connection: Connection, *, org_id: int, scenario_ids: Sequence[str]
) -> dict[str, ListedScenario]:
    """Those that are there, at their current versions."""
    found: dict[str, ListedScenario] = {}
    for some in some_of(scenario_ids, SOME):
        rows = connection.execute(
            "SELECT scenario_id, version, name, agent_id FROM eval_scenarios"
            f" WHERE org_id = ? AND deleted_at IS NULL AND scenario_id IN {in_list(some)}",
            (org_id, *some),
        )
        found |= {row[0]: ListedScenario(row[1], row[2], row[3]) for row in rows}
    return found


def names_of_scenarios(connection: Connection, *, org_id: int, most: int) -> dict[str, str]:
    """Names by id, newest first: for a hint, and for an answer that lists them."""
    rows = connection.execute(
        "SELECT scenario_id, name FROM eval_scenarios WHERE org_id = ? AND deleted_at IS NULL"
        " ORDER BY id DESC LIMIT ?",
        (org_id, most),
    )
    return {row[0]: row[1] for row in rows}


class ScenarioChoice(NamedTuple):
    scenario_id: str
    name: str
    risk_level: str


def scenario_choices(connection: Connection, *, org_id: int, most: int) -> tuple[list[ScenarioChoice], int]:
    """Newest first, without their bodies; and how many there are."""
    rows = connection.execute(
        "SELECT scenario_id, name, risk_level FROM eval_scenarios WHERE org_id = ? AND deleted_at IS NULL"
        " ORDER BY id DESC LIMIT ?",
        (org_id, most),
    )
    listed = [ScenarioChoice(*row) for row in rows]
    (total,) = connection.execute(
        "SELECT COUNT(*) FROM eval_scenarios WHERE org_id = ? AND deleted_at IS NULL", (org_id,)
    ).fetchone()
    return listed, int(total)


def scenarios_of_org(
    connection: Connection,
    *,
    filters: list[Filter],
    limit: int,
    before_id: int | None,
    where: str | None = None,
) -> Page[StoredScenario]:
    """Newest first, at their current versions; filters are over org_id, risk_level, agent_id and name, and
    `where` is a condition of our own code."""
    return _SCENARIO.page(
        connection, _CURRENT, filters=filters, limit=limit, before_id=before_id, where=where
    )


def versions_of_scenario(connection: Connection, scenario_id: str) -> list[tuple[int, str]]:
    """Each version's number and when it was made, newest first."""
    rows = connection.execute(
        "SELECT version, created_at FROM eval_scenario_versions WHERE scenario_id = ? ORDER BY version DESC",
        (scenario_id,),
    )
    return [(row[0], row[1]) for row in rows]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredVariation:
    """A user's own."""

    variation: str
    version: int
    body_text: Annotated[str, Stored(column="body")]
    created_at: str

    def body(self) -> JsonObject:
        return _object(self.body_text)


_VARIATION = Mapper(StoredVariation)


def add_variation(connection: Connection, *, org_id: int, variation: str, body: JsonObject, now: str) -> int:
    """Its version: 1, or the next where the org has one of that name. Nothing is overwritten."""
    (last,) = connection.execute(
        "SELECT COALESCE(MAX(version), 0) FROM eval_variations WHERE org_id = ? AND variation = ?",
        (org_id, variation),
    ).fetchone()
    row = {"org_id": org_id, "variation": variation, "version": last + 1, "body": body, "created_at": now}
    insert_row(connection, "eval_variations", row)
    return int(last) + 1


def variations_of_org(connection: Connection, org_id: int) -> list[StoredVariation]:
    """The newest version of each, in the order they were first written."""
    return _VARIATION.all(
        connection,
        f"SELECT {_VARIATION.columns} FROM eval_variations newest WHERE org_id = ?"
        " AND version = (SELECT MAX(version) FROM eval_variations other WHERE other.org_id = newest.org_id"
        " AND other.variation = newest.variation) ORDER BY id",
        (org_id,),
    )


def variation_at(
    connection: Connection, *, org_id: int, variation: str, version: int
) -> StoredVariation | None:
    return _VARIATION.one(
        connection,
        f"SELECT {_VARIATION.columns} FROM eval_variations"
        " WHERE org_id = ? AND variation = ? AND version = ?",
        (org_id, variation, version),
    )


_CURRENT = (
    "(SELECT s.id, s.scenario_id, s.org_id, s.name, s.risk_level, s.agent_id, v.version, v.body,"
    " s.created_at, s.updated_at FROM eval_scenarios s JOIN eval_scenario_versions v"
    " ON v.scenario_id = s.scenario_id AND v.version = s.version WHERE s.deleted_at IS NULL) AS current_ones"
)


def _add_version(connection: Connection, scenario_id: str, version: int, body: JsonObject, now: str) -> None:
    row = {"scenario_id": scenario_id, "version": version, "body": body, "created_at": now}
    insert_row(connection, "eval_scenario_versions", row)
