"""One field's value: by its enum, bounds and format, else by what its name says it is."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.numbers import quantities
from pipelines.core.english.words import is_plural, singular, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.examples import example_of
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.phrases import ADJECTIVES, COLOURS, NAMES_OF, NOTES, PET_NAMES, REASONS, TITLES
from pipelines.core.worlds.pools import pool

MONEY = word_set(
    "price amount total subtotal fee cost balance rate charge deposit salary fare rent budget limit premium "
    "tax discount refund paid payment tip value wage bill penalty fine revenue"
)
COUNTS = word_set("quantity qty stock count units seats copies guests items capacity hours nights points")
DECIMALS = word_set("weight kg km distance height width length temperature lat lng latitude longitude score")


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
        return number(field, here, draw)
    return _fitted(field, text(field, place, draw))


# -- numbers


def number(field: FieldOutline, here: str, draw: Draw) -> int | float:
    least, most = bounds(field)
    last = field.words[-1]
    if field.kind == "whole":
        return draw.between(int(least), max(int(least), int(most)), here)
    decimals = 1 if last in DECIMALS else 2
    # Small ones are more usual than large ones: squared, the half is below a quarter of the range.
    share = draw.unit(here) ** 2 if last in MONEY else draw.unit(here)
    return round(least + (most - least) * share, decimals)


def bounds(field: FieldOutline) -> tuple[float, float]:
    """From its schema, from `from 1 to 5` in its description, else by its name."""
    said = [_or_none(field.said(key)) for key in _BOUNDING] if field.schema else _UNBOUNDED
    return _bounds(field.name, field.kind == "whole", field.description[:300], *said)


_BOUNDING = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_UNBOUNDED = (None, None, None, None)


@lru_cache(maxsize=4096)
def _bounds(
    name: str,
    is_whole: bool,
    description: str,
    least: float | None,
    most: float | None,
    above: float | None,
    below: float | None,
) -> tuple[float, float]:
    usual = _usual_bounds(name)
    step = 1 if is_whole else 0.01
    least = above + step if least is None and above is not None else least
    most = below - step if most is None and below is not None else most
    if least is None and most is None:
        return _told_bounds(description) or usual
    if least is None:
        return min(usual[0], most or 0), most or 0
    return least, most if most is not None else max(usual[1], least + usual[1] - usual[0])


def _told_bounds(description: str) -> tuple[float, float] | None:
    if "from" not in description.lower():
        return None
    told = [float(min(one.values)) for one in quantities(description)[:2]]
    return (told[0], told[1]) if len(told) == 2 and told[0] < told[1] else None


def _or_none(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _usual_bounds(name: str) -> tuple[float, float]:
    words = tokens(name)
    for word in reversed(words):
        # `total_baggages` are so many, and no sum.
        found = _BOUNDS.get(word) if word == words[-1] or word not in MONEY else None
        if found is not None:
            return found
    if words[-1] in MONEY:
        return (5, 500)
    if is_plural(words[-1]):
        return (0, 5)
    if set(words) & COUNTS:
        return (1, 40)
    return (1, 100)


_BOUNDS: Mapping[str, tuple[float, float]] = {
    "balance": (20, 6000),
    "total": (20, 900),
    "salary": (28000, 140000),
    "limit": (200, 5000),
    "rent": (600, 3200),
    "quantity": (1, 4),
    "qty": (1, 4),
    "stock": (0, 60),
    "age": (18, 80),
    "year": (1998, 2025),
    "percent": (0, 100),
    "rate": (5, 250),
    "discount": (0, 40),
    "rating": (1, 5),
    "stars": (1, 5),
    "priority": (1, 5),
    "level": (1, 5),
    "weight": (1, 45),
    "kg": (1, 45),
    "hours": (10, 4000),
    "capacity": (4, 40),
    "months": (6, 60),
    "points": (0, 5000),
    "latitude": (-60, 60),
    "longitude": (-120, 120),
    "guests": (1, 6),
    "nights": (1, 14),
    "floor": (0, 12),
    "attempts": (0, 4),
    "tax": (1, 60),
    "fee": (5, 300),
    "days": (1, 30),
    "amount": (10, 900),
    "price": (4, 480),
    "deposit": (50, 600),
    "cost": (5, 400),
    "seats": (2, 60),
    "count": (0, 30),
    "score": (1, 100),
}


# -- text


def text(field: FieldOutline, place: Place, draw: Draw) -> str:
    here = place.of(field.name)
    last = field.words[-1]
    written = _BY_FORMAT.get(str(field.said("format")))
    if written is not None:
        return written(place, here, draw)
    for name in ("_".join(field.words[-2:]), last):
        kind = _BY_NAME.get(name)
        if kind is not None:
            return kind(place, here, draw)
    if set(field.words) & {
        "notes",
        "note",
        "comment",
        "description",
        "message",
        "summary",
        "details",
        "text",
        "body",
    }:
        return draw.pick(NOTES, here)
    return _like_example(field, here, draw) or f"{draw.pick(ADJECTIVES, here)} {' '.join(field.words)}"


def _like_example(field: FieldOutline, here: str, draw: Draw) -> str | None:
    example = example_of(field)
    if example is None or not any(map(str.isdigit, example)):
        return example
    return "".join(
        str(draw.below(10, f"{here}/{at}")) if each.isdigit() else each for at, each in enumerate(example)
    )


def _fitted(field: FieldOutline, value: str) -> str:
    longest, shortest = field.said("maxLength"), field.said("minLength")
    if isinstance(longest, int) and not isinstance(longest, bool):
        value = value[: max(longest, 0)]
    if isinstance(shortest, int) and len(value) < min(shortest, 1_000):
        value = value.ljust(min(shortest, 1_000), "x")
    return value


def _name(place: Place, here: str, draw: Draw) -> str:
    if place.own.is_person:
        return person_at(draw, place).full
    last = singular(tokens(place.own.name)[-1])
    named = NAMES_OF.get(last)
    if named is not None:
        at = draw.below(len(named), f"{place.own.name}/names") + place.number
        again = at // len(named) - draw.below(len(named), f"{place.own.name}/names") // len(named)
        return named[at % len(named)] + (f" {again + 1}" if place.number >= len(named) else "")
    if last in ("company", "organization", "vendor", "supplier", "merchant", "stock"):
        return _company(place, here, draw)
    adjective = ADJECTIVES[(place.number + draw.below(len(ADJECTIVES), place.own.name)) % len(ADJECTIVES)]
    return f"{adjective.capitalize()} {last}"


def _title(place: Place, here: str, draw: Draw) -> str:
    return _name(place, here, draw) if place.own.last in NAMES_OF else draw.pick(TITLES, here)


def _email(place: Place, here: str, draw: Draw) -> str:
    first, last = person_at(draw, place)
    return f"{first}.{last}@example.com".lower().replace(" ", "").replace("'", "")


def _username(place: Place, here: str, draw: Draw) -> str:
    first, last = person_at(draw, place)
    return f"{first}_{last}".lower().replace(" ", "").replace("'", "")


def _phone(place: Place, here: str, draw: Draw) -> str:
    # 555-01xx is nobody's number.
    return f"+1-{draw.between(201, 989, here)}-555-{100 + draw.below(100, here + '/end'):04d}"


def _company(place: Place, here: str, draw: Draw) -> str:
    name = pool("last_name")[draw.below(len(pool("last_name")), here)]
    return f"{name} {draw.pick(_KINDS_OF_COMPANY, here + '/kind')}"


_KINDS_OF_COMPANY = ("Supplies", "Logistics", "Partners", "Works", "Studio", "Trading", "Labs")


_Written = Callable[[Place, str, Draw], str]


def _from(kind: str) -> _Written:
    return lambda place, here, draw: draw.pick(pool(kind), here)


def _of(options: tuple[str, ...]) -> _Written:
    return lambda place, here, draw: draw.pick(options, here)


_BY_FORMAT: Mapping[str, _Written] = {
    "email": _email,
    "uri": lambda place, here, draw: f"https://example.com/{place.name}",
    "url": lambda place, here, draw: f"https://example.com/{place.name}",
    "time": lambda place, here, draw: (
        f"{draw.between(8, 18, here):02d}:{draw.pick((0, 15, 30, 45), here + '/m'):02d}:00"
    ),
    "ipv4": lambda place, here, draw: f"192.0.2.{draw.between(1, 254, here)}",
}
_BY_NAME: Mapping[str, _Written] = {
    "email": _email,
    "mail": _email,
    "username": _username,
    "user_name": _username,
    "handle": _username,
    "login": _username,
    "phone": _phone,
    "mobile": _phone,
    "telephone": _phone,
    "phone_number": _phone,
    "tel": _phone,
    "first_name": lambda place, here, draw: person_at(draw, place).first,
    "firstname": lambda place, here, draw: person_at(draw, place).first,
    "last_name": lambda place, here, draw: person_at(draw, place).last,
    "surname": lambda place, here, draw: person_at(draw, place).last,
    "lastname": lambda place, here, draw: person_at(draw, place).last,
    "full_name": lambda place, here, draw: person_at(draw, place).full,
    "fullname": lambda place, here, draw: person_at(draw, place).full,
    "contact_name": lambda place, here, draw: person_at(draw, place).full,
    "contact": lambda place, here, draw: person_at(draw, place).full,
    "display_name": _name,
    **dict.fromkeys(("to", "cc", "bcc", "from", "recipient", "sender"), _email),
    **dict.fromkeys(("participants", "attendees", "recipients", "invitees", "guests"), _email),
    "author": lambda place, here, draw: (
        f"{draw.pick(pool('first_name'), here)} {draw.pick(pool('last_name'), here)}"
    ),
    "name": _name,
    "title": lambda place, here, draw: _title(place, here, draw),
    "subject": _of(TITLES),
    "company": _company,
    "employer": _company,
    "organization": _company,
    "vendor": _company,
    "supplier": _company,
    "street": _from("street"),
    "address": _from("street"),
    "address1": _from("street"),
    "address_1": _from("street"),
    "line1": _from("street"),
    "address2": _of(("", "Suite 210", "Apt 4", "Floor 2")),
    "address_2": _of(("", "Suite 210", "Apt 4", "Floor 2")),
    "city": _from("city"),
    "town": _from("city"),
    "state": _from("state"),
    "province": _from("state"),
    "zip": _from("zip"),
    "zip_code": _from("zip"),
    "postcode": _from("zip"),
    "postal_code": _from("zip"),
    "country": _of(("USA", "Canada", "Germany", "France", "Spain", "Japan")),
    "location": _from("city"),
    "origin": _from("city"),
    "destination": _from("city"),
    "currency": _of(("USD", "EUR", "GBP")),
    "language": _of(("en", "de", "fr", "es")),
    "color": _of(COLOURS),
    "colour": _of(COLOURS),
    "occupation": _from("occupation"),
    "job": _from("occupation"),
    "reason": _of(REASONS),
    "purpose": _of(("home repairs", "a used car", "tuition", "a kitchen", "a new roof")),
    "description": _of(NOTES),
    "notes": _of(NOTES),
    "note": _of(NOTES),
    "message": _of(NOTES),
    "comment": _of(NOTES),
    "body": _of(NOTES),
    "resolution": _of(
        ("Restarted the service.", "Replaced the part.", "Sent a new link.", "Explained the invoice.")
    ),
    "model": lambda place, here, draw: f"{_model_letters(here, draw)}-{draw.between(10, 99, here + '/n')}0",
    "sku": lambda place, here, draw: f"SKU-{draw.between(10000, 99999, here)}",
    "tracking_number": lambda place, here, draw: f"1Z{draw.between(10**9, 10**10 - 1, here)}",
    "last_four": lambda place, here, draw: f"{draw.below(10000, here):04d}",
    "pet_name": _of(PET_NAMES),
    "url": _BY_FORMAT["url"],
    "website": _BY_FORMAT["url"],
    "role": _of(("buyer", "seller", "support")),
    "tier": _of(("standard", "silver", "gold")),
    "category": _of(("general", "express", "bulk", "special")),
    "type": _of(("standard", "express", "custom")),
    "timezone": _of(("UTC", "Europe/Berlin", "America/New_York")),
    "seat": lambda place, here, draw: f"{draw.between(1, 30, here)}{draw.pick('ABCDEF', here + '/l')}",
    "department": _of(("sales", "support", "finance", "operations")),
    "specialty": _of(("general", "surgery", "imaging")),
}


def _model_letters(here: str, draw: Draw) -> str:
    return "".join(draw.pick("ABCDGKLMRSTX", f"{here}/{at}") for at in range(2))
