"""Numbers as people write them: `1,234.56`, `1.234,56`, `1 234`, `2.5k`, `ninety-seven`, `$79.50`.

A spelling may mean more than one number (`1.234` is a little over one, or over a thousand). All its readings
are kept: who compares decides which one was meant, and nothing is guessed here.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

LONGEST = 30  # characters of one number in digits: no amount, count or id number is longer
MOST_SPOKEN = 1_000  # "one hundred twenty-nine ninety" is 129.90; of thousands nobody says so
MOST_WORDS = 16  # words of one number: "nine hundred ninety-nine thousand nine hundred ninety-nine" has ten

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SMALL = {word: value for value, word in enumerate(_UNITS)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
ORDINALS = _ORDINALS | {
    word + "th" if not word.endswith("y") else word[:-1] + "ieth": value
    for word, value in SMALL.items()
    if value and word not in ("one", "two", "three", "five", "eight", "nine", "twelve")
}
SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
SCALES |= {"lakh": 100_000, "crore": 10_000_000}  # of India
_SHORT_SCALES = {"k": 1_000, "m": 1_000_000, "mio": 1_000_000, "bn": 1_000_000_000}
_SUFFIXES = SCALES | _SHORT_SCALES | {"lakhs": 100_000, "crores": 10_000_000}
_CURRENCIES = {
    **dict.fromkeys(("$", "usd", "dollar", "dollars", "buck", "bucks"), "USD"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "EUR"),
    **dict.fromkeys(("£", "gbp", "pound", "pounds", "quid"), "GBP"),
    **dict.fromkeys(("¥", "jpy", "yen"), "JPY"),
    **dict.fromkeys(("₹", "inr", "rupee", "rupees", "rs"), "INR"),
    **dict.fromkeys(("chf", "franc", "francs", "fr"), "CHF"),
}
_CENTS = frozenset({"cent", "cents", "penny", "pence"})

_SPACES = " \u00a0\u202f\u2009"  # plain, and those that keep a number on one line
_GROUPED = rf"\d{{1,3}}(?:[,.'’{_SPACES}]\d{{2,3}}){{1,8}}(?:[.,]\d{{1,9}})?"
_PLAIN = rf"\d{{1,{LONGEST}}}(?:[.,]\d{{1,{LONGEST}}})?"
# A number stands alone: not in a word, an id, a time, a version, an address or a date.
_SPELLED = re.compile(
    rf"(?<![\w#/@])(?<![a-z][-:.,])(?<!\d[:.,])(?P<before>[$€£¥₹]\s?)?(?P<digits>{_GROUPED}|{_PLAIN})"
    rf"(?![\d@/])(?![:.,]\d)(?![-–][a-z])(?:(?P<short>[km]|bn)(?!\w)|(?:st|nd|rd|th)\b|(?!\w))",
    re.IGNORECASE,
)
# Digits with two hyphens or more are a date, a telephone number, an id.
_HYPHENED = re.compile(r"[\w#]{1,40}(?:-[\w]{1,40}){2,}", re.ASCII)
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_AND_A_HALF = re.compile(r" and a half\b", re.IGNORECASE)
_SCALE_BEHIND = re.compile(rf" (?P<scale>hundred|{'|'.join(SCALES)})\b", re.IGNORECASE)
_OPENS_A_NUMBER = frozenset({*SMALL, *ORDINALS, "a", "an", "hundred"})
_TWO = frozenset({"couple", "pair"})
_BEHIND_A = frozenset({"hundred", "dozen", *SCALES})  # "a hundred"


class Quantity(NamedTuple):
    """A number in a text, where it stands, and all that its spelling can mean."""

    start: int
    end: int
    values: frozenset[Decimal]
    currency: str | None = None  # ISO code; `$` is taken for USD: only that it is money is ever relied on
    unit: str = ""  # the word behind it, in lower case: `days`, `%`


def quantities(text: str, point: str | None = None) -> list[Quantity]:
    """Every number of a text, in digits and in words, in order; `point` leaves one mark for fractions."""
    found = sorted([*_in_digits(text, point), *_in_words(text)])
    return _with_cents(text, found)


def readings(spelling: str, point: str | None = None) -> frozenset[Decimal]:
    """All numbers that digits with points, commas, apostrophes or spaces can mean; there may be none."""
    bare = re.sub(rf"['’{_SPACES}]", "'", spelling.strip())
    if len(bare) > LONGEST or not re.fullmatch(r"\d[\d.,']*", bare):
        return frozenset()
    return frozenset(_readings(bare, point))


def _readings(bare: str, only_point: str | None) -> Iterator[Decimal]:
    for group, point in ((",", "."), (".", ","), ("'", "."), ("'", ","), (None, "."), (None, ",")):
        if only_point not in (None, point):
            continue
        whole, mark, fraction = bare.partition(point)
        if mark and not fraction.isdigit():
            continue
        if group is not None and group in whole:
            first, *rest = whole.split(group)
            # 1,234,567 and the Indian 12,34,567
            is_grouped = len(first) <= 3 and len(rest[-1]) == 3 and {len(part) for part in rest[:-1]} in (
                set(), {3}, {2})  # fmt: skip
            whole = first + "".join(rest) if is_grouped and all(map(str.isdigit, rest)) else ""
        if group is None and point == "," and fraction == "000":
            continue  # 12,000 is twelve thousand
        if whole.isdigit() and whole.isascii():
            yield Decimal(f"{whole}.{fraction or 0}").normalize()


def _in_digits(text: str, point: str | None) -> Iterator[Quantity]:
    hyphened = iter([*(match.span() for match in _HYPHENED.finditer(text)), (len(text), len(text))])
    from_, until = next(hyphened)
    for match in _SPELLED.finditer(text):
        while until <= match.start():
            from_, until = next(hyphened)
        values = readings(match["digits"], point)
        if not values or from_ < match.end():
            continue
        end = match.end()
        factors = {_SUFFIXES[match["short"].lower()] if match["short"] else 1}
        following = _following(text, end)
        if not match["short"] and following is not None and following[0].lower() in _SUFFIXES:
            word = following[0].lower()
            factors = {_SUFFIXES[word]} if word != "m" else {1, _SUFFIXES[word]}  # metres, or millions
            following = _following(text, following.end()) if word != "m" else following
            end = end if word == "m" else text.lower().index(word, end) + len(word)
        currency, unit, end = _unit(text, match["before"], following, end)
        currency = currency or _code_before(text, match.start())
        readings_of = frozenset(value * factor for value in values for factor in factors)
        yield Quantity(match.start(), end, readings_of, currency, unit)


def _unit(
    text: str, before: str | None, following: re.Match[str] | None, end: int
) -> tuple[str | None, str, int]:
    """What a number counts: a currency, or the word behind it."""
    if before:
        return _CURRENCIES[before.strip()], "", end
    rest = text[end : end + 2].lstrip()
    if rest[:1] in ("€", "$", "£", "%", "¥", "₹"):
        end = text.index(rest[0], end) + 1
        return _CURRENCIES.get(rest[0]), rest[0] if rest[0] == "%" else "", end
    if following is None:
        return None, "", end
    word = following[0].lower()
    if word in _CURRENCIES:
        return _CURRENCIES[word], "", following.end()
    return None, "%" if word == "percent" else word, end


def _following(text: str, end: int) -> re.Match[str] | None:
    """The word right behind, with at most one space or hyphen between."""
    at = end + (text[end : end + 1] in (" ", "\u00a0", "-"))
    return _WORD.match(text, at)


def _code_before(text: str, start: int) -> str | None:
    """`EUR 79.50`, `Fr. 79.50`."""
    word = text[max(0, start - 4) : start].strip().rstrip(".").lower()
    return _CURRENCIES.get(word) if word.isalpha() and len(word) in (2, 3) else None


# In words


def _in_words(text: str) -> Iterator[Quantity]:
    words = list(_WORD.finditer(text))
    at = 0
    while at < len(words):
        number = _number_at(text, words, at)
        if number is None:
            at += 1
            continue
        value, count = number
        start, end = words[at].start(), words[at + count - 1].end()
        if text[max(0, start - 5) : start].lower() == "half " and words[at][0].lower() in ("a", "an"):
            start, value = start - 5, value / 2  # half a dozen
        half = _AND_A_HALF.match(text, end)
        if half is not None:
            value, end = value + Decimal("0.5"), half.end()
            scale = _SCALE_BEHIND.match(text, end)  # two and a half thousand
            if scale is not None:
                value, end = value * SCALES.get(scale["scale"].lower(), 100), scale.end()
        currency, unit, end = _unit(text, None, _following(text, end), end)
        yield Quantity(start, end, frozenset({value}), currency, unit)
        at += count


def _number_at(text: str, words: Sequence[re.Match[str]], at: int) -> tuple[Decimal, int] | None:
    """The number that begins at a word, and how many words it takes. `a` counts before hundred and dozen."""
    if words[at][0].lower() not in _OPENS_A_NUMBER:
        return None
    spelled: list[str] = []
    end = words[at].start()
    for word in words[at : at + MOST_WORDS]:
        if text[end : word.start()] not in ("", " ", "-"):
            break
        spelled.append(word[0].lower())
        end = word.end()
    return spelled_number(spelled)


def spelled_number(words: Sequence[str]) -> tuple[Decimal, int] | None:
    """The longest number that the words begin with."""
    if words[0] in ORDINALS:
        return Decimal(ORDINALS[words[0]]), 1
    if words[0] == "a" and words[1:2] and words[1] in _TWO and words[2:3] == ["of"]:
        return Decimal(2), 3
    total = group = 0
    count = used = 0
    last = ""  # what may follow depends on what stood before: "twenty five", never "five twenty"
    for word in words:
        count += 1
        if word in ("a", "an") and count == 1 and words[1:2] and words[1] in _BEHIND_A:
            group = 1
        elif word == "hundred" and count == 1 and words[1:2] == ["and"]:  # `the hundred and five dollars`
            group, last = 100, "hundred"
        elif word in SMALL and (not last or last in ("hundred", "scale", "and") or _fits(last, word)):
            group += SMALL[word]
            last = word
        elif word == "hundred" and 0 < group < 100 and last != "hundred":
            group, last = group * 100, "hundred"
        elif word in SCALES and group:
            total, group, last = total + group * SCALES[word], 0, "scale"
        elif word == "dozen" and group and not total:
            return Decimal(group * 12), count
        elif word == "and" and last in ("hundred", "scale"):
            last = "and"
            continue
        else:
            break
        used = count
    return (Decimal(total + group), used) if used and (total + group or words[0] == "zero") else None


def _fits(last: str, word: str) -> bool:
    return last in _TENS and 0 < SMALL[word] < 10


def _is_spoken_price(text: str, before: Quantity, one: Quantity) -> bool:
    """`forty-nine ninety` is 49.90, and so is `forty-nine euros ninety`."""
    in_words = text[before.start].isalpha() and text[one.start].isalpha()
    is_next = text[before.end : one.start] == " "
    return (
        in_words
        and is_next
        and not (before.currency and one.currency)
        and max(before.values) < MOST_SPOKEN
        and 10 <= max(one.values) < 100
    )


def _with_cents(text: str, found: list[Quantity]) -> list[Quantity]:
    """`ninety-seven dollars and fifty cents` is one amount."""
    whole: list[Quantity] = []
    for one in found:
        before = whole[-1] if whole else None
        if before is not None and before.end > one.start:
            continue
        if before is not None and _is_spoken_price(text, before, one):
            values = frozenset(
                each
                for a in before.values
                for b in one.values
                for each in (
                    (a + b / 100, a * 100 + b) if a < 100 and not before.currency else (a + b / 100,)
                )
            )
            currency = before.currency or one.currency
            whole[-1] = Quantity(before.start, one.end, values, currency, one.unit)
            continue
        if before is not None and one.unit in _CENTS and (before.currency or before.unit in ("", "and")):
            between = text[before.end : one.start].strip().lower()
            if between in ("and", *(("", ",") if before.currency else ())):
                values = frozenset(a + b / 100 for a in before.values for b in one.values)
                cents = _following(text, one.end)
                end = cents.end() if cents is not None else one.end
                whole[-1] = Quantity(before.start, end, values, before.currency, "")
                continue
        whole.append(one)
    return whole
