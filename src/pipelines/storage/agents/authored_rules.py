"""Rules that a model made of sentences of behaviour text: proposed, decided on by people, and in force by
version.

A rule belongs to its sentence, in whatever text that stands, of its dataset and of others of the same agent;
of two the dataset's own holds. Rules that were in force before version 0029 of the database hold in their
dataset alone, before 0027 for one text only, in the runs of that time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pipelines.core.simulation.rule_translation.trial import TranslationTrial
from pipelines.core.simulation.rules.language.read import MOST_SENTENCES, sentences_in
from pipelines.core.simulation.rules.language.text import sentence_key
from pipelines.core.text.json_text import Json, JsonObject, loads_own
from pipelines.storage.database.connection import Connection, in_list, insert, some_of
from pipelines.storage.database.records import Mapper, Stored, first_column, first_value
from pipelines.storage.tasks.texts import named
from pipelines.wire.records import As, Hidden, Id, Moment, Record, one_of

PROPOSED = "proposed"
REFUSED = "refused"  # by its check: it cannot be accepted
ACCEPTED = "accepted"
REJECTED = "rejected"
WITHDRAWN = "withdrawn"  # accepted or dismissed once, and in force in the runs of that time
DISMISSED = "dismissed"  # by a person: a sentence that is not to be enforced, so it has no rules
IN_FORCE = (ACCEPTED, DISMISSED)
MOST_LOOKED_AT = 1_000  # rules of one agent's datasets, when it changes
MOST_KEYS = 1_000  # sentences that one statement looks for
MOST_LOOKED_THROUGH = 256 * 1024  # characters of a dataset's texts
_ANY_TEXT = ""  # in place of the hash of a text


def _read_trial(stored: str) -> JsonObject:
    """A trial as it is told now. Until version 0028 it had calls that we made up: by rule, and counted."""
    read: Any = loads_own(stored)
    found = {key: read.get(key) for key in ("problem", "warning")}
    found |= {key: read.get(key, []) for key in ("read_as", "examples")}
    if "calls" in read:
        calls = [call for rule in found["examples"] for key in ("passes", "refused") for call in rule[key]]
        blank: JsonObject = {"given": {}, "before": [], "expected": {}, "problem": None}
        found["examples"] = [blank | call for call in calls]
    return found


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


@dataclass(frozen=True, kw_only=True, slots=True)
class AuthoredRule(Record):
    """What a model made of a sentence."""

    id: Id
    org_id: Hidden[int]
    dataset_id: Id
    sentence: str
    rules: Annotated[Json, As(list[JsonObject]), "in the forms of reference/behavior.md"]
    left_out: Annotated[str | None, "why there are none, as the model says it"]
    tried: Annotated[JsonObject, Stored(read=_read_trial), As(TranslationTrial)]
    status: Annotated[str, one_of(("proposed", "refused", "accepted", "rejected", "withdrawn", "dismissed"))]
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
    _forget_proposals(connection, [(rule.dataset_id, rule.sentence) for rule in new])
    return [_add(connection, rule, now=now) for rule in new]


def _forget_proposals(connection: Connection, sentences: Iterable[tuple[int, str]]) -> None:
    for dataset_id, sentence in sentences:
        keys = _keys([sentence])
        connection.execute(
            f"DELETE FROM authored_rules WHERE dataset_id = ? AND sentence_key IN {in_list(keys)}"
            " AND status IN (?, ?)",
            (dataset_id, *keys, PROPOSED, REFUSED),
        )


def _add(connection: Connection, rule: NewRule, *, now: str) -> int:
    more = {"text_hash": _ANY_TEXT, "sentence_key": sentence_key(rule.sentence), "created_at": now}
    return insert(connection, "authored_rules", _NEW_RULE.row(rule) | more)


def _keys(sentences: Iterable[str]) -> list[str]:
    """What rules for sentences are found under. Before version 0029 that was the sentence as it stands."""
    return [*dict.fromkeys(key for one in sentences for key in (sentence_key(one), one))]


def rules_of_dataset(connection: Connection, *, org_id: int, dataset_id: int) -> list[AuthoredRule]:
    """The newest first."""
    statement = f"{_RULES} WHERE org_id = ? AND dataset_id = ? ORDER BY id DESC"
    return _RULE.all(connection, statement, (org_id, dataset_id))


def rules_by_id(connection: Connection, ids: Sequence[int]) -> list[AuthoredRule]:
    return _RULE.all(connection, f"{_RULES} WHERE id IN {in_list(ids)} ORDER BY id", ids)


def rules_version(connection: Connection, dataset_id: int) -> int:
    statement = (
        "SELECT orgs.rules_version FROM orgs JOIN datasets ON datasets.org_id = orgs.id WHERE datasets.id = ?"
    )
    return first_value(connection, statement, (dataset_id,)) or 0


def rules_in_force(
    connection: Connection, *, dataset_id: int, version: int, behavior: str
) -> dict[str, list[Json]]:
    """By sentence, as of a version of the org's rules; a sentence without rules is dismissed."""
    rules = _rules_in_force(connection, dataset_id=dataset_id, version=version, texts=[behavior])
    return {sentence_key(rule.sentence): rule.rules for rule in rules if isinstance(rule.rules, list)}


