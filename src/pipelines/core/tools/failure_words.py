"""Failure rules as sentences, and a forecast of which of a run's first calls each rule hits."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from pipelines.core.text.json_text import dumps
from pipelines.core.tools.failure_rules import (
    ANY_TOOL,
    SUCCESS,
    AfterNCalls,
    AfterStateChange,
    Effect,
    FailureRule,
    Randomly,
    WireFault,
    draw,
)

FEWEST_CALLS, MOST_CALLS = 8, 24  # that a forecast tells of, unless asked for as many
_LONGEST = 160  # characters of a message or a response inside a sentence

#: What a rule does on one call: fires; may fire, if a flag is set by then; would fire, but an
#: earlier rule of the same tool answers; or nothing.
Mark: TypeAlias = Literal["fires", "maybe", "taken", ""]


def rule_in_words(rule: FailureRule) -> str:
    """On which calls, and what the agent then gets."""
    sentence = f"{_when(rule)}, {_then(rule)}."
    return sentence[0].upper() + sentence[1:]


def forecast(
    rules: Sequence[FailureRule],
    *,
    chance: str,
    is_flagged: Callable[[str], bool],
    calls: int | None = None,
) -> tuple[tuple[Mark, ...], ...]:
    """For every rule what it does on the first `calls` calls of its own tool.

    `chance` is the run's (`chance_of`), `is_flagged` of its initial state. Rules of the same tool take
    precedence in order. A rule for any tool and a rule for one tool count different calls, so neither hides
    the other.
    """
    many = calls if calls is not None else _forecast_length(rules)
    marks: list[tuple[Mark, ...]] = []
    for index, rule in enumerate(rules):
        alone = [_mark(rule, index, number, chance, is_flagged) for number in range(1, many + 1)]
        earlier = [marks[other] for other in range(index) if rules[other].tool == rule.tool]
        marks.append(tuple(_after_earlier_rules(mark, at, earlier) for at, mark in enumerate(alone)))
    return tuple(marks)


def _after_earlier_rules(mark: Mark, at: int, earlier: Sequence[Sequence[Mark]]) -> Mark:
    return "taken" if mark and any(marks[at] == "fires" for marks in earlier) else mark


def _forecast_length(rules: Sequence[FailureRule]) -> int:
    """One call more than the last that a rule names, so that the forecast shows its end."""
    last = max((rule.n + rule.duration for rule in rules if isinstance(rule, AfterNCalls)), default=0)
    return min(max(FEWEST_CALLS, last), MOST_CALLS)


def _mark(rule: FailureRule, index: int, number: int, chance: str, is_flagged: Callable[[str], bool]) -> Mark:
    match rule:
        case AfterNCalls():
            return "fires" if rule.n <= number < rule.n + rule.duration else ""
        case Randomly():
            return "fires" if draw(chance, index, number) < rule.probability else ""
        case AfterStateChange():
            # Set from the start it opens a window at once; cleared and set again, another.
            return "fires" if number <= rule.duration and is_flagged(rule.condition) else "maybe"


def _when(rule: FailureRule) -> str:
    tool = "any tool" if rule.tool == ANY_TOOL else rule.tool
    match rule:
        case AfterNCalls():
            return f"on the {_calls(rule.n, rule.n + rule.duration - 1)} of {tool}"
        case Randomly() if rule.probability == 0:
            return f"never (its probability is 0), on a call of {tool}"
        case Randomly():
            chance = f", with a probability of {rule.probability * 100:.4g} %" if rule.probability < 1 else ""
            return f"on each call of {tool}{chance}"
        case AfterStateChange():
            calls = "call" if rule.duration == 1 else f"{rule.duration:,} calls"
            return f"once the flag {rule.condition} is set, on the next {calls} of {tool}"


def _calls(first: int, last: int) -> str:
    if first == last:
        return f"{_ordinal(first)} call"
    return f"{_ordinal(first)} {'and' if last == first + 1 else 'to'} {_ordinal(last)} calls"


def _ordinal(number: int) -> str:
    is_teen = number % 100 in (11, 12, 13)
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def _then(rule: FailureRule) -> str:
    wait = f"wait {_duration_text(rule.latency_ms)}, then " if rule.latency_ms else ""
    return wait + (_effect(rule.error) if rule.error is not None else "answer as without this rule")


def _effect(error: Effect) -> str:
    if isinstance(error, WireFault):
        if error.kind == "reset":
            return "reset the connection without a reply"
        return f"hold the connection for {_duration_text(error.after_ms)}, then close it without a reply"
    if error.code == SUCCESS:
        return f"answer with success: {_cut(dumps(error.response).decode())}"
    return f"answer {error.code}: “{_cut(error.message)}”"


def _duration_text(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:,.4g} s"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
