"""Which amounts of a record are sums: of the lines that it keeps, or of records that refer to it."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from pipelines.core.english.words import tokens, word_set
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.worlds.outline import FieldOutline, TypeOutline

_SUMS = ("subtotal", "total", "amount")
_PRICES = word_set("price amount cost rate fee charge")
_TIMES = word_set("quantity qty count units")
_MORE, _LESS = word_set("tax shipping tip surcharge vat fees"), word_set("discount rebate credit")
_LINE_TYPES = word_set("line item entry position charge")


class LineSum(NamedTuple):
    """`total` of a record is the sum over the lines in `lines`, with what is added and taken off."""

    total: str
    lines: str  # a field of the record, or the type of the records that refer to it
    price: str
    times: str | None
    link: str | None = None  # the field by which those records refer to it; None: they are kept inside
    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()

    def of(self, record: Mapping[str, Json], lines: Sequence[Json]) -> float | None:
        """What it comes to; None where a line has no amount."""
        found = Decimal(0)
        for line in lines:
            price = _decimal(line.get(self.price)) if isinstance(line, dict) else None
            times = _decimal(line.get(self.times)) if isinstance(line, dict) and self.times else Decimal(1)
            if price is None or times is None:
                return None
            found += price * times
        found += sum((_decimal(record.get(name)) or Decimal(0) for name in self.more), Decimal(0))
        found -= sum((_decimal(record.get(name)) or Decimal(0) for name in self.less), Decimal(0))
        return float(round(found, 2))


def sums_of(own: TypeOutline, types: Mapping[str, TypeOutline]) -> tuple[LineSum, ...]:
    """The subtotal before the total, which may be made of it."""
    inside = next((found for one in own.fields if (found := _inside(one)) is not None), None)
    source = inside or next(_beside(own, types), None)
    if source is None:
        return ()
    named = {one.words[-1]: one.name for one in own.fields if one.kind in ("number", "whole")}
    sums = [named[word] for word in _SUMS if word in named]
    if not sums:
        return ()
    more = tuple(name for word, name in named.items() if word in _MORE)
    less = tuple(name for word, name in named.items() if word in _LESS)
    if tokens(sums[0])[-1] == "subtotal":
        full = [source._replace(total=sums[1], more=more, less=less)] if len(sums) > 1 else []
        return (source._replace(total=sums[0]), *full)
    return (source._replace(total=sums[0], more=more, less=less),)


def _inside(one: FieldOutline) -> LineSum | None:
    if one.kind != "list":
        return None
    price = next((part.name for part in one.parts if part.words[-1] in _PRICES and part.kind != "text"), None)
    times = next((part.name for part in one.parts if part.words[-1] in _TIMES), None)
    return LineSum("", one.name, price, times) if price is not None else None


def _beside(own: TypeOutline, types: Mapping[str, TypeOutline]) -> Iterator[LineSum]:
    for other in types.values():
        link = next((one.name for one in other.references if one.refers_to == own.name), None)
        if link is None or tokens(other.name)[-1] not in _LINE_TYPES or other.name == own.name:
            continue
        price = next(
            (one.name for one in other.fields if one.words[-1] in _PRICES and one.kind != "text"), None
        )
        times = next((one.name for one in other.fields if one.words[-1] in _TIMES), None)
        if price is not None:
            yield LineSum("", other.name, price, times, link)


def lines_of(rule: LineSum, id: str, record: JsonObject, state: Mapping[str, Json]) -> list[Json]:
    if rule.link is None:
        kept = record.get(rule.lines)
        return list(kept) if isinstance(kept, list) else []
    others = state.get(rule.lines)
    found = others.values() if isinstance(others, dict) else ()
    return [one for one in found if isinstance(one, dict) and str(one.get(rule.link)) == id]


def _decimal(value: Json) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(str(value))
