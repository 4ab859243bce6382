"""Numbers, days, times and ids of a clause, looked up in the records it speaks of.

A number, day or id that nobody told the agent and that follows from nothing is false, not only strange.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Day
from pipelines.core.english.mentions import MARK, mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.verdict.arithmetic import COMPARED, could_follow, is_miscounted, is_told
from pipelines.core.verdict.facts import Facts, bare
from pipelines.core.verdict.known import Known
from pipelines.core.verdict.said import NEGATED, Said, is_stated, named_in
from pipelines.core.verdict.speech import content_stems
from pipelines.core.verdict.wording import listing

_QUOTES_USER = re.compile(
    r"\b(?:you(?:'ve|\s+have)?\s+(?:asked|mentioned|said|gave|provided|wanted|requested)|your\s+(?:request|message))\b"
)
_WAS = re.compile(
    r"\b(?:was|were|had|before|previous(?:ly)?|originally|formerly|from|instead|old|used\s+to|down|up|out\s+of|of\s+(?:your|the))\b|→|->"
)
_CALLED_TODAY = re.compile(r"\b(?:today(?:'s\s+date)?(?:\s+is)?|as\s+of)\W{0,3}$", re.IGNORECASE)
_TODAY_FOLLOWS = re.compile(r"\W{0,3}today\b", re.IGNORECASE)
_FROM_TO = re.compile(rf"\bfrom\s+{MARK}\s+(?:down\s+|up\s+)?to\s+{MARK}|{MARK}\s*(?:→|->)\s*{MARK}")
_TOTALLED = re.compile(
    r"\b(?:together|altogether|combined|in\s+total|in\s+all|in\s+sum|sum(?:s)?\s+(?:up\s+)?to)\b"
)
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_ARROW = ("→", "->")
LONGEST_LEAD = 4  # words before a number that say what it is
_WILL = re.compile(r"\b(?:will|shall)\b|'ll\b")
_CENTS = re.compile(r"[.,]\d\d$")
_REFERENCE = re.compile(r"#?[a-z0-9][a-z0-9_\-./@:]*[a-z0-9]|#\d", re.IGNORECASE)


class LeftOver(NamedTuple):
    """Something an answer says that nothing in the run bears out."""

    phrase: str
    sentence: str
    instead: str = ""  # what the run says in its place
    is_false: bool = False  # nothing could bear it out: not only strange


def strange_mentions(said: Said, known: Known, facts: Facts) -> Iterator[LeftOver]:
    """Numbers, days and times that the records do not hold, and what they hold instead."""
    is_quoted = _QUOTES_USER.search(said.text) or NEGATED.search(said.text)
    asked = facts.asked if is_quoted else Known()
    everything = facts.everything
    sentence = said.sentence
    for day in said.days:
        is_known = known.has_day(day.days) or asked.has_day(day.days)
        if not is_known and not _is_today(sentence, day, facts):
            is_false = not everything.has_day(day.days) and not facts.asked.has_day(day.days)
            written = sentence[day.start : day.end]
            instead = "another day" if known.days else ""
            is_false = is_false and bool(known.days) and _is_written_out(written)
            yield _strange(said, written, instead, is_false, is_due=_names_a_day(said, known))
    for time in said.times:
        if not time.minutes & (known.times | asked.times):
            is_false = not time.minutes & (everything.times | facts.asked.times) and bool(known.times)
            yield _strange(said, sentence[time.start : time.end], "another time", is_false)
    shown = shown_sums(sentence, known, facts)
    counts = {Decimal(len(named_in(sentence, facts))), Decimal(len(facts.asked_for))}
    for number in said.numbers:
        written = sentence[number.start : number.end]
        if _is_day_of_month(written, known) or number.start in shown:
            continue
        is_named = number.currency is None and (
            bare(written) in facts.subjects or _is_part_of_a_name(sentence, number, facts)
        )
        if known.fields.keys() & content_stems(number.unit):
            counts = set()
        if written.lower() != "one" and not (asked.has_number(number) or is_named or number.values <= counts):
            yield from _strange_number(said, number, known, facts)


def shown_sums(sentence: str, known: Known, facts: Facts) -> frozenset[int]:
    """Where numbers stand that take part in a sum which the sentence shows and which is right: `6 × 8.00 =
    48.00`. What it starts from must have been told; or asked, as long as nothing was changed by it."""
    if _SHOWS.search(sentence) is None:
        return frozenset()
    told = known.numbers | (facts.asked.numbers if not facts.touched else set())
    every = [one for one in mentions(sentence).numbers if len(one.values) == 1][:MOST_SHOWN]
    numbers = [(one.start, next(iter(one.values))) for one in every]
    right: set[int] = {start for start, value in numbers if value in told}
    found: set[int] = set()
    for _ in range(2):  # a result may be a part of the next sum
        parts = [(start, value) for start, value in numbers if start in right]
        for (one, a), (other, b) in combinations(parts, 2):
            results = {a + b, abs(a - b), a * b} - {a, b}
            for start, value in numbers:
                if start not in (one, other) and value in results and start not in right:
                    found |= {one, other, start}
                    right.add(start)
    return frozenset(found)


MOST_SHOWN = 12
_SHOWS = re.compile(r"[×*+=−]|\d\s[-x]\s\d|\b(?:times|plus|minus|comes\s+to|makes|adds?\s+up|per)\b")


def _is_today(sentence: str, day: Dated, facts: Facts) -> bool:
    """`today, 1 May 2026` on that day of the run's world."""
    today = facts.day_of_run()
    is_so_called = _CALLED_TODAY.search(sentence[: day.start]) or _TODAY_FOLLOWS.match(sentence, day.end)
    return bool(today and is_so_called and any(each.agrees_with(today) for each in day.days))


