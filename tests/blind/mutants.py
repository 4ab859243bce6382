"""One fact changed in an answer that is right: how many of such answers still pass.

`python tests/blind/mutants.py [trade…] [-v]` prints the figures, with -v each mutant that passes.
A mutant takes its other value from the run's own log, where a careless judge would find it.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, NamedTuple

from transcript_scores import FOLDER, LOOKED_AT, evidence

from pipelines.core.english.mentions import mentions
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import Verdict

MOST_OF_ONE = 2  # other values that are tried in one place
_SPACED = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[\d:]+)?")
_STATE = re.compile(r"[a-z]{3,20}(?:_[a-z]+)*")
_NEGATABLE = re.compile(r"\b(is|are|was|were|has been|have been)\b(?! (?:not|no|never)\b)")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


class Mutant(NamedTuple):
    kind: str
    trade: str
    id: str
    changed: str
    text: str


def mutants(body: dict[str, Any], case: dict[str, Any]) -> Iterator[Mutant]:
    """The answer with one fact changed at a time."""
    final: str = case["final"]
    told = _told(body, case)
    places = [*_numbers(final, told), *_days(final, told), *_words(final, told), *_negations(final)]
    for kind, start, end, other in dict.fromkeys(places):
        changed = f"{final[start:end]} -> {other}"
        yield Mutant(kind, body["trade"], case["id"], changed, final[:start] + other + final[end:])


class _Told(NamedTuple):
    numbers: list[float]
    days: list[date]
    ids: list[str]
    names: dict[str, list[str]]  # by the name of the field
    states: dict[str, list[str]]


def _told(body: dict[str, Any], case: dict[str, Any]) -> _Told:
    """What the log holds, and of names and states the world's own vocabulary."""
    told = _Told([], [], [], defaultdict(list), defaultdict(list))
    log = [[call["arguments"], call["response"], call.get("updates")] for call in case["calls"]]
    for _, value in _keyed(log):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            told.numbers.append(value)
        elif isinstance(value, str) and _SPACED.fullmatch(value):
            told.days.append(date.fromisoformat(value[:10]))
        elif isinstance(value, str) and re.fullmatch(r"[A-Za-z]{1,5}[-_]\w*\d\w*", value):
            told.ids.append(value)
    for key, value in _keyed(body["world"]):
        if isinstance(value, str) and _STATE.fullmatch(value):
            told.states[key].append(value)
        elif isinstance(value, str) and re.fullmatch(r"[A-Z][\w.'&-]+(?: [\w.'&-]+){0,3}", value):
            told.names[key].append(value)
    return told


def _keyed(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, below in value.items():
            yield from _keyed(below, name)
    elif isinstance(value, list):
        for below in value:
            yield from _keyed(below, key)
    else:
        yield key, value


_Place = tuple[str, int, int, str]


def _numbers(final: str, told: _Told) -> Iterator[_Place]:
    for one in mentions(final).numbers:
        written = final[one.start : one.end]
        digits = re.search(r"\d[\d.,]*\d|\d", written)
        if digits is None:
            continue
        is_money = bool(re.search(r"[.,]\d\d$", digits[0]))
        others = [n for n in dict.fromkeys(told.numbers) if abs(n) not in {abs(float(v)) for v in one.values}]
        alike = [n for n in others if is_money == (n % 1 != 0 or abs(n) > 31)] or others
        for other in alike[:MOST_OF_ONE]:
            shown = f"{other:.2f}" if is_money else f"{other:g}"
            yield "number", one.start + digits.start(), one.start + digits.end(), shown


def _days(final: str, told: _Told) -> Iterator[_Place]:
    for one in mentions(final).days:
        own = {(day.month, day.day) for day in one.days}
        others = [day for day in dict.fromkeys(told.days) if (day.month, day.day) not in own]
        moved = [day + timedelta(days=9) for day in told.days if (day.month, day.day) in own]
        for other in [*others[:MOST_OF_ONE], *moved[:1]]:
            yield "day", one.start, one.end, f"{other.day} {_MONTHS[other.month - 1]} {other.year}"


def _words(final: str, told: _Told) -> Iterator[_Place]:
    for own in dict.fromkeys(told.ids):
        others = [id for id in dict.fromkeys(told.ids) if id != own and id[:2] == own[:2]]
        for found in re.finditer(rf"(?<![\w-]){re.escape(own)}(?![\w-])", final):
            yield from (("id", found.start(), found.end(), other) for other in others[:MOST_OF_ONE])
    for kind, values in (("name", told.names), ("state", told.states)):
        for same_field in values.values():
            for own in dict.fromkeys(same_field):
                others = [other for other in dict.fromkeys(same_field) if other != own]
                shown = re.escape(own).replace("_", "[ _]")
                for found in re.finditer(rf"(?<![\w-]){shown}(?![\w-])", final):
                    for other in others[:MOST_OF_ONE]:
                        yield kind, found.start(), found.end(), other.replace("_", " ")


def _negations(final: str) -> Iterator[_Place]:
    for found in _NEGATABLE.finditer(final):
        first, _, rest = found[1].partition(" ")
        yield "negation", found.start(), found.end(), f"{first} not {rest}".strip()


class Tried(NamedTuple):
    mutant: Mutant
    outcome: str


def tried(trades: tuple[str, ...] = LOOKED_AT) -> Iterator[Tried]:
    """Every mutant of every answer that rightly passes."""
    for path in sorted(FOLDER.glob("*.json")):
        body = json.loads(path.read_text())
        for case in body["transcripts"] if body["trade"] in trades else ():
            if case["verdict"] == "PASS" and _outcome(body, case) == "PASS":
                for mutant in mutants(body, case):
                    yield Tried(mutant, _outcome(body, case | {"final": mutant.text}))


def _outcome(body: dict[str, Any], case: dict[str, Any]) -> str:
    verdict = judge(evidence(body, case))
    return verdict.verdict.value if isinstance(verdict, Verdict) else "ERROR"


def main(arguments: list[str]) -> None:
    trades = tuple(argument for argument in arguments if not argument.startswith("-")) or LOOKED_AT
    every = [*tried(trades)]
    for kind in sorted({one.mutant.kind for one in every}):
        of_kind = [one.outcome for one in every if one.mutant.kind == kind]
        passed, failed = of_kind.count("PASS"), of_kind.count("FAIL")
        print(f"{kind:<9} {len(of_kind):>4} mutants; PASS {passed:>3}, FAIL {failed:>3}")
    if "-v" in arguments:
        for mutant, outcome in every:
            if outcome == "PASS":
                print(f"\n[{mutant.trade}/{mutant.id}] {mutant.kind}: {mutant.changed}\n  {mutant.text}")


if __name__ == "__main__":
    main(sys.argv[1:])
