"""One field's value: by its enum, bounds, pattern and format, by the examples of its schema, else by the kind
of thing that its name and description say it is. What is none of these gets a code: `BRE-204`."""

import re
from collections.abc import Callable, Mapping
from math import ceil
from typing import NamedTuple

from pipelines.core.english.words import tokens, word_set
from pipelines.core.text.json_text import Json
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.outline import ROLES, FieldOutline, TypeOutline, is_person
from pipelines.core.worlds.values.measures import MONEY, measure_of
from pipelines.core.worlds.values.patterns import examples_of, is_code, text_like, uuid_like
from pipelines.core.worlds.values.pools import (
    COLOURS,
    COMPANIES,
    DESCRIPTIONS,
    GOODS_OF,
    NAMES_OF,
    NOTES,
    OCCASIONS,
    TITLES,
    pool,
)


class Person(NamedTuple):
    first: str
    last: str

    @property
    def full(self) -> str:
        return f"{self.first} {self.last}"


class Place(NamedTuple):
    """Whose value it is: the type, the entity's number among its like, and the draw's name for it."""

    own: TypeOutline
    number: int
    name: str  # `order/3`

    def of(self, field: str) -> str:
        return f"{self.name}/{field}"


#: Kinds of text that people write in sentences of their own.
LONG_TEXTS = ("reason", "note", "description")


