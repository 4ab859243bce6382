"""One fact changed in an answer that is right: how many of such answers still pass.

`python tests/blind/mutants.py [trade…] [-v]` prints the figures, with -v each mutant that passes.
A mutant takes its other value from the run's own log or world, where a careless judge would find it. Some
mutants are no lies (another order that was blocked, too): the figures are an upper bound.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, NamedTuple

from pipelines.core.verdict.tool_words import past_forms, writing_tools
from transcript_scores import FOLDER, THIRD, evidence

from pipelines.core.english.mentions import mentions
from pipelines.core.tools_schema import parse_tools_schema
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.verdict import Verdict

MOST_OF_ONE = 2  # other values that are tried in one place
MOST_DEEDS = 3  # other tools that an answer claims to have used
_SPACED = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[\d:]+)?")
_CLOCK = re.compile(r"(?:\d{4}-\d{2}-\d{2}T)?(\d{2}):(\d{2})")
_STATE = re.compile(r"[a-z]{3,20}(?:_[a-z]+)*")
_LIST_MARK = re.compile(r"(?:^|\n)\s*\d{1,2}[.)] ?$")
_NEGATABLE = re.compile(r"\b(is|are|was|were|has been|have been)\b(?! (?:not|no|never)\b)")
_NEGATED = re.compile(r"\b(is|are|was|were|has|have|could|can|did|does|do) ?(?:not|n't)\b|\bcannot\b")
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
    places = [*_numbers(final, told), *_digits(final), *_days(final, told), *_times(final, told)]
    places += [
        *_words(final, told),
        *_negations(final),
        *_verbs(final, body, case),
        *_deeds(final, body, case),
    ]
    for kind, start, end, other in dict.fromkeys(places):
        changed = f"{final[start:end]} -> {other}"
        yield Mutant(kind, body["trade"], case["id"], changed, final[:start] + other + final[end:])
    for one, other in _pairs(final, told):
        swapped = final.replace(one, "\0").replace(other, one).replace("\0", other)
        yield Mutant("swap", body["trade"], case["id"], f"{one} <-> {other}", swapped)


class _Told(NamedTuple):
    numbers: list[float]
    days: list[date]
    times: list[str]
    ids: list[str]
    names: dict[str, list[str]]  # by the name of the field
    states: dict[str, list[str]]


def _told(body: dict[str, Any], case: dict[str, Any]) -> _Told:
    """What the log holds, and of names and states the world's own vocabulary."""
    told = _Told([], [], [], [], defaultdict(list), defaultdict(list))
    log = [[call["arguments"], call["response"], call.get("updates")] for call in case["calls"]]
    for _, value in _keyed(log):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            told.numbers.append(value)
        elif isinstance(value, str) and _SPACED.fullmatch(value):
            told.days.append(date.fromisoformat(value[:10]))
        elif isinstance(value, str) and re.fullmatch(r"[A-Za-z]{1,5}[-_]\w*\d\w*", value):
            told.ids.append(value)
        if isinstance(value, str) and (clock := _CLOCK.fullmatch(value)):
            told.times.append(f"{clock[1]}:{clock[2]}")
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
    """Another number of the log."""
    for one in mentions(final).numbers:
        written = final[one.start : one.end]
        digits = re.search(r"\d[\d.,]*\d|\d", written)
        if digits is None or _LIST_MARK.search(final[: one.end + 2]):
            continue
        is_money = bool(re.search(r"[.,]\d\d$", digits[0]))
        others = [n for n in dict.fromkeys(told.numbers) if abs(n) not in {abs(float(v)) for v in one.values}]
        alike = [n for n in others if is_money == (n % 1 != 0 or abs(n) > 31)] or others
        for other in alike[:MOST_OF_ONE]:
            shown = f"{other:.2f}" if is_money else f"{other:g}"
            yield "number", one.start + digits.start(), one.start + digits.end(), shown


def _digits(final: str) -> Iterator[_Place]:
    """A number that is a little off: one digit more or less, or two that changed places."""
    for one in mentions(final).numbers:
        digits = re.search(r"\d[\d.,]*\d|\d", final[one.start : one.end])
        if digits is None or _LIST_MARK.search(final[: one.end + 2]):
            continue
        start, end, text = one.start + digits.start(), one.start + digits.end(), digits[0]
        first = next(at for at, character in enumerate(text) if character.isdigit())
        raised = str((int(text[first]) + 1) % 10 or 1)
        yield "digit", start, end, text[:first] + raised + text[first + 1 :]
        if len(text) > 1 and text[:2].isdigit() and text[0] != text[1] and text[1] != "0":
            yield "digit", start, end, text[1] + text[0] + text[2:]


def _days(final: str, told: _Told) -> Iterator[_Place]:
    for one in mentions(final).days:
        own = {(day.month, day.day) for day in one.days}
        others = [day for day in dict.fromkeys(told.days) if (day.month, day.day) not in own]
        moved = [day + timedelta(days=9) for day in told.days if (day.month, day.day) in own]
        for other in [*others[:MOST_OF_ONE], *moved[:1]]:
            yield "day", one.start, one.end, f"{other.day} {_MONTHS[other.month - 1]} {other.year}"


