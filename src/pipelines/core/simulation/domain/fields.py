"""What a field looks like over the records in which it was seen, and what part it plays in them."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Literal

from pipelines.core.english.words import is_plural, joined, rows, singular, tokens, word_set
from pipelines.core.text.json_text import Json, JsonObject

Form = Literal["table", "map", "list"]
SAMPLE = 200  # records looked at per kind: enough for every field of a real table, few enough for any size
MAX_DEPTH = 4
FEW = 12  # different values of a field that rules may name

#: A word as code has it: a text field of which all values are such keeps states, kinds or roles.
_CODED = re.compile(r"[a-z]+(?:[_-][a-z]+)*")
#: Fields that do, however their values are spelled.
_VOCABULARIES = word_set("status state stage phase kind type category priority level role tier method source")

_LIST_NAMES = word_set("map list queue inbox index history log stack catalog registry table book record")


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One attribute, over all records in which it was seen."""

    name: str
    kinds: frozenset[str] = frozenset()  # text, number, boolean, null, list, object
    values: tuple[Json, ...] = ()  # declared, or the set of words that a state, a kind or a role is told in
    seen: tuple[Json, ...] = ()  # the different scalar values, when they are few: those that rules may name
    example: Json = None  # some scalar value, to write others like it
    keeps: Form | None = None  # map or list when it holds many things rather than being one
    of_records: bool = False  # the many things are objects
    parts: Mapping[str, "Field"] = field(default_factory=dict)  # of the object, or of each record kept
    id_field: str | None = None  # of the records kept
    is_empty: bool = False  # a container in which nothing was ever seen

    @property
    def named_values(self) -> tuple[Json, ...]:
        """What a rule may call by its name: what was seen, and what is declared."""
        return tuple(dict.fromkeys((*self.seen, *self.values)))


def fields_of(records: Iterable[Mapping[str, Json]], depth: int = 0) -> dict[str, Field]:
    seen: dict[str, list[Json]] = {}
    for record in records:
        for name, value in record.items():
            seen.setdefault(name, []).append(value)
    return {name: _field(name, values, depth) for name, values in seen.items()}


def find_field(fields: Mapping[str, Field], name: str) -> str | None:
    """The field meant by a name in another spelling: `orderStatus`, `qty`, `dob` for date_of_birth."""
    if name in fields:
        return name
    full_name = _in_full(name)
    same = next((known for known in fields if _in_full(known) == full_name), None)
    if same is not None or len(name) < 3:
        return same
    return next((known for known in fields if _initials(known) == name), None)


_SHORT = dict(
    rows(
        "qty quantity, avg average, num number, no number, addr address, desc description, amt amount, "
        "tel phone, msg message, pwd password, dept department, mgr manager, org organization, "
        "temp temperature, lang language, lat latitude, lng longitude, lon longitude, mobile phone, "
        "mail email, colour color, postcode zip"
    )
)


def in_full(word: str) -> str:
    return _SHORT.get(word, word)


@lru_cache(maxsize=8192)
def _in_full(name: str) -> str:
    return joined(map(in_full, tokens(name)))


@lru_cache(maxsize=8192)
def _initials(name: str) -> str:
    return "".join(word[0] for word in tokens(name))


def kind_of(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "text", list: "list", dict: "object"}[type(value)]


def _field(name: str, values: list[Json], depth: int) -> Field:
    kinds = frozenset(map(kind_of, values))
    objects = [value for value in values if isinstance(value, dict)]
    lists = [value for value in values if isinstance(value, list)]
    if objects and depth < MAX_DEPTH:
        return _object_field(name, kinds, objects, depth)
    if lists and depth < MAX_DEPTH:
        return _list_field(name, kinds, lists, depth)
    texts = {value for value in values if isinstance(value, str)}
    is_coded = tokens(name)[-1] in _VOCABULARIES or all(map(_CODED.fullmatch, texts))
    example = next((value for value in values if value is not None), None)
    few = [*islice(dict.fromkeys(one for one in values if isinstance(one, (str, bool, int, float))), FEW + 1)]
    return Field(
        name=name,
        kinds=kinds,
        values=tuple(sorted(texts)) if is_coded else (),
        seen=tuple(few) if len(few) <= FEW else (),
        example=example,
    )


def _object_field(name: str, kinds: frozenset[str], objects: list[JsonObject], depth: int) -> Field:
    if not any(objects):
        # Nothing was ever seen in it: whether it will be an object or keep many is for its name to say,
        # and a service (depth 0 of its only entity) keeps things.
        return Field(
            name=name, kinds=kinds, keeps="map" if _is_many(name) or depth == 0 else None, is_empty=True
        )
    records = [value for one in objects for value in one.values() if isinstance(value, dict)]
    if records and _is_map_of_records(objects):
        parts = fields_of(records[:SAMPLE], depth + 1)
        keyed = [(key, value) for one in objects for key, value in one.items() if isinstance(value, dict)]
        id_field = key_field(name, keyed[:SAMPLE], parts)
        return Field(name=name, kinds=kinds, keeps="map", of_records=True, parts=parts, id_field=id_field)
    return Field(name=name, kinds=kinds, parts=fields_of(objects, depth + 1))


