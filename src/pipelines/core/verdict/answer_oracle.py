"""The answer oracle: looks up each expected value in the data that the agent returned, else in its prose.

Data is `metadata.answer`, or a final response that is a JSON object. Where the data has a value of that name,
the data decides, whatever the prose says. Any other value is looked for in the prose.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from pipelines.core.matchers.matcher_form import complaint, is_number
from pipelines.core.matchers.matching import interpreted_value, is_matcher, matches, with_today
from pipelines.core.matchers.phrases import mentions_of, same_words
from pipelines.core.oracles.expected_answer import CHECK, ExpectedAnswer, ExpectedValue
from pipelines.core.oracles.wording import expectation_text, format_value
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject
from pipelines.core.text.repaired_json import loads_repaired
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.verdict import FailureMode, Finding, broken, held

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FENCE = "```"
_RANGE = ("$gte", "$lte")


def evaluate_expected_answer(expected: ExpectedAnswer, evidence: RunEvidence) -> list[Finding]:
    """A finding for each value."""
    data = answer_data(evidence)
    turn_of = _first_turns(expected.values, evidence)
    return [
        _by_data(value, data[value.name], evidence.now)
        if value.name in data
        else _by_prose(value, turn_of.get(value.name), evidence)
        for value in expected.values
    ]


def answer_data(evidence: RunEvidence) -> JsonObject:
    """The agent's data by name. `metadata.answer` takes precedence over the final response."""
    answer_values = evidence.answer if isinstance(evidence.answer, dict) else {}
    return _object_in(evidence.final_response) | answer_values


def is_in_prose(expected: Json, text: str, now: str | None = None) -> bool:
    """Whether the prose gives the value. Prose cannot give true, false or null."""

    def holds(one: Json) -> bool:
        matcher = _as_matcher(one)
        if isinstance(matcher, str):
            return any(mentions_of(matcher, text))
        return isinstance(matcher, dict) and matches(with_today(matcher, now), text)

    return _all_hold(expected, holds)


def is_in_data(expected: Json, actual: Json, now: str | None = None) -> bool:
    """Whether a value of the data is the expected one; a number may be a text there, and a text a number."""

    def holds(one: Json) -> bool:
        matcher = _as_matcher(one)
        if matches(with_today(one, now), actual):
            return True
        if isinstance(matcher, str) and isinstance(actual, str):
            return same_words(matcher, actual)
        if isinstance(matcher, str):
            return is_number(actual) and matches({"$number": actual}, matcher)
        return isinstance(matcher, dict) and matches(with_today(matcher, now), actual)

    return _all_hold(expected, holds)


def needs_data(expected: Json) -> bool:
    """Whether only data can give this value."""
    return not _all_hold(expected, lambda one: one is not None and not isinstance(one, bool))


# Splitting an expectation


def _all_hold(expected: Json, holds: Callable[[Json], bool]) -> bool:
    """Whether the expectation holds; `holds` decides each literal and each single matcher."""
    if not isinstance(expected, dict) or not is_matcher(expected):
        return holds(expected)
    ends = {name: expected_value for name, expected_value in expected.items() if name in _RANGE}
    others = ((name, expected_value) for name, expected_value in expected.items() if name not in _RANGE)
    in_range = not ends or holds({"$number": ends})
    return in_range and all(_holds_for(name, expected_value, holds) for name, expected_value in others)


def _holds_for(name: str, wanted: Json, holds: Callable[[Json], bool]) -> bool:
    match name, wanted:
        case (("$in" | "$any_of"), list()):
            return any(_all_hold(option, holds) for option in wanted)
        case "$all_of", list():
            return all(_all_hold(option, holds) for option in wanted)
        case "$text", _:
            return holds(wanted)
        case _:
            return holds({name: wanted})


def _as_matcher(one: Json) -> Json:
    """Numbers and days become matchers that find them in a text; any other text stays a phrase."""
    if is_number(one):
        return {"$number": one}
    if isinstance(one, str) and _DAY.fullmatch(one.strip()) and complaint("$date", one) is None:
        return {"$date": one}
    return one


# Data


def _object_in(text: str) -> JsonObject:
    """The JSON object that an answer is, or the only one that it has between code fences."""
    whole = _as_object(text)
    if whole is not None:
        return whole
    found = [value for block in _fenced(text) if (value := _as_object(block)) is not None]
    return found[0] if len(found) == 1 else {}


def _fenced(text: str) -> Iterator[str]:
    block: list[str] | None = None
    for line in text.splitlines() if _FENCE in text else ():
        mark = line.strip().lower()
        if block is None:
            block = [] if mark in (_FENCE, f"{_FENCE}json") else None
        elif mark == _FENCE:
            yield "\n".join(block)
            block = None
        else:
            block.append(line)


def _as_object(text: str) -> JsonObject | None:
    if not text.strip().startswith("{"):
        return None
    try:
        value, _ = loads_repaired(text.strip().encode("utf-8", "replace"))
    except InvalidJson:
        return None
    return value if isinstance(value, dict) else None


def _by_data(value: ExpectedValue, actual: Json, now: str | None) -> Finding:
    if is_in_data(value.expected, actual, now):
        return held(CHECK, f"The answer gives {value.name} as expected in its data: {format_value(actual)}.")
    return _broken_finding(value, f"but the agent's data has {format_value(actual)}")


# Prose


def _first_turns(values: Sequence[ExpectedValue], evidence: RunEvidence) -> dict[str, int]:
    """The first turn that gives each value. Reads turn by turn: reading a turn is most of the work."""
    found: dict[str, int] = {}
    for turn, text in enumerate(evidence.responses, start=1):
        is_last = turn == len(evidence.responses)
        for value in values:
            evidence.keep_going()
            is_asked = value.name not in found and (is_last or not value.only_final)
            if is_asked and is_in_prose(value.expected, text, evidence.now):
                found[value.name] = turn
    return found


def _by_prose(value: ExpectedValue, turn: int | None, evidence: RunEvidence) -> Finding:
    turns = evidence.responses[-1:] if value.only_final else evidence.responses
    if turn is not None:
        where = f" in turn {turn}" if len(evidence.responses) > 1 else ""
        what = "" if is_matcher(value.expected) else f": {format_value(value.expected)}"
        return held(CHECK, f"The answer gives {value.name} as expected{where}{what}.")
    if needs_data(value.expected):
        return _broken_finding(value, "but the agent's data does not have it, and prose cannot give it")
    instead = (_nearest_statement(value.expected, text, evidence.now) for text in reversed(turns))
    unsaid = "no turn gives it" if len(turns) > 1 else "the answer does not give it"
    return _broken_finding(value, f"but {next((found for found in instead if found is not None), unsaid)}")


def _nearest_statement(expected: Json, text: str, now: str | None) -> str | None:
    """What a text says instead of the value, where that is clear."""
    matcher = with_today(_as_matcher(expected), now)
    if isinstance(matcher, str):
        return "the answer only says the opposite" if any(True for _ in mentions_of(matcher, text)) else None
    if not isinstance(matcher, dict) or not matcher.keys() <= {"$number", "$date"}:
        return None
    found = interpreted_value(matcher, text)
    if found == text:
        return None
    if isinstance(found, float):
        return (
            f"the nearest number in the answer is {format_value(int(found) if found.is_integer() else found)}"
        )
    return f"the day in the answer is {found}"


def _broken_finding(value: ExpectedValue, but: str) -> Finding:
    says = f"{value.describe()} should {expectation_text(value.expected)}, {but}."
    return broken(CHECK, FailureMode.INCOMPLETE, says)
