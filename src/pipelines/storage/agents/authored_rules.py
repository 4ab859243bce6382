"""Rules that a model made of sentences of behaviour text: proposed, decided on by people, and in force by
version.

A rule belongs to its sentence, in whatever text of the dataset that stands. Rules that were in force before
version 0027 of the database hold for one text only, in the runs of that time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pipelines.core.simulation.rule_translation.trial import TranslationTrial
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.storage.database.connection import Connection, in_list, insert
from pipelines.storage.database.records import Mapper, first_column, first_value
from pipelines.storage.tasks.texts import named
from pipelines.wire.records import As, Hidden, Id, Moment, Record, Via, one_of

PROPOSED = "proposed"
REFUSED = "refused"  # by its check: it cannot be accepted
ACCEPTED = "accepted"
REJECTED = "rejected"
WITHDRAWN = "withdrawn"  # accepted once, and in force in the runs of that time
#: What a trial tells that was made before trials told so much.
_TRIED: JsonObject = {"warning": None, "read_as": [], "examples": []}
MOST_LOOKED_AT = 1_000  # rules of one agent's datasets, when it changes
_ANY_TEXT = ""  # in place of the hash of a text


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRule:
    org_id: int
    dataset_id: int
    sentence: str
    rules: Sequence[Json]
    left_out: str | None  # why there are none, as the model says it
    tried: JsonObject
    status: str
    model: str
    exchange_id: int | None


def _whole(tried: JsonObject) -> JsonObject:
    return _TRIED | tried


@dataclass(frozen=True, kw_only=True, slots=True)
class AuthoredRule(Record):
    """What a model made of a sentence."""

    id: Id
    org_id: Hidden[int]
    dataset_id: Id
    sentence: str
    rules: Annotated[Json, As(list[JsonObject]), "in the forms of reference/behavior.md"]
    left_out: Annotated[str | None, "why there are none, as the model says it"]
    tried: Annotated[JsonObject, Via(_whole), As(TranslationTrial)]
    status: Annotated[str, one_of(("proposed", "refused", "accepted", "rejected", "withdrawn"))]
    model: str
    exchange_id: Annotated[Id | None, "with the model"]
    from_version: Hidden[int | None]
    until_version: Hidden[int | None]
    decided_by: str | None
    decided_at: Moment | None
    created_at: Moment


_NEW_RULE = Mapper(NewRule)
_RULE = Mapper(AuthoredRule)
_RULES = f"SELECT {_RULE.columns} FROM authored_rules"


def add_proposals(connection: Connection, new: Sequence[NewRule], *, now: str) -> list[int]:
    """In place of what was proposed for the same sentences and nobody has decided on."""
    for rule in new:
        connection.execute(
            "DELETE FROM authored_rules WHERE dataset_id = ? AND sentence = ? AND status IN (?, ?)",
            (rule.dataset_id, rule.sentence, PROPOSED, REFUSED),
        )
    return [
        insert(
            connection, "authored_rules", _NEW_RULE.row(rule) | {"text_hash": _ANY_TEXT, "created_at": now}
        )
        for rule in new
    ]


def rules_of_dataset(connection: Connection, *, org_id: int, dataset_id: int) -> list[AuthoredRule]:
    """The newest first."""
    statement = f"{_RULES} WHERE org_id = ? AND dataset_id = ? ORDER BY id DESC"
    return _RULE.all(connection, statement, (org_id, dataset_id))


def rules_by_id(connection: Connection, ids: Sequence[int]) -> list[AuthoredRule]:
    return _RULE.all(connection, f"{_RULES} WHERE id IN {in_list(ids)} ORDER BY id", ids)


def rules_version(connection: Connection, dataset_id: int) -> int:
    return first_value(connection, "SELECT rules_version FROM datasets WHERE id = ?", (dataset_id,)) or 0


def rules_in_force(
    connection: Connection, *, dataset_id: int, version: int, behavior: str
) -> dict[str, list[Json]]:
    """By sentence, as of a version of the dataset's rules."""
    rows = connection.execute(
        "SELECT sentence, rules FROM authored_rules WHERE dataset_id = ? AND text_hash IN (?, ?)"
        " AND from_version <= ? AND (until_version IS NULL OR until_version > ?) ORDER BY id",
        (dataset_id, _ANY_TEXT, named(behavior.encode()).hash, version, version),
    )
    found: dict[str, list[Json]] = {}
    for sentence, rules in rows.fetchall():
        read = loads_own(rules)
        assert isinstance(read, list)
        found[sentence] = read
    return found