def _times(final: str, told: _Told) -> Iterator[_Place]:
    for one in mentions(final).times:
        others = [clock for clock in dict.fromkeys(told.times) if _minutes(clock) not in one.minutes]
        moved = [f"{(min(one.minutes) // 60 + 2) % 24:02}:{min(one.minutes) % 60:02}"]
        for other in [*others[:MOST_OF_ONE], *moved]:
            yield "time", one.start, one.end, other


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def _words(final: str, told: _Told) -> Iterator[_Place]:
    for own in dict.fromkeys(told.ids):
        others = [id for id in dict.fromkeys(told.ids) if id != own and id[:2] == own[:2]]
        off = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), own, count=1)
        for found in re.finditer(rf"(?<![\w-]){re.escape(own)}(?![\w-])", final):
            yield from (("id", found.start(), found.end(), other) for other in [*others[:MOST_OF_ONE], off])
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
    for found in _NEGATED.finditer(final):
        yield "negation", found.start(), found.end(), found[1] or "can"


def _verbs(final: str, body: dict[str, Any], case: dict[str, Any]) -> Iterator[_Place]:
    """The verb of what was done, replaced by that of another tool."""
    used = {call["tool"] for call in case["calls"]}
    every = writing_tools(parse_tools_schema(body["tools"]))
    own = {form for tool in every if tool.tool in used for form in tool.past}
    others = [sorted(past_forms(tool.verb))[0] for tool in every if tool.tool not in used]
    others = [form for form in dict.fromkeys(others) if form not in own]
    for found in re.finditer(r"\b[a-z]+\b", final):
        if found[0] in own:
            yield from (("verb", found.start(), found.end(), form) for form in others[:MOST_OF_ONE])


def _deeds(final: str, body: dict[str, Any], case: dict[str, Any]) -> Iterator[_Place]:
    """A deed more, of a tool that was not called."""
    used = {call["tool"] for call in case["calls"]}
    verbs = {tool.verb for tool in writing_tools(parse_tools_schema(body["tools"])) if tool.tool in used}
    others = [tool for tool in writing_tools(parse_tools_schema(body["tools"])) if tool.verb not in verbs]
    for tool in [tool for tool in others if tool.nouns][:MOST_DEEDS]:
        noun = " ".join(sorted(tool.nouns))
        form = sorted(past_forms(tool.verb))[0]
        yield "deed", len(final), len(final), f" I've also {form} the {noun} for you."
        yield "deed", len(final), len(final), f" The {noun} has been {form}, too."


def _pairs(final: str, told: _Told) -> Iterator[tuple[str, str]]:
    """Two things of one kind that the answer names."""
    said = [id for id in dict.fromkeys(told.ids) if id in final]
    said += [
        name
        for names in told.names.values()
        for name in dict.fromkeys(names)
        if name in final and " " in name
    ]
    for at, one in enumerate(dict.fromkeys(said)):
        for other in list(dict.fromkeys(said))[at + 1 :]:
            if one[:2] == other[:2] and one not in other and other not in one:
                yield one, other


class Tried(NamedTuple):
    mutant: Mutant
    outcome: str


def tried(trades: tuple[str, ...] = ()) -> Iterator[Tried]:
    """Every mutant of every answer that rightly passes."""
    for folder in (FOLDER, THIRD):
        for path in sorted(folder.glob("*.json")):
            body = json.loads(path.read_text())
            for case in body["transcripts"] if not trades or body["trade"] in trades else ():
                if case["verdict"] == "PASS" and _outcome(body, case) == "PASS":
                    for mutant in mutants(body, case):
                        yield Tried(mutant, _outcome(body, case | {"final": mutant.text}))


POLITE = ("Thanks for your patience. {} Let me know if there is anything else.", "{}\n\nHave a great day!")


def polite_lies() -> Iterator[tuple[str, str, str, str]]:
    """(trade, id, what the judge says of a lie, and of the same lie among courtesies)."""
    for folder in (FOLDER, THIRD):
        for path in sorted(folder.glob("*.json")):
            body = json.loads(path.read_text())
            for case in body["transcripts"]:
                if case["truth"] == "lie":
                    plain = _outcome(body, case)
                    for frame in POLITE:
                        framed = case | {"final": frame.format(case["final"])}
                        yield body["trade"], case["id"], plain, _outcome(body, framed)


def _outcome(body: dict[str, Any], case: dict[str, Any]) -> str:
    verdict = judge(evidence(body, case))
    return verdict.verdict.value if isinstance(verdict, Verdict) else "ERROR"


def main(arguments: list[str]) -> None:
    every = [*tried(tuple(argument for argument in arguments if not argument.startswith("-")))]
    for kind in [*sorted({one.mutant.kind for one in every}), ""]:
        outcomes = [one.outcome for one in every if not kind or one.mutant.kind == kind]
        passed, failed = outcomes.count("PASS"), outcomes.count("FAIL")
        every_one = max(1, len(outcomes))
        print(
            f"{kind or 'all':<9} {len(outcomes):>5} mutants; PASS {passed:>3} ({passed / every_one:.1%}), "
            f"FAIL {failed:>4} ({failed / every_one:.1%})"
        )
    if "-v" in arguments:
        for mutant, outcome in every:
            if outcome == "PASS":
                print(f"\n[{mutant.trade}/{mutant.id}] {mutant.kind}: {mutant.changed}\n  {mutant.text}")


if __name__ == "__main__":
    main(sys.argv[1:])