def _list_field(name: str, kinds: frozenset[str], lists: list[list[Json]], depth: int) -> Field:
    elements = [element for one in lists for element in one]
    records = [element for element in elements if isinstance(element, dict)]
    if not records:
        return Field(name=name, kinds=kinds, keeps="list", is_empty=not elements)
    parts = fields_of(records[:SAMPLE], depth + 1)
    id_field = own_id(name, parts)
    return Field(name=name, kinds=kinds, keeps="list", of_records=True, parts=parts, id_field=id_field)


def _is_map_of_records(objects: list[JsonObject]) -> bool:
    """Keys that are ids rather than field names: they carry digits, or recur inside."""
    keys = [(key, value) for one in objects for key, value in one.items()]
    records = [(key, value) for key, value in keys if isinstance(value, dict)]
    if len(records) * 2 < len(keys):
        return False
    like_ids = sum(bool(re.search(r"\d", key)) or mentions_id(key, value) for key, value in records)
    if like_ids * 2 >= len(records):
        return True
    names = [frozenset(value) for _, value in records]
    return len(records) > 1 and len(set(names)) == 1 and len(names[0]) > 1


def _is_many(name: str) -> bool:
    words = tokens(name)
    return bool(words) and (is_plural(words[-1]) or words[-1] in _LIST_NAMES)


def mentions_id(id: str, attributes: Mapping[str, Json]) -> bool:
    return any(str(value) == id for value in attributes.values() if isinstance(value, (str, int)))


def key_field(kind: str, keyed: list[tuple[str, JsonObject]], fields: Mapping[str, Field]) -> str | None:
    """The attribute that repeats the record's key; with no records, the one that is named like it."""
    for name in fields:
        repeats = all(str(attrs.get(name, key)) == key for key, attrs in keyed)
        if keyed and repeats and sum(name in attrs for _, attrs in keyed) * 2 > len(keyed):
            return name
    return None if keyed else own_id(kind, fields)


def own_id(kind: str, fields: Mapping[str, Field]) -> str | None:
    noun = singular(tokens(kind)[-1]) if tokens(kind) else ""
    for candidate in ("id", f"{noun}_id", f"{noun}Id", "uuid", "_id", "code", "number", f"{noun}_number"):
        if candidate in fields and fields[candidate].kinds <= {"text", "number"}:
            return candidate
    return next((name for name in fields if tokens(name)[-1:] == ("id",)), None)


Path = tuple[str, ...]

_STATUS_NAMES = ("status", "state", "stage", "phase", "current_status", "lifecycle", "lifecycle_state")


def status_path(fields: Mapping[str, Field], spoken: Collection[str] = ()) -> Path | None:
    """Where a record keeps its state: at the top, else inside an object (`fulfillment.status`).

    An object that is spoken of comes first: `freeze_membership` is about `membership.state`.
    """
    inside = [
        (name, inner)
        for name, one in fields.items()
        if one.parts and one.keeps is None and (inner := _own_status(one.parts)) is not None
    ]
    named = next((path for path in inside if singular(tokens(path[0])[-1]) in spoken), None)
    if named is not None:
        return named
    own = _own_status(fields)
    if own is not None:
        return (own,)
    return inside[0] if len(inside) == 1 else None


def _own_status(fields: Mapping[str, Field]) -> str | None:
    named = (find_field(fields, name) for name in _STATUS_NAMES)
    ending = (name for name in fields if tokens(name)[-1:] in (("status",), ("state",)))
    # A state is told in words: an address's `state` and a shop's `status: {…}` are something else.
    return next((name for name in (*named, *ending) if name and _is_told_in_words(fields[name])), None)


def _is_told_in_words(field: Field) -> bool:
    return field.keeps is None and not field.parts and "boolean" not in field.kinds


def field_at(fields: Mapping[str, Field], path: Path) -> Field | None:
    found = fields.get(path[0])
    for name in path[1:]:
        found = found.parts.get(name) if found is not None else None
    return found


def states_of(fields: Mapping[str, Field], path: Path | None) -> tuple[str, ...]:
    """The states seen there, as the world spells them."""
    field = field_at(fields, path) if path is not None else None
    return tuple(value for value in field.values if isinstance(value, str)) if field is not None else ()


def valued_fields(fields: Mapping[str, Field]) -> Iterator[tuple[Path, str]]:
    """Every word that is a value of some field, with the place of the field."""
    for name, one in fields.items():
        if one.keeps is not None:
            continue
        yield from (((name,), value) for value in one.values if isinstance(value, str))
        for inner, part in one.parts.items():
            yield from (((name, inner), value) for value in part.values if isinstance(value, str))