def rules_now(connection: Connection, dataset_id: int, behavior: str | None) -> dict[str, list[Json]]:
    """For a behaviour text, as a run that is made now has them."""
    if behavior is None:
        return {}
    version = rules_version(connection, dataset_id)
    if not version:
        return {}
    return rules_in_force(connection, dataset_id=dataset_id, version=version, behavior=behavior)


def accepted_for_agent(connection: Connection, *, org_id: int, agent_id: int) -> list[AuthoredRule]:
    """What is in force in the datasets of an agent, the newest first."""
    return _RULE.all(
        connection,
        f"SELECT {_RULE.columns_of('authored_rules')} FROM authored_rules"
        " JOIN datasets ON datasets.id = authored_rules.dataset_id"
        " WHERE datasets.org_id = ? AND datasets.agent_id = ? AND authored_rules.status = ?"
        " ORDER BY authored_rules.id DESC LIMIT ?",
        (org_id, agent_id, ACCEPTED, MOST_LOOKED_AT),
    )


def accept(connection: Connection, rules: Sequence[AuthoredRule], *, by: str, now: str) -> list[int]:
    """All of them, from the next version of their dataset's rules on; each replaces what was accepted for its
    sentence before. Where some are no longer proposed nothing is done: these are returned."""
    if not rules:
        return []
    # First, as it holds the dataset until this is stored: nobody else decides on its rules meanwhile.
    version = _next_version(connection, rules[0].dataset_id)
    ids = [rule.id for rule in rules]
    statement = f"SELECT id FROM authored_rules WHERE id IN {in_list(ids)} AND status = ?"
    proposed = first_column(connection, statement, (*ids, PROPOSED))
    decided = [id for id in ids if id not in proposed]
    for rule in () if decided else rules:
        connection.execute(
            "UPDATE authored_rules SET status = ?, until_version = ? WHERE dataset_id = ? AND sentence = ?"
            " AND status = ?",
            (WITHDRAWN, version, rule.dataset_id, rule.sentence, ACCEPTED),
        )
        connection.execute(
            "UPDATE authored_rules SET status = ?, from_version = ?, decided_by = ?, decided_at = ?"
            " WHERE id = ?",
            (ACCEPTED, version, by, now, rule.id),
        )
    return decided


def reject(connection: Connection, rule: AuthoredRule, *, by: str, now: str) -> bool:
    """Of one that is in force: from now on it is not, and the runs that had it keep it."""
    if rule.status == ACCEPTED:
        version = _next_version(connection, rule.dataset_id)
        done = connection.execute(
            "UPDATE authored_rules SET status = ?, until_version = ?, decided_by = ?, decided_at = ?"
            " WHERE id = ? AND status = ?",
            (WITHDRAWN, version, by, now, rule.id, ACCEPTED),
        )
    else:
        done = connection.execute(
            "UPDATE authored_rules SET status = ?, decided_by = ?, decided_at = ? WHERE id = ?"
            " AND status IN (?, ?)",
            (REJECTED, by, now, rule.id, PROPOSED, REFUSED),
        )
    return bool(done.rowcount == 1)


def _next_version(connection: Connection, dataset_id: int) -> int:
    connection.execute("UPDATE datasets SET rules_version = rules_version + 1 WHERE id = ?", (dataset_id,))
    return rules_version(connection, dataset_id)
