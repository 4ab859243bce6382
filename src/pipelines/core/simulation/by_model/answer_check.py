"""Checks a model's answer for a call against the schemas, the world and the records it was shown.

All problems are collected, since the model is asked to correct them only once. An answer that passes may
still be wrong: a plausible change of a shown record cannot be told from what the backend would have done.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipelines.core.ledger.ledger import (
    Add,
    InvalidUpdate,
    Ledger,
    LedgerUpdate,
    Remove,
    SetFlag,
    Update,
    update_from_json,
)
from pipelines.core.ledger.ledger_schema import LedgerSchema, update_problems
from pipelines.core.simulation.by_model.leaked_text import quotation_problems
from pipelines.core.simulation.by_model.relevant import EntityKey, ShownWorld, is_spoken_of, spoken_words
from pipelines.core.simulation.by_model.seen_fields import seen_fields, value_problems
from pipelines.core.simulation.by_model.unseen_records import unshown_records
from pipelines.core.simulation.reply_check import reply_problems
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool

LONGEST_ID = 200


@dataclass(
    frozen=True, kw_only=True
)  # no slots: what may be computed is worked out when it is first asked for
class ExpectedAnswer:
    """All that an answer for one call is held against."""

    tool: Tool
    arguments: JsonObject
    ledger: Ledger
    ledger_schema: LedgerSchema | None
    shown: ShownWorld
    behavior: str
    not_understood: tuple[str, ...]  # sentences of it that no plan enforces
    shaped: frozenset[str]  # fields that a rule of it works out
    only_reads: bool  # by its name and description
    fence: str
    instructions: str
    may_show_more: bool = False  # an answer about other records is asked for again, with those shown

    def unshown(self, data: JsonObject) -> tuple[EntityKey, ...]:
        """Records that the answer is about and that were not shown, where they can still be."""
        if not self.may_show_more:
            return ()
        return unshown_records(data, self.arguments, self.ledger, self.shown)

    def problems(self, data: JsonObject) -> list[Problem]:
        """Of an answer that fits the schema it was asked by."""
        status, response = data["status"], data["response"]
        assert isinstance(status, int)
        found = [*self._quoted(data)]
        updates, broken = read_updates(data)
        if 300 <= status < 400:
            found.append(
                Problem(path="/status", message="must be a success (200 to 299) or an error (400 or more)")
            )
        if status >= 400:
            if data["updates"]:
                found.append(
                    Problem(path="/updates", message="an error changes nothing, so it must be empty")
                )
            return found
        found += broken
        if broken or self.unshown(data):  # of what was not seen nothing can be right or wrong yet
            return found
        after, wrong = self._after(updates)
        found += wrong
        problems_found = reply_problems(
            response, tool=self.tool, ledger_after=after, computed=self.computed, arguments=self.arguments
        )
        return found + [
            Problem(path=f"/response{one.path}", message=one.message, hint=one.hint) for one in problems_found
        ]

    @cached_property
    def computed(self) -> frozenset[str]:
        """Fields that may say something else than the ledger: those that a rule works out and, of rules that
        only the model knows, numbers that they name."""
        spoken = {word for sentence in self.not_understood for word in re.findall(r"\w+", sentence.lower())}
        numbers = {
            names[-1]
            for kind in sorted({kind for kind, _ in self.shown.entities})
            for names, seen in seen_fields(self.ledger.world, kind).items()
            if len(names) == 1 and seen.kinds == {"a number"}
        }
        return self.shaped | {name for name in numbers if name.lower() in spoken}

    def _quoted(self, data: JsonObject) -> Iterator[Problem]:
        for part in ("response", "updates"):
            yield from quotation_problems(
                data[part], (self.behavior, self.instructions), self.fence, f"/{part}"
            )

    def _after(self, updates: Sequence[LedgerUpdate]) -> tuple[Ledger, list[Problem]]:
        """The world with the updates that can be, and what is wrong with the others."""
        after, found = self.ledger.draft(), []
        if updates and self.only_reads and self.tool.name not in self.behavior:
            message = f"{self.tool.name} only reads, as its name and description say, so it must be empty"
            return after, [Problem(path="/updates", message=message)]
        for at, update in enumerate(updates):
            place = f"/updates/{at}"
            wrong = [*self._misplaced(update, after, place), *self._against_schema(update, place)]
            wrong = wrong or [*self._against_world(update, place)]
            found += wrong
            if not wrong:
                after.apply([update])
        return after, found

    def _misplaced(self, update: LedgerUpdate, after: Ledger, place: str) -> Iterator[Problem]:
        if isinstance(update, SetFlag):
            if not update.flag.strip() or len(update.flag) > LONGEST_ID:
                yield Problem(path=f"{place}/flag", message="is not a valid name of a flag")
            return
        kind, id = update.entity_type, update.id
        current = after.get(kind, id)
        if isinstance(update, Add):
            if not id.strip() or len(id) > LONGEST_ID:
                yield Problem(path=f"{place}/id", message=f"must have 1 to {LONGEST_ID} characters")
            if current is not None:
                yield Problem(
                    path=f"{place}/id",
                    message=f"{kind} {id!r:.60} already exists: update it, or use another id",
                )
            elif kind not in after.entity_types() and not self._speaks_of(kind):
                yield Problem(
                    path=f"{place}/entity_type",
                    message=f"the world has no type {kind!r:.60}, and nothing mentions one",
                )
        elif current is None:
            yield Problem(path=f"{place}/id", message=f"there is no {kind} {id!r:.60} in the world")
        elif (kind, id) not in self.shown.entities and after.get(kind, id) == self.ledger.get(kind, id):
            yield Problem(
                path=f"{place}/id", message=f"{kind} {id!r:.60} was not shown, so it cannot be changed"
            )

    def _against_schema(self, update: LedgerUpdate, place: str) -> Iterator[Problem]:
        for one in update_problems(self.ledger_schema, update) if self.ledger_schema is not None else ():
            yield Problem(path=place + one.path, message=one.message, hint=one.hint)

    def _against_world(self, update: LedgerUpdate, place: str) -> Iterator[Problem]:
        if isinstance(update, (SetFlag, Remove)):
            return
        attrs, part = (update.attrs, "attrs") if isinstance(update, Add) else (update.set, "set")
        seen = seen_fields(self.ledger.world, update.entity_type)
        yield from value_problems(attrs, seen, f"{place}/{part}", update.entity_type)
        if isinstance(update, Update) and (update.entity_type, update.id) in self.shown.cut:
            for name, value in update.set.items():
                if isinstance(value, (dict, list)):
                    yield Problem(
                        path=f"{place}/set/{name}", message="was shown only in part, so it cannot be replaced"
                    )

    def _speaks_of(self, kind: str) -> bool:
        """Whether a new type is one that the tool makes, by what is said of it."""
        spoken = spoken_words(self.tool.name, self.tool.description, self.behavior)
        return is_spoken_of(kind, spoken)


def read_updates(data: JsonObject) -> tuple[tuple[LedgerUpdate, ...], list[Problem]]:
    """What the answer changes; it fits the schema, so that each can nearly always be read."""
    updates: list[LedgerUpdate] = []
    broken: list[Problem] = []
    listed: Json = data["updates"]
    for at, body in enumerate(listed if isinstance(listed, list) else ()):
        try:
            updates.append(update_from_json(body if isinstance(body, dict) else {}))
        except InvalidUpdate as error:
            broken.append(Problem(path=f"/updates/{at}", message=f"is not a valid update: {error}"[:300]))
    return tuple(updates), broken