def person_at(draw: Draw, place: Place) -> Person:
    # By number, not by chance: the first few hundred people all have different names.
    firsts, lasts = pool("first_name"), pool("last_name")
    offset = draw.below(len(firsts), f"{place.own.name}/person")
    at = offset + place.number
    return Person(firsts[at % len(firsts)], lasts[(at * 7 + at // len(firsts)) % len(lasts)])


def scalar(field: FieldOutline, place: Place, draw: Draw) -> Json:
    """A value for a field that is neither a reference, a moment nor a container."""
    here = place.of(field.name)
    if field.values:
        return draw.pick(field.values, here)
    stated = field.said("const")
    if stated is not None:
        return stated
    if field.kind == "boolean":
        return bool(draw.below(2, here))
    if field.kind in ("whole", "number"):
        return number(field, place, draw)
    return _fitted(field, text(field, place, draw))


def number(field: FieldOutline, place: Place, draw: Draw) -> int | float:
    """Of money small ones are more usual: squared, the half is below a quarter of the range."""
    least, most, step = measure_of(field, place.own.last)
    share = draw.unit(place.of(field.name)) ** (2 if MONEY & {*field.words} else 1)
    share = (1 + share) / 2 if field.words[0] in ("max", "maximum") else share
    value = round((least + (most - least) * share) / step) * step
    value = min(max(value, ceil(least / step) * step if field.said("multipleOf") else least), most)
    return round(value) if field.kind == "whole" else round(value, 4 if step < 0.01 else 2)


# -- text


def text(field: FieldOutline, place: Place, draw: Draw) -> str:
    here = place.of(field.name)
    written = _BY_FORMAT.get(str(field.said("format")))
    if written is not None:
        return written(place, here, draw)
    pattern = field.said("pattern")
    drawn = text_like(pattern, draw, here) if isinstance(pattern, str) else None
    if drawn is not None:
        return drawn
    examples = examples_of(field)
    codes = [one for one in examples if is_code(one)]
    if codes and re.match(r"(19|20)\d\d\b", codes[0]):
        return codes[0]  # a year
    if codes:
        return _other_digits(codes[0], here, draw)
    kind = text_kind(field)
    if examples and kind in ("", "name", "title", *LONG_TEXTS):
        return draw.pick(examples, here)
    if kind == "name" and len(field.words) > 1 and not {*field.words} & {*place.own.words, "display", "nick"}:
        # Of something else: a pharmacy's.
        return f"{draw.pick(pool('last_name'), here)} {field.words[-2].capitalize()}"
    return _KINDS[kind](place, here, draw) if kind else _code(field, here, draw)


def _other_digits(example: str, here: str, draw: Draw) -> str:
    return "".join(
        str(draw.below(10, f"{here}/{at}")) if each.isdigit() else each for at, each in enumerate(example)
    )


def _code(field: FieldOutline, here: str, draw: Draw) -> str:
    """Of what nothing is known: openly no word of anybody."""
    return f"{field.words[0][:3].upper()}-{draw.between(100, 999, here)}"


def text_kind(field: FieldOutline) -> str:
    """What its name says it is: the last words first; else what its description begins with."""
    words, says = field.words, field.description or str(field.said("description") or "")
    if words[-1] == "name" and len(words) > 1 and (is_person(words[-2]) or words[-2] in ROLES):
        return "person"
    ends = ("_".join(words[-2:]), words[-1], *reversed(words[:-1]))
    found = next((_NAMED[word] for word in ends if word in _NAMED), None)
    if found is not None:
        return found
    if is_person(words[-1]):
        return "person"
    description_words = tokens(re.split(r"[.;(]", says[:200])[0]) if says else ()
    if description_words and description_words[0] in ("what", "why", "how"):
        return "reason"
    if "name" in description_words and any(map(is_person, description_words)):
        return "person"
    return next((_NAMED[word] for word in description_words if word in _TELLING), "")


def _fitted(field: FieldOutline, value: str) -> str:
    longest, shortest = field.said("maxLength"), field.said("minLength")
    if isinstance(longest, int) and not isinstance(longest, bool):
        value = value[: max(longest, 0)].rstrip() or value[: max(longest, 0)]
    if isinstance(shortest, int) and len(value) < min(shortest, 1_000):
        value = value.ljust(min(shortest, 1_000), "x")
    return value


def _name(place: Place, here: str, draw: Draw) -> str:
    if place.own.is_person:
        return person_at(draw, place).full
    last = place.own.last
    named = NAMES_OF.get(last)
    if named is not None:
        start = draw.below(len(named), f"{place.own.name}/names") + place.number
        again = place.number // len(named)
        return named[start % len(named)] + (f" {again + 1}" if again else "")
    if last in COMPANIES:
        return _company(place, here, draw)
    return f"{last.capitalize()} {place.number + 1}"


def _title(place: Place, here: str, draw: Draw) -> str:
    if place.own.last in NAMES_OF:
        return draw.pick(NAMES_OF[place.own.last], here)
    titles = TITLES if place.own.last in _REPORTED else ()
    return draw.pick(titles, here) if titles else _name(place, here, draw)


_REPORTED = word_set("ticket issue case incident request complaint task message email thread")


def _email(place: Place, here: str, draw: Draw) -> str:
    first, last = person_at(draw, place)
    return f"{first}.{last}@example.com".lower().replace(" ", "").replace("'", "")


def _username(place: Place, here: str, draw: Draw) -> str:
    return _email(place, here, draw).partition("@")[0].replace(".", "_")


def _phone(place: Place, here: str, draw: Draw) -> str:
    # 555-01xx is nobody's number.
    return f"+1-{draw.between(201, 989, here)}-555-{100 + draw.below(100, here + '/end'):04d}"


def _company(place: Place, here: str, draw: Draw) -> str:
    name = pool("last_name")[draw.below(len(pool("last_name")), here)]
    return f"{name} {draw.pick(_KINDS_OF_COMPANY, here + '/kind')}"


_KINDS_OF_COMPANY = ("Supplies", "Logistics", "Partners", "Works", "Trading", "Services", "Brothers")


def _somebody(place: Place, here: str, draw: Draw) -> str:
    """Not whom the record is of, where that is a person."""
    return f"{draw.pick(pool('first_name'), here)} {draw.pick(pool('last_name'), here + '/last')}"


def _letters(here: str, draw: Draw) -> str:
    return "".join(draw.pick("ABCDGKLMRSTX", f"{here}/{at}") for at in range(2))


def _digits(count: int, before: str = "") -> "_Written":
    return lambda place, here, draw: (
        before + "".join(str(draw.below(10, f"{here}/{at}")) for at in range(count))
    )


_Written = Callable[[Place, str, Draw], str]


def _from(kind: str) -> _Written:
    return lambda place, here, draw: draw.pick(pool(kind), here)


def _of(*options: str) -> _Written:
    return lambda place, here, draw: draw.pick(options, here)


def _url(place: Place, here: str, draw: Draw) -> str:
    return f"https://example.com/{place.name}"


def _time(place: Place, here: str, draw: Draw) -> str:
    return f"{draw.between(8, 18, here):02d}:{draw.pick((0, 15, 30, 45), here + '/m'):02d}"


_BY_FORMAT: Mapping[str, _Written] = {
    "email": _email,
    "uri": _url,
    "url": _url,
    "time": lambda place, here, draw: f"{_time(place, here, draw)}:00",
    "ipv4": lambda place, here, draw: f"192.0.2.{draw.between(1, 254, here)}",
    "uuid": lambda place, here, draw: uuid_like(draw, here),
}
#: Words of a name, and the values that such a field may have.
_OPTIONS = {
    "country nationality": "USA|Canada|Germany|France|Spain|Japan",
    "currency": "USD|EUR|GBP",
    "language locale": "en|de|fr|es",
    "timezone": "UTC|Europe/Berlin|America/New_York",
    "role": "buyer|seller|support",
    "tier": "standard|silver|gold",
    "category": "general|express|bulk|special",
    "type": "standard|express|custom",
    "department": "sales|support|finance|operations",
    "specialty": "general|surgery|imaging",
}
_KINDS: Mapping[str, _Written] = {
    **{words.split()[0]: _of(*options.split("|")) for words, options in _OPTIONS.items()},
    "name": _name,
    "title": _title,
    "person": _somebody,
    "full": lambda place, here, draw: (
        person_at(draw, place).full if place.own.is_person else _somebody(place, here, draw)
    ),
    "first": lambda place, here, draw: person_at(draw, place).first,
    "last": lambda place, here, draw: person_at(draw, place).last,
    "email": _email,
    "username": _username,
    "phone": _phone,
    "company": _company,
    "street": _from("street"),
    "street2": _of("", "Suite 210", "Apt 4", "Floor 2"),
    "city": _from("city"),
    "state": _from("state"),
    "zip": _from("zip"),
    "colour": _of(*COLOURS),
    "goods": _of(*GOODS_OF),
    "occupation": _from("occupation"),
    "reason": _of(*OCCASIONS),
    "note": _of(*NOTES),
    "description": _of(*DESCRIPTIONS),
    "model": lambda place, here, draw: f"{_letters(here, draw)}-{draw.between(10, 99, here + '/n')}0",
    "sku": _digits(5, "SKU-"),
    "tracking": _digits(10, "1Z"),
    "plate": lambda place, here, draw: f"{_letters(here, draw)}-{draw.between(1000, 9999, here + '/n')}",
    "iban": _digits(20, "DE"),
    "last_four": _digits(4),
    "pin": _digits(4),
    "url": _url,
    "time": _time,
    "seat": lambda place, here, draw: f"{draw.between(1, 30, here)}{draw.pick('ABCDEF', here + '/l')}",
}
_NAMED: Mapping[str, str] = {word: words.split()[0] for words in _OPTIONS for word in words.split()} | {
    word: kind
    for kind, words in {
        "first": "first_name firstname given_name",
        "last": "last_name surname lastname family_name",
        "full": "full_name fullname contact_name contact contact_person",
        "name": "name display_name nickname label",
        "title": "title subject headline",
        "person": "author organizer driver_name holder guest passenger",
        "email": "email mail to cc bcc from recipient sender participants attendees recipients invitees",
        "username": "username user_name handle login",
        "phone": "phone mobile telephone phone_number tel telephone_number mobile_number",
        "company": "company employer organization organisation vendor supplier shipper consignee firm "
        "insurer manufacturer company_name",
        "street": "street address address1 address_1 line1",
        "street2": "address2 address_2 line2",
        "city": "city town location origin destination port area region district",
        "state": "state province",
        "zip": "zip zip_code postcode postal_code",
        "colour": "color colour",
        "goods": "product_name item_name goods",
        "occupation": "occupation job profession",
        "reason": "reason purpose grounds justification cause rationale explanation why",
        "note": "notes note comment comments message text body instructions",
        "description": "description summary details remark remarks feedback resolution findings",
        "model": "model",
        "sku": "sku",
        "tracking": "tracking_number tracking",
        "plate": "plate license_plate licence_plate number_plate",
        "iban": "iban",
        "last_four": "last_four last4",
        "pin": "pin passcode",
        "url": "url website link",
        "time": "time_slot opening_time closing_time start_time end_time",
        "seat": "seat seat_number",
    }.items()
    for word in words.split()
}
#: Words of a description that say what a value is, whatever stands around them.
_TELLING = word_set(
    "email phone company firm city town address street why reason note comment message plate iban country "
    "currency"
)