def known_rules(connection: Connection, *, dataset_id: int, texts: Sequence[str]) -> list[AuthoredRule]:
    """What was accepted or dismissed in other datasets and is in force for sentences of these texts."""
    version = rules_version(connection, dataset_id)
    some, room_left = [], MOST_LOOKED_THROUGH
    for text in texts:
        room_left -= len(text)
        some += [text] if room_left >= 0 else []
    rules = _rules_in_force(connection, dataset_id=dataset_id, version=version, texts=some)
    last = {sentence_key(rule.sentence): rule for rule in rules}
    return [rule for rule in last.values() if rule.dataset_id != dataset_id]


def _rules_in_force(
    connection: Connection, *, dataset_id: int, version: int, texts: Sequence[str]
) -> list[AuthoredRule]:
    """The later a rule, the stronger: those of the dataset come last."""
    keys = _keys(sentence for text in texts for sentence in sentences_in(text)[:MOST_SENTENCES])
    hashes = [_ANY_TEXT, *(named(text.encode()).hash for text in texts)]
    found: list[AuthoredRule] = []
    for some in some_of(keys, MOST_KEYS):
        found += _RULE.all(
            connection,
            f"SELECT {_RULE.columns_of('rules')} FROM authored_rules AS rules"
            " JOIN datasets ON datasets.id = rules.dataset_id"
            " JOIN datasets AS own ON own.id = ? AND own.org_id = rules.org_id"
            " WHERE rules.from_version <= ? AND (rules.until_version IS NULL OR rules.until_version > ?)"
            f" AND ((rules.sentence_key IN {in_list(some)}"
            " AND (datasets.id = own.id OR datasets.agent_id = own.agent_id))"
            f" OR (rules.sentence_key IS NULL AND datasets.id = own.id AND rules.sentence IN {in_list(some)}"
            f" AND rules.text_hash IN {in_list(hashes)}))",
            (dataset_id, version, version, *some, *some, *hashes),
        )
    return sorted(found, key=lambda rule: (rule.dataset_id == dataset_id, rule.id))


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
    """All of them, from the next version of their org's rules on; each replaces what was accepted for its
    sentence before. Where some are no longer proposed nothing is done: these are returned."""
    if not rules:
        return []
    # First, as it holds the org until this is stored: nobody else decides on its rules meanwhile.
    version = _next_version(connection, rules[0].dataset_id)
    ids = [rule.id for rule in rules]
    statement = f"SELECT id FROM authored_rules WHERE id IN {in_list(ids)} AND status = ?"
    proposed = first_column(connection, statement, (*ids, PROPOSED))
    decided = [id for id in ids if id not in proposed]
    for rule in () if decided else rules:
        _withdraw(connection, rule.dataset_id, rule.sentence, version)
        _put_in_force(connection, rule.id, version, by=by, now=now)
    return decided


def dismiss(
    connection: Connection, dataset_id: int, *, org_id: int, sentences: Sequence[str], by: str, now: str
) -> list[int]:
    """From the next version on these sentences are not to be enforced, whatever was accepted for them."""
    version = _next_version(connection, dataset_id)
    _forget_proposals(connection, [(dataset_id, sentence) for sentence in sentences])
    ids: list[int] = []
    for sentence in sentences:
        _withdraw(connection, dataset_id, sentence, version)
        new = NewRule(
            org_id=org_id,
            dataset_id=dataset_id,
            sentence=sentence,
            rules=(),
            left_out=None,
            tried={"problem": None},
            status=DISMISSED,
            model="",
            exchange_id=None,
        )
        ids.append(_add(connection, new, now=now))
        _put_in_force(connection, ids[-1], version, by=by, now=now, status=DISMISSED)
    return ids


def _withdraw(connection: Connection, dataset_id: int, sentence: str, version: int) -> None:
    """What the dataset has in force for a sentence."""
    keys = _keys([sentence])
    connection.execute(
        "UPDATE authored_rules SET status = ?, until_version = ? WHERE dataset_id = ?"
        f" AND sentence_key IN {in_list(keys)} AND status IN {in_list(IN_FORCE)}",
        (WITHDRAWN, version, dataset_id, *keys, *IN_FORCE),
    )


def _put_in_force(
    connection: Connection, rule_id: int, version: int, *, by: str, now: str, status: str = ACCEPTED
) -> None:
    connection.execute(
        "UPDATE authored_rules SET status = ?, from_version = ?, decided_by = ?, decided_at = ? WHERE id = ?",
        (status, version, by, now, rule_id),
    )


def reject(connection: Connection, rule: AuthoredRule, *, by: str, now: str) -> bool:
    """Of one that is in force: from now on it is not, and the runs that had it keep it."""
    if rule.status in IN_FORCE:
        version = _next_version(connection, rule.dataset_id)
        done = connection.execute(
            "UPDATE authored_rules SET status = ?, until_version = ?, decided_by = ?, decided_at = ?"
            f" WHERE id = ? AND status IN {in_list(IN_FORCE)}",
            (WITHDRAWN, version, by, now, rule.id, *IN_FORCE),
        )
    else:
        done = connection.execute(
            "UPDATE authored_rules SET status = ?, decided_by = ?, decided_at = ? WHERE id = ?"
            " AND status IN (?, ?)",
            (REJECTED, by, now, rule.id, PROPOSED, REFUSED),
        )
    return bool(done.rowcount == 1)


def _next_version(connection: Connection, dataset_id: int) -> int:
    connection.execute(
        "UPDATE orgs SET rules_version = rules_version + 1"
        " WHERE id = (SELECT org_id FROM datasets WHERE id = ?)",
        (dataset_id,),
    )
    return rules_version(connection, dataset_id)
