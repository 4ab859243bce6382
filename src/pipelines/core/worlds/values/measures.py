"""Numbers by what they measure: of which magnitude they usually are, in which steps, and in which unit.

What a schema says goes before all of this; a unit in the name goes before what is measured.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from pipelines.core.english.words import is_plural, word_set
from pipelines.core.worlds.outline import FieldOutline


class Measure(NamedTuple):
    least: float
    most: float
    step: float  # values are multiples of it


def _table(text: str) -> Mapping[str, Measure]:
    """Lines of `least most step: words`."""
    found: dict[str, Measure] = {}
    for line in text.strip().splitlines():
        numbers, _, words = line.partition(":")
        least, most, step = map(float, numbers.split())
        found |= dict.fromkeys(words.split(), Measure(least, most, step))
    return found


_UNITS = _table("""
1 45 0.1: kg kgs kilos kilograms
50 4000 10: g grams
5 800 5: mg
0.5 24 0.5: t tons tonnes
2 95 0.5: lb lbs pounds
5 900 1: km kms kilometers kilometres miles mi
2 25 0.5: m meters metres
5 220 1: cm
4 40 0.5: inches
10 900 5: mm
8 80 1: ft feet
5 180 5: min mins minutes minute
5 300 5: s sec secs seconds
20 900 1: ms
1 12 1: h hrs hours
1 30 1: days
1 14 1: nights
1 12 1: weeks
3 36 1: months
1 10 1: years
1 60 1: pct percent percentage
-5 35 0.5: celsius
20 95 1: fahrenheit
5 400 1: kwh kw
1 60 0.5: l liters litres
50 2000 10: ml
20 180 1: sqm m2
300 2600 10: sqft
20 130 1: kmh mph
5 500 1: mb gb
500 60000 50: cents pence
""")
_CURRENCIES = word_set("usd eur gbp chf sek nok dkk cad aud jpy dollars euros")
_THIN = word_set("width height depth draft draught beam thickness")  # beside the length of the same thing
#: What one weighs is told by what it is: grams in the unit of the name.
_WEIGHTS = (
    (word_set("load shipment container truck trailer cargo freight consignment vehicle lorry"), 400e3, 24e6),
    (word_set("boat yacht vessel"), 600e3, 18e6),
    (word_set("parcel package listing product item article letter"), 100, 9e3),
    (word_set("animal pet dog cat"), 2e3, 42e3),
    (word_set("patient person member client resident"), 48e3, 105e3),
)
_GRAMS = {"g": 1, "grams": 1, "lb": 453.6, "lbs": 453.6, "pounds": 453.6} | dict.fromkeys(
    ("t", "tons", "tonnes"), 1e6
)
#: Of an amount for a period or a piece: `daily_rate`, `price_per_hour`.
_RATES = _table("""
0.8 2.6 0.05: km kilometre kilometer mile
0.5 9 0.1: kg kilo lb
0.04 0.3 0.01: word
0.05 0.6 0.01: kwh minute min
12 95 0.5: hour hourly
20 240 1: day daily
45 220 1: night nightly
60 700 5: week weekly
35 1900 5: month monthly
30 900 5: year yearly annual annum
2 190 0.5: unit piece item person guest seat
""")
_WORDS = _table("""
20 6000 0.01: balance
20 900 0.01: total subtotal
28000 140000 500: salary income
200 5000 50: limit budget
600 3200 10: rent
5 400 0.01: price cost charge value
20 600 0.01: amount bill
5 120 0.5: fee rate fare premium fine penalty
1 60 0.01: tax tip
50 600 10: deposit
0 40 1: discount
1 4 1: quantity qty
0 60 1: stock
4 40 1: capacity seats
18 80 1: age
1998 2025 1: year
1 5 0.1: rating stars
1 5 1: priority level severity rank
1 100 1: score
0 5000 10: points
0 12 1: floor
0 4 1: attempts
1 45 0.1: weight mass
5 900 1: distance mileage
5 180 5: duration
5 35 0.5: temperature
1 60 0.1: length height width depth
1 8 1: size
1 400 1: views count
-60 60 0.0001: latitude lat
-120 120 0.0001: longitude lng lon
""")
_OF_PERIODS = word_set("limit rent salary income")  # as much as that is, whatever period is named
MONEY = word_set(
    "price amount total subtotal fee cost balance rate charge deposit salary fare rent budget limit premium "
    "tax discount refund paid payment tip value wage bill penalty fine revenue payout"
)
_TOLD = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)\s*(?:-|–|to|and)\s*(-?\d+(?:\.\d+)?)(?![\w-])")


def unit_of(words: tuple[str, ...]) -> str | None:
    """`kg` of weight_kg, `EUR` of annual_fee_eur; a word that stands alone is no unit."""
    last = words[-1]
    if len(words) < 2 or not (last in _CURRENCIES or (last in _UNITS and "per" not in words)):
        return None
    if last == "min" and MONEY & {*words}:
        return None  # the least price
    return last.upper() if len(last) == 3 and last in _CURRENCIES else last


def measure_of(field: FieldOutline, thing: str = "") -> Measure:
    """As its schema bounds it, else by its name and by what it is a measure of: `thing`, in the singular."""
    usual = _usual(field.words, thing)
    multiple = _number(field.said("multipleOf"))
    step = multiple or (max(1.0, usual.step) if field.kind == "whole" else usual.step)
    low, high = said_bounds(field, step)
    if low is None and high is None:
        measure = _TOLD.search(field.description[:300])
        ends = sorted(map(float, measure.groups())) if measure is not None else [usual.least, usual.most]
        return Measure(ends[0], ends[1], step)
    if low is None:
        low = min(usual.least, high or 0)
    if high is None:
        high = max(usual.most, low + usual.most - usual.least)
    # What is allowed is often far wider than what is usual: values are of the usual kind where both overlap.
    inner = (max(low, usual.least), min(high, usual.most))
    low, high = inner if inner[0] < inner[1] else (low, high)
    return Measure(low, high, min(step, high - low) or step)


def said_bounds(field: FieldOutline, step: float) -> tuple[float | None, float | None]:
    """The least and the most that its schema allows."""
    keys = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    least, most, above, below = (_number(field.said(key)) for key in keys)
    low = above + step if least is None and above is not None else least
    return low, below - step if most is None and below is not None else most


def near(field: FieldOutline, current: float, share: float, thing: str = "") -> int | float:
    """Another value than the current one, of its magnitude: `share` of it, as the schema allows."""
    step = measure_of(field, thing).step
    low, high = said_bounds(field, step)
    for value in (round(current * share / step) * step, current + step, current - step):
        value = min(value if low is None else max(value, low), value if high is None else high)
        found = round(value) if field.kind == "whole" else round(value, 4 if step < 0.01 else 2)
        if found != current and (found > 0 or current < 0):
            return found
    return round(current) if field.kind == "whole" else current


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _usual(words: tuple[str, ...], thing: str) -> Measure:
    last = words[-1]
    if "per" in words or any((word in _RATES and word.endswith("ly")) or word == "annual" for word in words):
        found = next((_RATES[word] for word in reversed(words) if word in _RATES), None)
        if found is not None and last not in _OF_PERIODS and (MONEY & {*words} or last in _CURRENCIES):
            return found
    if words[0] in ("weight", "mass") or "weight" in words:
        return _weight(last, thing)
    plain = words[:-1] if len(words) > 1 and last in _CURRENCIES else words
    if last in _UNITS:
        found = _UNITS[last]
        is_thin = last in ("m", "ft") and _THIN & {*words}
        return Measure(found.least / 5, found.most / 5, 0.1) if is_thin else found
    for word in reversed(plain):
        # `total_baggages` are so many, and no sum; `amount_due` is one.
        if word in _WORDS and (word not in MONEY or not is_plural(plain[-1]) or word == plain[-1]):
            return _WORDS[word]
    if plain is not words or plain[-1] in MONEY:
        return Measure(5, 400, 0.01)
    return Measure(1, 8, 1) if is_plural(last) else Measure(1, 90, 1)


def _weight(unit: str, thing: str) -> Measure:
    scale = next(((least, most) for words, least, most in _WEIGHTS if thing in words), None)
    if scale is None:
        return _UNITS.get(unit, _WORDS["weight"])
    grams = _GRAMS.get(unit, 1000)
    least, most = scale[0] / grams, scale[1] / grams
    step = 10.0 if most > 2_000 else 1.0 if most > 100 else 0.1
    return Measure(max(least, step), most, step)
