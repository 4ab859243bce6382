"""Kinds of things and tools as a sentence may speak of them, and finding a field or a value by what it is
called.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeGuard

from pipelines.core.english.inflection import action_nouns
from pipelines.core.english.stems import stem
from pipelines.core.english.words import joined, singular, word_set
from pipelines.core.english.words import tokens as words_of
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.behavior import words
from pipelines.core.simulation.domain import shapes
from pipelines.core.simulation.library.dates import moment_of


class ToolLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> JsonObject: ...
    @property
    def output_schema(self) -> JsonObject | None: ...


Path = tuple[str, ...]
STATUS_WORDS = ("status", "state", "stage", "phase")

# Fields that rules speak of although no record of the kind has been seen yet.
USUAL_FIELDS = word_set(
    "status state total subtotal amount quantity price balance stock reason email name date tier role"
)

_DATE_WORDS = word_set("at on date time timestamp datetime day")

_NOISE = word_set(
    "the a an its their his her this that current field value attribute property column own given "
    "requested provided supplied specified submitted passed input argument parameter original new"
)

_ADJECTIVES = word_set("available remaining current existing outstanding actual requested")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of thing: an entity type of the world, or one that only the tools speak of (no fields known)."""

    name: str  # as the world spells it
    fields: Mapping[Path, shapes.Field] = field(default_factory=dict)
    only_id: str | None = None  # the one entity of this kind, where it stands for a service
    is_inside: bool = False  # kept inside records of another kind, so that no id alone finds one
    role: str = (
        ""  # the field that holds its id, where it is called after what it is to other things: a creator
    )
    of: str = ""  # and the kind it then is

    @property
    def status(self) -> Path | None:
        """The field that says where the thing stands."""
        plain = [path for path in self.fields if path[-1].lower() in STATUS_WORDS]
        ending = [
            path for path in self.fields if words_of(path[-1])[-1:] in {(word,) for word in STATUS_WORDS}
        ]
        return next(iter([*sorted(plain, key=len), *sorted(ending, key=len)]), None)

    def dates(self) -> list[Path]:
        return [path for path, one in self.fields.items() if is_date(path[-1], one)]


class Kinds(Mapping[str, Kind]):
    """Kinds of things by name; those that are only called after a role are found, but not gone through."""

    def __init__(self, own: Mapping[str, Kind], roles: Mapping[str, Kind]) -> None:
        self._own, self._roles = own, roles

    def __getitem__(self, name: str) -> Kind:
        return self._own[name] if name in self._own else self._roles[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)

    @property
    def roles(self) -> Mapping[str, Kind]:
        return self._roles


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolWords:
    """A tool as a sentence may speak of it."""

    name: str
    verb: str
    words: frozenset[str]  # singular words of the name
    reads: bool
    creates: bool
    arguments: Mapping[str, JsonObject]
    required: frozenset[str]
    output: Mapping[str, JsonObject]  # properties of the reply, or of each element where it is a list
    kind: str | None = None  # what the tool is about
    makes: str | None = None  # the kind of which each call adds one, where its words or arguments say so
    called: str | None = None  # what it makes by its name, where its plan adds something called otherwise
    described: tuple[str, ...] = ()  # the words of its description

    def choices(self, argument: str) -> list[str]:
        """The texts that an argument may be, where its schema lists them."""
        enum = self.arguments.get(argument, {}).get("enum")
        return [value for value in enum if isinstance(value, str)] if isinstance(enum, list) else []


def find_field(fields: Mapping[Path, shapes.Field], phrase: str, similar: bool = True) -> Path | None:
    """The field meant by `shipped date`, `the order status`, `userId`: exact, then by stems, then by
    synonyms.
    """
    spoken = [word for word in words_of(phrase) if word not in _NOISE] or list(words_of(phrase))
    ranked = sorted(fields, key=len)
    for same in (_spelled_alike, _stemmed_alike, _in_units_alike, _ends_alike, _said_longer, _starts_alike):
        hits = [path for path in ranked if same(path, spoken)]
        if hits and (len(hits) == 1 or same is _spelled_alike or len(hits[0]) < len(hits[1])):
            return hits[0]
    if len(spoken) > 1 and spoken[0] in _ADJECTIVES:
        return find_field(fields, " ".join(spoken[1:]), similar)
    if len(spoken) > 1 and spoken[-1] in ("number", "count"):  # the phone number
        return find_field(fields, " ".join(spoken[:-1]), similar)
    for said, written in words.SAME_FIELDS if similar else ():
        if joined(spoken) in said:
            for name in written:
                hits = [path for path in ranked if joined(words_of(path[-1])) == joined(words_of(name))]
                if hits and len(hits[0]) == 1:
                    return hits[0]
    return None


def counts(tool: ToolWords, counted: str = "") -> list[str]:
    """Numbers that a call gives which say how many: a quantity, or what is called after the things counted.

    A fee or a score is a number too, and no sentence about how many of something means it.
    """
    return [
        name
        for name, schema in tool.arguments.items()
        if schema.get("type") in ("integer", "number")
        and (set(words_of(name)) & _COUNTING or _counts_such(words_of(name)[-1], counted))
    ]


