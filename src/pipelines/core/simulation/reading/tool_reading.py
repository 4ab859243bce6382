"""One tool as it is read: its name taken apart, its arguments, its description, and the world around."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pipelines.core.english.words import is_plural, singular, singulars, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument, ToolLike
from pipelines.core.simulation.domain.shapes import Collection, Singleton, Survey
from pipelines.core.simulation.domain.tool_facts import facts_of
from pipelines.core.simulation.domain.tool_names import ToolName, first_sentence
from pipelines.core.simulation.reading.replies import wants_list
from pipelines.core.simulation.reading.targets import (
    Subject,
    best_collection,
    named_thing,
    service_of,
    subject_of,
)
from pipelines.core.text.json_text import Json

_QUOTE = r"['\"‘’“”`]"
_BECOMES = re.compile(
    r"\b(?:status|state)\b[^.;]{0,40}?\b(?:changed?|updated?|set|marked|moved|becomes?|turned)\b"
    r"(?: to| as)?\s*"
    rf"{_QUOTE}([^'\"‘’“”`]+){_QUOTE}",
    re.IGNORECASE,
)
_CANNOT_IF = re.compile(
    r"\bif\b[^.;,]{0,40}?\b(?:is|are|has been|have been)\s+(?:already\s+)?([^.;,]{1,60}),"
    r"[^.;]{0,30}?\b(?:cannot|can not|can't|may not|must not)\b",
    re.IGNORECASE,
)
_REFUND = re.compile(
    r"\b(?:payments?|amounts?|money|price|cost)\b[^.;]{0,40}\brefunded\b|\brefund(?:s|ed)?\b[^.;]{0,30}\b(?:payment|amount|paid)\b",
    re.IGNORECASE,
)
_LISTS_IDS = re.compile(
    r"\b(?:list of|all)(?: the| all)?(?: \w+){0,2} (?:ids|identifiers|symbols|codes)\b", re.IGNORECASE
)
_BY_SO_MUCH = re.compile(r"\bby (?:up to |an? additional |another |a further )?\d")


@dataclass(frozen=True, kw_only=True, slots=True)
class DescriptionFacts:
    """The parts of a description that a plan can enforce."""

    summary: str  # the first sentence
    becomes: str | None  # "status will be changed to 'cancelled'"
    forbidden_states: tuple[str, ...]  # "if the order is already processed or delivered, it cannot be …"
    refunds: bool  # "the payment will be refunded"
    lists_ids: bool  # "a list of stock symbols", "all order ids"
    by_so_much: bool = False  # "by 14 days"


def read_description(description: str | None) -> DescriptionFacts:
    text = _flat(description or "")
    becomes = _BECOMES.search(text)
    summary = first_sentence(text)
    return DescriptionFacts(
        summary=summary,
        becomes=becomes.group(1) if becomes else None,
        forbidden_states=tuple(_forbidden(text)),
        refunds=_REFUND.search(text) is not None,
        lists_ids=_LISTS_IDS.search(summary) is not None,
        by_so_much=_BY_SO_MUCH.search(summary) is not None,
    )


def content_words(description: str | None) -> tuple[str, ...]:
    return tokens(_flat(description or ""))


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _forbidden(text: str) -> Iterator[str]:
    for found in _CANNOT_IF.finditer(text):
        for state in re.split(r"\s+or\s+|,\s*", found.group(1)):
            word = state.strip(" '\"").lower()
            if word and len(word.split()) <= 3:
                yield word


_OF_MANY = word_set(
    "list roster schedule history queue log report feed register timetable agenda calendar directory"
)
_OPENINGS = word_set("returns return gets get lists list shows show all every the open active current any")
_YES_OR_NO = word_set("whether if is are does do can has have")
_NEVER_PLURAL = word_set("details info information stats statistics status address news")


@dataclass(frozen=True, kw_only=True)  # no slots: what it is about is found once and kept
class Reading:
    tool: ToolLike
    name: ToolName
    arguments: tuple[Argument, ...]  # but for tokens and keys, which only open the door
    said: DescriptionFacts
    known: Survey
    service: Singleton | None

    @property
    def output(self) -> Mapping[str, Json] | None:
        return self.tool.output_schema or None

    @cached_property
    def thing(self) -> tuple[str, ...]:
        """The nouns of the tool's name: `get_room_details` → room."""
        return named_thing(self.name)

    @cached_property
    def subject(self) -> Subject | None:
        """The record that it is about, and the argument that picks it."""
        return subject_of(self.name, self.arguments, self.known, self.service)

    @cached_property
    def collection(self) -> Collection | None:
        """The collection that the tool's own nouns name."""
        return best_collection(self.thing, self.known, self.service) if self.thing else None

    def wants_many(self) -> bool:
        """Whether the reply is a list: said by the output schema, else by the verb or a plural noun."""
        list_wanted = wants_list(self.output)
        if list_wanted is not None:
            return list_wanted
        if self.name.op == "list":
            return True
        if self.asks_whether() or self.picks_own():
            return False
        nouns = self.name.nouns
        plural = bool(nouns) and is_plural(nouns[-1]) and nouns[-1] not in _NEVER_PLURAL
        if plural or (self.name.op == "search" and not self.name.complement("by")):
            return True
        return bool(nouns) and (nouns[-1] in _OF_MANY or self._describes_many())

    def picks_own(self) -> bool:
        """Whether an id of the very thing that the name speaks of is given: `orders.get(id)`."""
        head = singulars(self.thing)[-1:]
        return any(
            one.id_noun is not None
            and one.words[-1] in ("id", "uuid", "identifier")
            and one.is_scalar
            and one.is_required
            and singulars(one.id_noun)[-1:] in ((), head)
            for one in self.arguments
        )

    def asks_whether(self) -> bool:
        return tokens(self.said.summary)[0] in _YES_OR_NO

    def _describes_many(self) -> bool:
        """ "Workers on a shift.": the description begins with several of a type."""
        tables = self.known.tables.values()
        labels = (singulars(tokens(table.entity_type)) for table in tables)
        heads = {noun[-1] for table in tables for noun in (table.words, *table.called)}
        heads |= {label[-1] for label in labels}
        opening = [word for word in tokens(self.said.summary) if word not in _OPENINGS][:2]
        return any(is_plural(word) and singular(word) in heads for word in opening)

    @property
    def answers_in_objects(self) -> bool:
        """A world of services answers `{"balance": 5}`, one of records answers 5.

        With a world of tables a value is returned as it is kept; a service's methods name what they return.
        """
        return bool(self.known.singletons) or self.known.is_empty


def read_tool(tool: ToolLike, known: Survey) -> Reading:
    description = tool.description or ""
    facts = known.tools.get(tool.name) or facts_of((tool,))[0]
    name, arguments = facts.name, facts.arguments
    return Reading(
        tool=tool,
        name=name,
        arguments=tuple(one for one in arguments if name.op == "login" or not one.is_credential),
        said=read_description(description),
        known=known,
        service=service_of(name, content_words(description), known),
    )
