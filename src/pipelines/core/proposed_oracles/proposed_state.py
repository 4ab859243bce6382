"""The expected state proposed from a run's changes: one assertion for each change."""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.matchers.matching import MISSING, Path, leaves
from pipelines.core.oracles.paths import NEW
from pipelines.core.oracles.wording import join_words
from pipelines.core.proposed_oracles.oracle_writing import UNCHANGED, path_key
from pipelines.core.proposed_oracles.value_origins import Open, Origins
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.verdict.changes import Change, changes
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.state_oracle import kept_arguments

#: Values asserted one by one; an oracle takes 500. Nobody would read what is proposed of a larger change.
MOST_ASSERTED = 200
_EXISTS: JsonObject = {"$exists": True}
_GONE: JsonObject = {"$exists": False}


class ProposedState(NamedTuple):
    body: JsonObject
    notes: tuple[str, ...]


class _StateAssertion(NamedTuple):
    key: str
    expected: Json
    is_open: bool = False  # only that it is there


def proposed_state(evidence: RunEvidence, origins: Origins) -> ProposedState:
    changed = changes(evidence)
    kept_fields = kept_arguments(changed, evidence)
    counted = [change for change in changed if change not in kept_fields]
    if not counted:
        return ProposedState({**UNCHANGED}, ())
    body: JsonObject = {}
    left_open: list[str] = []
    room = MOST_ASSERTED
    rest: list[Change] = []
    for change in counted:
        found = _assertion_for(change, origins)
        room -= _size(found.expected)
        if room < 0 and body:
            rest.append(change)
            continue
        _add(body, found)
        left_open += [found.key] if found.is_open else []
    return ProposedState(_with_rest(body, rest), tuple(_notes(left_open, kept_fields, rest)))


def _assertion_for(change: Change, origins: Origins) -> _StateAssertion:
    path = _usable_path(change.path)
    if len(path) < len(change.path):
        return _StateAssertion(path_key(*path), _EXISTS, is_open=True)
    if change.after is MISSING:
        return _StateAssertion(path_key(*path), _GONE)
    settled = origins.settled(change.after)  # type: ignore[arg-type]  # not missing
    if change.is_added_entity:
        is_chosen = origins.is_chosen(path[1], change.rows[0])
        return _addition(path[0], path[1] if is_chosen else NEW, settled)
    if isinstance(settled, Open):
        return _StateAssertion(path_key(*path), _EXISTS, is_open=True)
    return _StateAssertion(path_key(*path), settled)


def _addition(entity_type: str, id: str, settled: Json | Open) -> _StateAssertion:
    fields = settled if isinstance(settled, dict) else {}
    fields_set: JsonObject = {name: value for name, value in fields.items() if value is not None}
    if id == NEW:
        return _StateAssertion(path_key(entity_type, NEW), fields_set)
    return _StateAssertion(path_key(entity_type, id), fields_set or _EXISTS)


def _usable_path(path: Path) -> Path:
    """As much of a path as an author could write: no part of it is empty, or means something else."""
    at = next((at for at, part in enumerate(path) if not part or part == NEW), len(path))
    return path[:at]


def _add(body: JsonObject, found: _StateAssertion) -> None:
    if found.key.endswith(NEW) and found.key in body:
        before = body[found.key]
        body[found.key] = [*before, found.expected] if isinstance(before, list) else [before, found.expected]
    else:
        body[found.key] = found.expected


def _size(expected: Json) -> int:
    return sum(1 for _ in leaves(expected, MISSING))


def _with_rest(body: JsonObject, rest: list[Change]) -> JsonObject:
    types: list[Json] = [*dict.fromkeys(path_key(change.path[0]) for change in rest)]
    return body | ({"allow": types} if types else {})


def _notes(left_open: list[str], beside: list[Change], rest: list[Change]) -> Iterator[str]:
    if left_open:
        yield (
            f"Only expected to exist, because the backend generates the value in each run or the agent "
            f"chooses its own words: {join_words(left_open)}."
        )
    if beside:
        names = join_words([path_key(*change.path) for change in beside])
        yield f"Not asserted, because the call only stored an argument: {names}."
    if rest:
        yield (
            f"{len(rest):,} more changes are allowed and not asserted: the run changed more than an oracle "
            f"lists one by one."
        )
