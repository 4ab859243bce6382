"""What a world of these tools holds: its types, their fields, and which field refers to which type.

From the ledger schema where there is one, else from what the tools speak of (`types/spoken.py`). Which noun
means which type is the survey's to say; nothing here reads a name a second time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pipelines.core.english.words import joined, plural, singular, singulars, tokens, word_set
from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.simulation.domain.references import ID_WORDS, noun_of_id
from pipelines.core.text.json_text import Json, JsonObject

FieldKind = Literal["text", "whole", "number", "boolean", "object", "list"]
MAX_DEPTH = 3  # of objects within objects
MOST_PARTS = 40  # fields of one object: a schema with more is no record

_KINDS: Mapping[str, FieldKind] = {
    "string": "text",
    "integer": "whole",
    "number": "number",
    "boolean": "boolean",
    "object": "object",
    "array": "list",
}


#: What ends the name of a moment, and what is one without such an end.
MOMENT_ENDS = word_set("at on date time timestamp datetime day dob birthday until deadline eta etd")
_MOMENTS = word_set("created updated modified opened closed started ended due expires scheduled")
_FORESEEN = word_set("estimated expected scheduled planned next")
#: What may still be to come.
FUTURE = word_set(
    "due expires expiry expiration expire renewal renews scheduled schedule starts start ends end departure "
    "arrival appointment next deadline until valid delivery estimated expected planned event return pickup "
    "eta etd"
)


@dataclass(frozen=True, kw_only=True)  # no slots: what is derived is kept on the record
class FieldOutline:
    name: str
    kind: FieldKind
    values: tuple[Json, ...] = ()  # of an enum, or all that the texts speak of
    is_closed: bool = True  # no others are allowed; False: these are only what texts speak of
    schema: Mapping[str, Json] | None = None  # pattern, format, bounds, examples
    description: str = ""
    refers_to: str | None = None  # the type whose ids it holds: one, or a list of them
    parts: tuple["FieldOutline", ...] = ()  # of an object, or of each record in a list

    @lazy_property
    def words(self) -> tuple[str, ...]:
        return tokens(self.name)

    @lazy_property
    def is_moment(self) -> bool:
        """A date or a time of day."""
        if self.said("format") in ("date", "date-time"):
            return True
        if self.kind not in ("text", "whole") or self.values:
            return False
        if self.kind == "whole":
            return self.words[-1] in ("at", "timestamp")
        first, last = self.words[0], self.words[-1]
        is_named = last in (*MOMENT_ENDS, "start", "end") or first in _MOMENTS or "date" in self.words
        is_foreseen = (last == "for" and first in FUTURE) or (first in _FORESEEN and last in FUTURE)
        says = self.description or str(self.said("description") or "")
        is_told = "date" in tokens(says) or "YYYY-MM-DD" in says
        return is_named or is_foreseen or is_told

    @lazy_property
    def role(self) -> str:
        """What it says of the record that it refers to: seller, of seller_id; nothing, of user_id."""
        words = self.words[:-1] if len(self.words) > 1 and self.words[-1] in ID_WORDS else self.words
        own = {*tokens(self.refers_to)} if self.refers_to is not None else set()
        return "" if own & set(singulars(words)) else "_".join(words)

    def kept(self, id: str) -> Json:
        """An id as the field keeps it."""
        return int(id) if self.kind == "whole" and id.isdecimal() else id

    def said(self, key: str) -> Json:
        return self.schema.get(key) if self.schema is not None else None


@dataclass(frozen=True, kw_only=True)  # likewise
class TypeOutline:
    name: str
    id_field: str | None
    fields: tuple[FieldOutline, ...]
    nouns: frozenset[str] = frozenset()  # what the tools call one, run together
    is_person: bool = False

    def field(self, name: str | None) -> FieldOutline | None:
        return next((one for one in self.fields if one.name == name), None)

    @lazy_property
    def words(self) -> tuple[str, ...]:
        return tokens(self.name)

    @lazy_property
    def run(self) -> str:
        """Its name in one spelling: `supportticket`."""
        return joined(tokens(self.name))

    @lazy_property
    def last(self) -> str:
        """The last word of its name: `ticket`."""
        return singular(tokens(self.name)[-1])

    @lazy_property
    def noun(self) -> str:
        """As a person says it: `support ticket`."""
        return " ".join(singulars(tokens(self.name)))

    @lazy_property
    def many(self) -> str:
        """`support tickets`."""
        *first, last = self.noun.split()
        return " ".join((*first, plural(last)))

    def counted(self, count: int) -> str:
        return f"{count} {self.noun if count == 1 else self.many}"

    @lazy_property
    def references(self) -> tuple[FieldOutline, ...]:
        """Fields that hold one id of a type, not those that keep many."""
        return tuple(one for one in self.fields if one.refers_to is not None and one.kind != "list")

    @lazy_property
    def moments(self) -> tuple[FieldOutline, ...]:
        return tuple(one for one in self.fields if one.is_moment and one.refers_to is None)

    @lazy_property
    def status(self) -> FieldOutline | None:
        """The field that says where a record stands."""
        named = [one for one in self.fields if one.kind == "text" and one.words[-1] in _STATUS]
        if any(one.words[-1] in ("city", "zip", "country") for one in self.fields):
            named = [one for one in named if one.name != "state"]  # of an address
        return min(named, key=lambda one: (_STATUS.index(one.words[-1]), len(one.words)), default=None)


_STATUS = ("status", "state", "stage", "phase")


class Kinds(dict[str, TypeOutline]):
    """Types by name, never changed, with what looking through all of them has found: a thousand tools ask."""

    __slots__ = ("meant",)

    def __init__(self, types: Mapping[str, TypeOutline]) -> None:
        super().__init__(types)
        self.meant: dict[tuple[str, str | None], str | None] = {}  # see `type_meant`


@dataclass(frozen=True, kw_only=True, slots=True)
class Outline:
    types: Mapping[str, TypeOutline]
    notes: tuple[str, ...] = ()


def field_from_schema(name: str, schema: Json, depth: int = 0) -> FieldOutline:
    """A property of a JSON schema as a field."""
    body = _resolved(schema)
    kind = kind_of_schema(body)
    listed = body.get("enum")
    inner: JsonObject = body
    if kind == "list":
        inner = _resolved(body.get("items"))
    properties = inner.get("properties")
    parts: tuple[FieldOutline, ...] = ()
    if isinstance(properties, dict) and depth < MAX_DEPTH:
        parts = tuple(
            field_from_schema(key, part, depth + 1) for key, part in list(properties.items())[:MOST_PARTS]
        )
    return FieldOutline(
        name=name,
        kind=kind,
        values=tuple(listed) if isinstance(listed, list) else (),
        schema=body,
        description=str(body.get("description") or ""),
        parts=parts,
    )


def kind_of_schema(schema: Mapping[str, Json]) -> FieldKind:
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    found = next((_KINDS[one] for one in names if isinstance(one, str) and one in _KINDS), None)
    if found is not None:
        return found
    if "properties" in schema:
        return "object"
    listed = schema.get("enum")
    if isinstance(listed, list) and listed and all(isinstance(one, bool) for one in listed):
        return "boolean"
    is_number = (
        isinstance(listed, list) and bool(listed) and all(isinstance(one, int | float) for one in listed)
    )
    return "number" if is_number else "text"


def _resolved(schema: Json) -> JsonObject:
    """The first option that is not null, where several are given."""
    body = schema if isinstance(schema, dict) else {}
    for key in ("anyOf", "oneOf", "allOf"):
        options = body.get(key)
        for option in options if isinstance(options, list) else ():
            if isinstance(option, dict) and option.get("type") != "null":
                return {**option, **{k: v for k, v in body.items() if k != key}}
    return body


# -- which type a name means


def type_meant(name: str, types: Mapping[str, TypeOutline], own: TypeOutline | None = None) -> str | None:
    """The type whose ids stand under a name: `customer_id`, `ownerId`, `assigned_to`, `from_account_id`."""
    if not isinstance(types, Kinds):
        return _meant(name, types, own)
    key = (name, own.name if own is not None else None)
    if key not in types.meant:
        types.meant[key] = _meant(name, types, own)
    return types.meant[key]


def _meant(name: str, types: Mapping[str, TypeOutline], own: TypeOutline | None) -> str | None:
    words = tokens(name)
    is_id = words[-1] in ID_WORDS and len(words) > 1
    noun = noun_of_id(name) if is_id else singulars(words)
    for at in range(len(noun)):
        found = _named(noun[at:], types)
        if found is not None and (is_id or at == 0):
            return found
    if not noun or not (is_id or words[-1] in _ROLE_ENDS):
        return None
    person = _person(noun[-1] if is_id else noun[0], types)
    if person is not None and (own is None or own.name != person or is_id):
        return person
    return None


#: `created_by`, `assigned_to`, `owner`: people, where the world has one kind of them.
_ROLE_ENDS = frozenset(("by", "to", "owner", "assignee", "reporter", "requester", "approver"))
#: What types of people are called, where no other type says whose its records are.
_PEOPLE = word_set(
    "user customer client member person employee agent manager student patient driver admin owner guest "
    "staff seller buyer passenger subscriber author tenant borrower contact doctor vet nurse teacher "
    "technician worker candidate resident volunteer player host instructor trainer coach mechanic inspector "
    "adjuster claimant landlord pupil clerk operator officer dispatcher courier therapist patron "
    "policyholder translator"
)
#: What somebody is in a record, whatever the type of people is called.
ROLES = _PEOPLE | word_set(
    "account assignee assigned created reporter requester receiver sender approver approved requested payer "
    "payee organizer holder beneficiary recipient opened reported submitted handled reviewer creator"
)


def _named(noun: Sequence[str], types: Mapping[str, TypeOutline]) -> str | None:
    run = joined(noun)
    for name, one in types.items():
        if one.run == run or run in one.nouns:
            return name
    if len(noun) == 1:
        ending = [name for name, one in types.items() if one.last == noun[0]]
        if len(ending) == 1:
            return ending[0]
    return None


def _person(word: str, types: Mapping[str, TypeOutline]) -> str | None:
    if word not in ROLES:
        return None
    people = [one for one in types.values() if one.is_person]
    usual = [one for one in people if one.last in ("user", "customer", "member")]
    found = people if len(people) == 1 else usual
    return found[0].name if len(found) == 1 else None


def is_person(name: str) -> bool:
    return singular(tokens(name)[-1]) in _PEOPLE


def with_references(types: Mapping[str, TypeOutline]) -> dict[str, TypeOutline]:
    """Each type with what its fields refer to; its own id refers to nothing."""
    return {
        name: replace(one, fields=tuple(_referring(one, one.fields, types))) for name, one in types.items()
    }


def _referring(
    own: TypeOutline, fields: Iterable[FieldOutline], types: Mapping[str, TypeOutline]
) -> Iterator[FieldOutline]:
    for one in fields:
        if one.name == own.id_field or one.values:
            yield one
        elif one.parts:
            yield replace(one, parts=tuple(_referring(own, one.parts, types)))
        elif one.kind in ("text", "whole", "list"):
            yield replace(one, refers_to=_target(one, own, types))
        else:
            yield one


def _target(one: FieldOutline, own: TypeOutline, types: Mapping[str, TypeOutline]) -> str | None:
    if one.said("format") in ("date", "date-time", "email") or one.words[0] in _NO_REFERENCES:
        return None
    if one.words[0] == "parent" and one.kind != "list" and one.words[-1] in ("parent", *ID_WORDS):
        return own.name
    if one.kind == "list" and one.words[-1] not in ID_WORDS:
        # `orders` of a customer are ids of orders; `items` of an order are lines.
        found = _named(singulars(one.words), types)
        back = {noun_of_id(each.name)[-1:] for each in types[found].fields} if found is not None else set()
        return found if (own.last,) in back else None
    same = [other.name for other in types.values() if other.id_field == one.name and other.name != own.name]
    if len(same) == 1:
        return same[0]
    if one.kind == "whole" and one.words[-1] not in ID_WORDS:
        return None
    found = type_meant(one.name, types, own)
    is_own = found == own.name and (one.words[-1] not in ID_WORDS or joined(one.words[:-1]) == own.run)
    return None if is_own else found


#: `zip_code`, `phone_number`, `tracking_number`: named like an id, and none of ours.
_NO_REFERENCES = word_set("zip postal post phone fax tracking serial country currency iban bank routing")
