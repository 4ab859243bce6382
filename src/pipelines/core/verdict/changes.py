"""What a run changed in its world, path by path, and which calls did it.

Only records that the log touched are compared, so the cost does not grow with the world. A value that was
changed and changed back is not a change. Flags are left out: they belong to the test, not to the world.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.ledger.ledger import Ledger, Update, is_flag_section
from pipelines.core.matchers.matching import MISSING, Actual, Path
from pipelines.core.oracles.paths import FLAGS, path_text
from pipelines.core.oracles.trace import EntityUpdate, EvidenceRow
from pipelines.core.oracles.wording import calls_text, format_value
from pipelines.core.text.json_text import Json, same
from pipelines.core.verdict.evidence import RunEvidence


class Change(NamedTuple):
    path: Path  # (entity type, id) of an entity added or removed, else down to the value that differs
    before: Actual
    after: Actual
    rows: tuple[EvidenceRow, ...]

    @property
    def is_added_entity(self) -> bool:
        return len(self.path) == 2 and self.before is MISSING

    def describe(self) -> str:
        """`order.4521.status changed from "paid" to "cancelled" in call 5 (cancel_order)`."""
        where, by = path_text(self.path), calls_text(self.rows)
        if self.before is MISSING:
            return f"{where} was added in {by}"
        if self.after is MISSING:
            return f"{where} was removed in {by}"
        return f"{where} changed from {format_value(self.before)} to {format_value(self.after)} in {by}"


def changes(evidence: RunEvidence) -> list[Change]:
    """Every difference between the world before and after the run that its log shows."""
    touched: dict[tuple[str, str], list[tuple[EvidenceRow, EntityUpdate]]] = {}
    for row in evidence.trace:
        for update in evidence.changes_of(row):
            touched.setdefault((update.entity_type, update.id), []).append((row, update))
    found: list[Change] = []
    for (entity_type, id), log in touched.items():
        before = evidence.world.entities.get(entity_type, {}).get(id, MISSING)
        after = evidence.after.get(entity_type, id)
        path = (entity_type, id)
        for place, old, new in _differences(path, before, MISSING if after is None else after):
            found.append(Change(place, old, new, _writers(place, log)))
    return found


def value_at(ledger: Ledger, path: Path) -> Actual:
    """The value at a path of the ledger. A flag is true when it is set and missing otherwise."""
    if not path:
        return MISSING
    if path[0] == FLAGS and is_about_flags(ledger):
        return True if len(path) == 2 and ledger.is_flagged(path[1]) else MISSING
    if len(path) == 1:
        entities: dict[str, Json] = dict(ledger.entities(path[0]))
        return entities or MISSING
    node: Actual = ledger.get(path[0], path[1])
    if node is None:
        return MISSING
    for part in path[2:]:
        node = _child(node, part)
    return node


def is_about_flags(ledger: Ledger) -> bool:
    """Whether `flags` means the ledger's flags here; a world may also have entities of that name."""
    return FLAGS not in ledger.entity_types() or is_flag_section(FLAGS, dict(ledger.entities(FLAGS)))


def _child(node: Actual, part: str) -> Actual:
    if isinstance(node, dict):
        return node.get(part, MISSING)
    if isinstance(node, list) and part.isdecimal() and int(part) < len(node):
        return node[int(part)]
    return MISSING


def _differences(path: Path, before: Actual, after: Actual) -> Iterator[tuple[Path, Actual, Actual]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before | after:
            yield from _differences((*path, key), _child(before, key), _child(after, key))
    elif before is MISSING or after is MISSING:
        if before is not after:
            yield path, before, after
    elif not same(before, after):  # type: ignore[arg-type]  # neither is missing
        yield path, before, after


def _writers(path: Path, log: list[tuple[EvidenceRow, EntityUpdate]]) -> tuple[EvidenceRow, ...]:
    """The calls that wrote this path: additions and removals write all of an entity."""
    wrote = [row for row, update in log if not isinstance(update, Update) or _writes(update, path)]
    return tuple({row.sequence: row for row in wrote or [row for row, _ in log]}.values())


def _writes(update: Update, path: Path) -> bool:
    return len(path) == 2 or path[2] in update.set or path[2] in update.unset
