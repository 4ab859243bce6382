"""Where a run's values come from, and which of them another run of the same task would also have.

Ids and times that the backend generates differ in each run; so do texts in the agent's own words.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.proposed_oracles.oracle_writing import expectation_for
from pipelines.core.text.json_text import Json, same
from pipelines.core.verdict.changes import changes
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.words.values import id_tokens, is_id, normalize_id

_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}\S{0,16})?")
_WORD = re.compile(r"[^\W_]+")
_CHOICES = ("enum", "const", "default", "examples")


class Open:
    """In place of a value that another right run need not come to."""

    __slots__ = ()


OPEN: Final = Open()


@dataclass(frozen=True)  # no slots: what is derived is kept on the record
class Origins:
    evidence: RunEvidence
    made_elsewhere: frozenset[str] = frozenset()  # values that are known to differ from run to run

    def settled(self, value: Json) -> Json | Open:
        """What can be asked of another run in place of this value: an expectation that it meets itself."""
        match value:
            case dict():
                return self._object(value)
            case list():
                return self._list(value)
            case _:
                is_open = self.is_made(value) or self.is_own_wording(value)
                return OPEN if is_open else expectation_for(value, self._arguments)

    def is_made(self, value: Json) -> bool:
        """By the backend, in this run: an id that it drew, or a moment that it took from its clock."""
        if value is None or isinstance(value, bool | dict | list):
            return False
        text = str(value)
        if text in self.drawn_ids or text in self.made_elsewhere:
            return True
        if not isinstance(value, str) or self._is_known(text):
            return False
        return _MOMENT.fullmatch(text) is not None or _is_token(text)

    def is_own_wording(self, value: Json) -> bool:
        """A text that the agent gave to a call and had from nowhere: neither the user, nor the backend, nor
        the tool says it."""
        if not isinstance(value, str) or value.casefold() not in self._given:
            return False
        words = set(_words(value))
        is_name = _is_token(value) or not any(map(str.isalpha, value))
        if is_name or words <= self._request_words:
            return False
        return value.casefold() not in self._before and value not in self._choices

    def is_chosen(self, id: str, row: EvidenceRow) -> bool:
        """Whether the call that added a record said under which id."""
        return any(leaf == id for leaf in leaves_of(row.arguments))

    @cached_property
    def drawn_ids(self) -> frozenset[str]:
        added = (change for change in changes(self.evidence) if change.is_added_entity)
        return frozenset(
            change.path[1] for change in added if not self.is_chosen(change.path[1], change.rows[0])
        )

    # What was there

    def _object(self, value: dict[str, Json]) -> Json | Open:
        parts = ((name, self.settled(part)) for name, part in value.items() if not name.startswith("$"))
        kept = {name: part for name, part in parts if not isinstance(part, Open)}
        # Words of the oracle's own language: as fields of a record they would be read as that.
        is_read_otherwise = kept.keys() == {"unchanged"}
        return OPEN if is_read_otherwise or (value and not kept) else kept

    def _list(self, value: list[Json]) -> Json | Open:
        parts = [self.settled(part) for part in value]
        if not any(isinstance(part, Open) for part in parts) and same(parts, value):  # type: ignore[arg-type]
            return value
        expectations: list[Json] = [
            {"$contains": part} for part in parts if not isinstance(part, Open) and part not in ("", {}, [])
        ]
        return {"$all_of": expectations} if expectations else OPEN

    def _is_known(self, text: str) -> bool:
        low = text.casefold()
        return low in self._given or low in self._before or normalize_id(text) in self._asked_ids

    @cached_property
    def _arguments(self) -> list[Json]:
        return [leaf for row in self.evidence.calls for leaf in leaves_of(row.arguments)]

    @cached_property
    def _given(self) -> frozenset[str]:
        return _texts(self._arguments)

    @cached_property
    def _before(self) -> frozenset[str]:
        """Texts that were there before anything was changed: records as they were, and replies until then. A
        later reply also tells what the changes made."""
        found: set[str] = set(_texts(leaves_of(self.evidence.task_input)))
        first = min((row.sequence for row in self.evidence.writes), default=None)
        for row in self.evidence.calls:
            if first is None or row.sequence < first:
                found |= _texts(leaves_of(row.response))
        before = Ledger(self.evidence.world)
        for kind, id in {(change.path[0], change.path[1]) for change in changes(self.evidence)}:
            found |= _texts(leaves_of(before.get(kind, id)))
        return frozenset(found)

    @cached_property
    def _request_text(self) -> str:
        return "\n".join((self.evidence.user_instruction, *self.evidence.later_user_turns))

    @cached_property
    def _request_words(self) -> frozenset[str]:
        return frozenset(_words(self._request_text))

    @cached_property
    def _asked_ids(self) -> frozenset[str]:
        return frozenset(id_tokens(self._request_text))

    @cached_property
    def _choices(self) -> frozenset[str]:
        """Texts that a tool's own schema offers."""
        schemas = [tool.input_schema for tool in self.evidence.tools]
        return frozenset(text for schema in schemas for text in _schema_choices(schema))


def leaves_of(value: Json) -> Iterator[Json]:
    match value:
        case dict():
            for part in value.values():
                yield from leaves_of(part)
        case list():
            for part in value:
                yield from leaves_of(part)
        case _:
            yield value


def _texts(values: Iterable[Json]) -> frozenset[str]:
    return frozenset(value.casefold() for value in values if isinstance(value, str))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _is_token(text: str) -> bool:
    return not any(map(str.isspace, text)) and is_id(text)


def _schema_choices(schema: Json) -> Iterator[str]:
    match schema:
        case dict():
            for name, part in schema.items():
                if name in _CHOICES:
                    yield from (leaf for leaf in leaves_of(part) if isinstance(leaf, str))
                else:
                    yield from _schema_choices(part)
        case list():
            for part in schema:
                yield from _schema_choices(part)
