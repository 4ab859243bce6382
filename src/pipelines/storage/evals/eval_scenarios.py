"""Scenarios with every version they had, and the variations that users wrote themselves.

Bodies are stored as checked and read by whoever needs them: here they are text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.storage.database.connection import Connection, Row, in_list
from pipelines.storage.database.paging import Filter, Page, page_of

SOME = 200  # ids in one question


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredScenario:
    number: int  # for paging
    scenario_id: str  # scn_…
    org_id: int
    version: int
    body_text: str  # the scenario as it was checked
    created_at: str
    updated_at: str

    def body(self) -> JsonObject:
        body = loads_own(self.body_text)
        assert isinstance(body, dict)
        return body

    def as_json(self) -> JsonObject:
        own: JsonObject = {"id": self.scenario_id, "version": self.version}
        return own | self.body() | {"created_at": self.created_at, "updated_at": self.updated_at}


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenarioHead:
    """What is known of a scenario without its body."""

    name: str
    risk_level: str
    agent_id: int | None


def add_scenario(
    connection: Connection, *, org_id: int, scenario_id: str, head: ScenarioHead, body: JsonObject, now: str
) -> None:
    """Its first version."""
    connection.execute(
        "INSERT INTO eval_scenarios"
        " (scenario_id, org_id, version, name, risk_level, agent_id, created_at, updated_at)"
        " VALUES (?, ?, 1, ?, ?, ?, ?, ?)",
        (scenario_id, org_id, head.name, head.risk_level, head.agent_id, now, now),
    )
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
        "UPDATE eval_scenarios SET version = version + 1, name = ?, risk_level = ?, agent_id = ?,"
        " updated_at = ? WHERE scenario_id = ? AND org_id = ? AND deleted_at IS NULL"
        " AND version = COALESCE(?, version) RETURNING version",
        (head.name, head.risk_level, head.agent_id, now, scenario_id, org_id, if_version),
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
    row = connection.execute(
        "SELECT s.id, s.scenario_id, s.org_id, v.version, v.body, s.created_at, s.updated_at"
        " FROM eval_scenarios s JOIN eval_scenario_versions v"
        " ON v.scenario_id = s.scenario_id AND v.version = COALESCE(?, s.version)"
        " WHERE s.scenario_id = ? AND s.org_id = ? AND (s.deleted_at IS NULL OR ? IS NOT NULL)",
        (version, scenario_id, org_id, version),
    ).fetchone()
    return _scenario(row) if row else None


def scenarios_by_id(
    connection: Connection, *, org_id: int, scenario_ids: Sequence[str]
) -> dict[str, StoredScenario]:
    """Those that are there, at their current versions. For some at a time: each is read whole."""
    rows = connection.execute(
        f"SELECT * FROM {_CURRENT} WHERE org_id = ? AND scenario_id IN {in_list(scenario_ids)}",
        (org_id, *scenario_ids),
    )
    return {row["scenario_id"]: _scenario(row) for row in rows}


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
    for start in range(0, len(scenario_ids), SOME):
        some = scenario_ids[start : start + SOME]
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
    rows = page_of(connection, _CURRENT, filters=filters, limit=limit, before_id=before_id, where=where)
    return Page([_scenario(row) for row in rows.items], rows.last_id)


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
    body_text: str
    created_at: str

    def body(self) -> JsonObject:
        body = loads_own(self.body_text)
        assert isinstance(body, dict)
        return body


def add_variation(connection: Connection, *, org_id: int, variation: str, body: JsonObject, now: str) -> int:
    """Its version: 1, or the next where the org has one of that name. Nothing is overwritten."""
    (last,) = connection.execute(
        "SELECT COALESCE(MAX(version), 0) FROM eval_variations WHERE org_id = ? AND variation = ?",
        (org_id, variation),
    ).fetchone()
    connection.execute(
        "INSERT INTO eval_variations (org_id, variation, version, body, created_at) VALUES (?, ?, ?, ?, ?)",
        (org_id, variation, last + 1, dumps(body).decode(), now),
    )
    return int(last) + 1


def variations_of_org(connection: Connection, org_id: int) -> list[StoredVariation]:
    """The newest version of each, in the order they were first written."""
    rows = connection.execute(
        "SELECT variation, version, body, created_at FROM eval_variations newest WHERE org_id = ?"
        " AND version = (SELECT MAX(version) FROM eval_variations other WHERE other.org_id = newest.org_id"
        " AND other.variation = newest.variation) ORDER BY id",
        (org_id,),
    )
    return [
        StoredVariation(variation=row[0], version=row[1], body_text=row[2], created_at=row[3]) for row in rows
    ]


def variation_at(
    connection: Connection, *, org_id: int, variation: str, version: int
) -> StoredVariation | None:
    row = connection.execute(
        "SELECT variation, version, body, created_at FROM eval_variations"
        " WHERE org_id = ? AND variation = ? AND version = ?",
        (org_id, variation, version),
    ).fetchone()
    if row is None:
        return None
    return StoredVariation(variation=row[0], version=row[1], body_text=row[2], created_at=row[3])


_CURRENT = (
    "(SELECT s.id, s.scenario_id, s.org_id, s.name, s.risk_level, s.agent_id, v.version, v.body,"
    " s.created_at, s.updated_at FROM eval_scenarios s JOIN eval_scenario_versions v"
    " ON v.scenario_id = s.scenario_id AND v.version = s.version WHERE s.deleted_at IS NULL) AS current_ones"
)


def _add_version(connection: Connection, scenario_id: str, version: int, body: JsonObject, now: str) -> None:
    connection.execute(
        "INSERT INTO eval_scenario_versions (scenario_id, version, body, created_at) VALUES (?, ?, ?, ?)",
        (scenario_id, version, dumps(body).decode(), now),
    )


def _scenario(row: Row) -> StoredScenario:
    return StoredScenario(
        number=row["id"],
        scenario_id=row["scenario_id"],
        org_id=row["org_id"],
        version=row["version"],
        body_text=row["body"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