def _is_written_out(day: str) -> bool:
    """`the end of June` follows from other days in ways that nobody can list: it is strange, never false."""
    return any(map(str.isdigit, day))


def _is_day_of_month(written: str, known: Known) -> bool:
    """`21.11`, of a record with the 21st of November; `the 21st`."""
    ordinal = _ORDINAL.fullmatch(written)
    if ordinal is not None:
        return any(day.day == int(ordinal[1]) for day in known.days)
    parts = written.split(".")
    if len(parts) != 2 or not all(part.isdigit() and 0 < int(part) <= 31 for part in parts):
        return False
    return known.has_day([Day(int(parts[1]), int(parts[0]))])


def _is_part_of_a_name(sentence: str, number: Quantity, facts: Facts) -> bool:
    """`Max 60` is a name."""
    before = sentence[: number.start].rsplit(None, 1)[-1:]
    return bool(before) and bare(before[0] + sentence[number.start : number.end]) in facts.names


def _names_a_day(said: Said, known: Known) -> bool:
    """`will end on …`, of a record with `ends`: what is to come is told as plainly as what is."""
    return any(not known.dated.isdisjoint(related(word)) for word in content_stems(said.text))


def _strange(said: Said, phrase: str, instead: str, is_false: bool, is_due: bool = False) -> LeftOver:
    text = said._replace(text=_WILL.sub(" ", said.text)) if is_due else said
    is_false = is_false and text.is_stated
    return LeftOver(phrase, said.sentence, instead if is_false else "", is_false)


def _strange_number(said: Said, number: Quantity, known: Known, facts: Facts) -> Iterator[LeftOver]:
    written = said.sentence[number.start : number.end]
    unit = stem(number.unit) if number.unit else ""
    of_before = _WAS.search(said.sentence.lower()) is not None
    old = frozenset() if of_before or not unit else facts.outdated.get(unit, frozenset())
    told = (known.fields.get(unit) if unit else None) or set()
    now = told - old
    all_said = mentions(said.sentence).numbers
    is_known = is_told(
        number,
        said.text,
        known,
        said=all_said,
        rules=facts.given,
        is_exact=_CENTS.search(written) is not None,
    )
    is_sum = _TOTALLED.search(said.text) is not None and is_known
    if told and not number.values & now and not is_sum and (not is_known or number.unit not in COMPARED):
        shown = listing([format(value, "f") for value in sorted(now)])
        # What a sum starts from ("six months at 8.00") and what is compared ("two extra days") is no field's.
        is_reckoned = _SHOWS.search(said.sentence) is not None and facts.asked.has_number(number)
        is_false = number.unit not in COMPARED and not is_reckoned
        yield _strange(said, f"{written} {number.unit}", f"{number.unit}: {shown}", is_false)
    elif is_known and (_is_bare_zero(said, number, known) or _is_no_total(said, number, known)):
        yield _strange(said, written, "", False)
    elif not is_known or not _fits_its_field(said, number, known, facts):
        of_it = known if named_in(said.sentence, facts) else facts.everything
        is_false = _is_about_a_field(said, number, known) and not _may_come_of(number, written, of_it, facts)
        is_false = is_false or is_miscounted(number, known, all_said)
        yield _strange(said, written, "another amount" if number.currency else "another number", is_false)


