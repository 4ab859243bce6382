"""Formats values, paths, calls and expectations for verdict texts."""

from collections.abc import Iterable, Sequence

from pipelines.core.matchers.matching import Actual, Missing, is_matcher
from pipelines.core.oracles.trace import EvidenceRow
from pipelines.core.text.json_text import Json, dumps

LONGEST_VALUE = 80
MOST_LISTED = 5


def format_value(value: Actual) -> str:
    if isinstance(value, Missing):
        return "missing"
    return shorten(dumps(value).decode("utf-8", "replace"))


def shorten(text: str, longest: int = LONGEST_VALUE) -> str:
    head = text[: longest * 4]  # of a whole answer only the beginning is ever shown
    flat = " ".join(head.split())
    return flat if len(flat) <= longest and len(head) == len(text) else flat[: longest - 1] + "…"


def quote(sentence: str) -> str:
    """Shorten a sentence so that it can stand between quotation marks."""
    return shorten(sentence, 160).rstrip(".")


def calls_text(rows: Iterable[EvidenceRow]) -> str:
    """`call 3 (refund_order)`, `calls 3 and 5 (refund_order)`."""
    listed = list(rows)
    tools = " and ".join(dict.fromkeys(row.tool or row.kind for row in listed))
    numbers = join_words([str(row.sequence) for row in listed])
    return f"call{'s' if len(listed) > 1 else ''} {numbers} ({tools})"


def join_words(items: Sequence[str], joint: str = "and") -> str:
    """`a, b and c`, cut where it gets long."""
    few = list(items[:MOST_LISTED])
    if len(items) > MOST_LISTED:
        few.append(f"{len(items) - MOST_LISTED} more")
    return f" {joint} ".join([", ".join(few[:-1]), few[-1]] if len(few) > 1 else few)


def times(count: int) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(count, f"{count} times")


def expectation_text(expected: Json) -> str:
    """An expectation as words that follow "should": `be "refunded"`, `be at least 5`, `not exist`."""
    if not is_matcher(expected) or not isinstance(expected, dict):
        return "be an object" if expected == {} else f"be {format_value(expected)}"
    return " and ".join(_wish(name, expected_value) for name, expected_value in expected.items())


def _wish(name: str, wanted: Json) -> str:
    match name, wanted:
        case "$in", list():
            return f"be {join_words([format_value(option) for option in wanted], 'or')}"
        case "$any_of", list():
            return join_words([expectation_text(option) for option in wanted], "or")
        case "$all_of", list():
            return join_words([expectation_text(option) for option in wanted])
        case "$text", _:
            return f"read {format_value(wanted)} (in any case and spacing)"
        case "$number", _:
            return f"say the number {_number(wanted)}"
        case "$date", _:
            return f"name the day {_day(wanted)}"
        case "$regex", _:
            return f"match the pattern {shorten(str(wanted))}"
        case "$gte", _:
            return f"be at least {format_value(wanted)}"
        case "$lte", _:
            return f"be at most {format_value(wanted)}"
        case "$contains", _:
            return f"contain {format_value(wanted)}"
        case "$exists", _:
            return "exist" if wanted else "not exist"
        case "$not", _:
            return f"not {expectation_text(wanted)}"
        case "$similar", {"text": text}:
            return f"be similar to {format_value(text)}"
        case _:
            return f"satisfy {name} {format_value(wanted)}"


def _number(wanted: Json) -> str:
    if not isinstance(wanted, dict):
        return format_value(wanted)
    if "value" in wanted:
        within = f" (within {format_value(wanted['tolerance'])})" if wanted.get("tolerance") else ""
        return format_value(wanted["value"]) + within
    ends = {"$gte": "at least", "$lte": "at most"}
    return " and ".join(f"{word} {format_value(wanted[end])}" for end, word in ends.items() if end in wanted)


def _day(wanted: Json) -> str:
    if not isinstance(wanted, dict):
        return str(wanted)
    day, today = str(wanted.get("day")), wanted.get("today")
    return f"{day} (today is {today})" if today and not day[:1].isdigit() else day