def _counts_such(word: str, counted: str) -> bool:
    """`seats` counts seats; of nothing in particular, any plural counts something."""
    return singular(word) != word and (not counted or singular(words_of(counted)[-1]) == singular(word))


_COUNTING = word_set("quantity qty count number amount units pieces copies")


def find_field_named(kind: Kind, name: str) -> shapes.Field | None:
    return kind.fields.get((name,))


def is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def find_argument(tool: ToolWords, phrase: str) -> str | None:
    """The argument meant by a phrase: `amount`, `the refund amount` of a tool that refunds."""
    fields = _as_fields(tuple(tool.arguments))
    first, _, rest = phrase.partition(" ")
    for spoken in (phrase, rest if rest and first in action_nouns(tool.verb) else ""):
        found = find_field(fields, spoken, similar=False) if spoken else None
        if found is not None:
            return found[0]
    return None


@lru_cache(maxsize=1024)
def _as_fields(names: tuple[str, ...]) -> Mapping[Path, shapes.Field]:
    return {(name,): shapes.Field(name=name) for name in names}


def is_date(name: str, one: shapes.Field) -> bool:
    is_named_so = words_of(name)[-1:] and words_of(name)[-1] in _DATE_WORDS
    if any(isinstance(value, str) for value in one.values):
        written = [value for value in one.values if isinstance(value, str)]
        return bool(is_named_so) or all(moment_of(value) is not None for value in written)
    if "number" in one.kinds:
        return bool(is_named_so) and all(moment_of(value) for value in one.values if is_number(value))
    return bool(is_named_so) and "boolean" not in one.kinds


def switch_of(kind: Kind, word: str) -> Path | None:
    """The yes-or-no field that says a thing is so: `active`, `is_active`."""
    named = {joined(words_of(name)) for name in (word, f"is_{word}", f"has_{word}")}
    for path, one in kind.fields.items():
        if "boolean" in one.kinds and joined(words_of(path[-1])) in named:
            return path
    return None


def known_value(one: shapes.Field | None, said: str) -> Json:
    """The field's own spelling of a value: `In Transit` for in_transit; as said where no such value was
    seen.
    """
    for value in one.values if one else ():
        if isinstance(value, str) and loose(value) == loose(said):
            return value
    return said


def has_value(one: shapes.Field | None, said: str) -> bool:
    return any(
        isinstance(value, str) and loose(value) == loose(said) for value in (one.values if one else ())
    )


@lru_cache(maxsize=4096)
def loose(text: str) -> str:
    return re.sub(r"[\s_\-]+", "", text).casefold()


def _spelled_alike(path: Path, spoken: Sequence[str]) -> bool:
    said = joined(SHORT.get(word, word) for word in spoken)
    return said in (_in_short(path[-1]), _in_short("_".join(path)))


SHORT = {"minimum": "min", "maximum": "max", "quantity": "qty", "average": "avg", "percentage": "percent"}


def _in_short(name: str) -> str:
    return joined(SHORT.get(word, word) for word in words_of(name))


def _stemmed_alike(path: Path, spoken: Sequence[str]) -> bool:
    name = words_of(path[-1])
    dated = bool(_DATE_WORDS & set(name))
    if _DATE_WORDS & set(spoken) and not dated:
        return False
    return _stems(name) == _stems(spoken) and (dated or bool(_stems(name)))


def _stems(parts: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(part) for part in parts if part not in _DATE_WORDS and part not in ("is", "has"))


def _ends_alike(path: Path, spoken: Sequence[str]) -> bool:
    name = [singular(word) for word in words_of(path[-1])]
    wanted = [singular(word) for word in spoken]
    if len(name) <= len(wanted) or name[-len(wanted) :] != wanted or wanted[-1] in ("id", "number"):
        return False
    return name[-len(wanted) - 1] != "per"  # a price_per_night is no night


def _said_longer(path: Path, spoken: Sequence[str]) -> bool:
    """`failed PIN attempts` for pin_attempts: a word more in front, where the name itself has two."""
    name = [singular(word) for word in words_of(path[-1])]
    wanted = [singular(word) for word in spoken]
    return 1 < len(name) < len(wanted) and wanted[-len(name) :] == name


def _in_units_alike(path: Path, spoken: Sequence[str]) -> bool:
    """`preferred size` or just `size` for preferred_size_sqm."""
    name = [singular(word) for word in words_of(path[-1])]
    wanted = [singular(word) for word in spoken]
    return len(name) > 1 and name[-1] in UNITS and name[-1 - len(wanted) : -1] == wanted


#: What a name may end with that only says in what its value is counted.
UNITS = word_set(
    "sqm m2 m km cm mm kg g gb mb kwh kw eur usd percent pct minute hour day week month word point"
)


def _starts_alike(path: Path, spoken: Sequence[str]) -> bool:
    """`fines` for fines_due; an id is never meant by what it identifies."""
    name = [singular(word) for word in words_of(path[-1])]
    wanted = [singular(word) for word in spoken]
    return len(name) > len(wanted) and name[: len(wanted)] == wanted and name[-1] not in _NO_TAIL


_NO_TAIL = word_set("id number name type kind code at on date")