def _fits_its_field(said: Said, number: Quantity, known: Known, facts: Facts) -> bool:
    """`the new total is 46.00`: where the words before a number name a field, it is one of that field, and
    unless it is told of the past, one that holds after the run."""
    lead = next((lead for start, lead in said.leads if start == number.start), "")
    words = content_stems(" ".join(lead.split()[-LONGEST_LEAD:])) & known.fields.keys()
    unit = content_stems(number.unit)
    done = {stem(word) for word in lead.split()[-1:]} & facts.verbs
    if done and facts.amounts_given and not unit:
        return bool({abs(value) for value in number.values} & facts.amounts_given)
    if _FROM_TO.search(said.text) and facts.outdated and not unit:
        return _is_in_order(said, number, lead, facts)
    if not words or unit & known.fields.keys() or number.unit in COMPARED or lead.endswith("by "):
        return True
    of_before = _WAS.search(said.sentence.lower()) is not None
    fitting: set[Decimal] = set()
    for word in words:
        old = frozenset() if of_before else facts.outdated.get(word, frozenset())
        fitting |= known.fields[word] - old
    fitting |= facts.quotable | known.column_sums
    return bool({abs(value) for value in number.values} & fitting)


def _is_bare_zero(said: Said, number: Quantity, known: Known) -> bool:
    """A nought is in most records: it is told only where the field is named that is 0."""
    if number.values != {Decimal()}:
        return False
    named = {
        other for word in content_stems(said.text) | content_stems(number.unit) for other in related(word)
    }
    return not any(Decimal() in known.fields.get(word, ()) for word in named)


def _is_no_total(said: Said, number: Quantity, known: Known) -> bool:
    """`together 79.50`, of a list in which that is one of several."""
    wanted = {abs(value).normalize() for value in number.values}
    if not _TOTALLED.search(said.text) or wanted & known.column_sums:
        return False
    others = [value for one in mentions(said.sentence).numbers if one is not number for value in one.values]
    if wanted & {sum(others, Decimal()).normalize()}:
        return False
    is_a_part = any(wanted & {*column} for column in known.columns.values() if len(column) > 1)
    return is_a_part and not wanted & known.fields.get(stem("total"), set())


def _is_in_order(said: Said, number: Quantity, lead: str, facts: Facts) -> bool:
    """`from 387 to 429`, `387 → 429`: what it was, and what it is."""
    old = {value for numbers in facts.outdated.values() for value in numbers}
    is_old = bool({abs(value) for value in number.values} & old)
    last = lead.split()[-1:]
    is_first = last == ["from"] or said.sentence[number.end :].lstrip().startswith(_ARROW)
    is_second = last == ["to"] or (bool(last) and last[0] in _ARROW)
    return is_old if is_first else not is_old or not is_second


def _is_about_a_field(said: Said, number: Quantity, known: Known) -> bool:
    """Whether the clause says what the number is: money, or a field that is known."""
    is_money = number.currency is not None or any(value % 1 for value in number.values)
    words = {other for word in content_stems(said.text) for other in related(word)}
    return bool(known.numbers) and (is_money or not words.isdisjoint(known.fields))


def _may_come_of(number: Quantity, written: str, known: Known, facts: Facts) -> bool:
    """`known` is what was told of the things that the sentence names, else everything."""
    is_heard = known.has_number(number) or (known is facts.everything and facts.asked.has_number(number))
    return is_heard or could_follow(number, known) or re.sub(r"\D", "", written) in facts.digits.split()


def strange_references(sentence: str, facts: Facts) -> Iterator[LeftOver]:
    """Ids that nobody gave. One that is spelled like those that were given is meant for one of them."""
    for token in references(sentence):
        if not _is_id(token, facts):
            is_false = _shape(token) in facts.shapes and is_stated(sentence.lower())
            instead = "other ids" if is_false else ""
            yield LeftOver(token, sentence, instead, is_false)


_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){0,4}")


def strange_addresses(sentence: str, facts: Facts) -> Iterator[LeftOver]:
    """E-mail addresses that nobody gave."""
    for found in _ADDRESS.finditer(sentence.lower()):
        if bare(found[0]) not in facts.names and bare(found[0]) not in facts.asked_bare:
            is_false = any("@" in id for record in facts.records for id in record.ids)
            yield LeftOver(found[0], sentence, "another address", is_false)


def _shape(text: str) -> str:
    return re.sub(r"\d", "9", text.lower().lstrip("#"))


def references(sentence: str) -> Iterator[str]:
    """Words with digits in them that are no number, day or time."""
    taken = iter([*mentions(sentence).spans(), (len(sentence), len(sentence))])
    start, end = next(taken)
    for token in _REFERENCE.finditer(sentence):
        while end <= token.start():
            start, end = next(taken)
        if token.end() <= start and any(map(str.isdigit, token[0])):
            yield token[0]


def _is_id(text: str, facts: Facts) -> bool:
    name = bare(text)
    if not name:
        return False
    is_short = name[0].isdigit() and f"0{name}" in facts.names  # "9D" for `09D`
    return is_short or name in facts.names or name in facts.asked_bare or name in facts.words_with_digits
