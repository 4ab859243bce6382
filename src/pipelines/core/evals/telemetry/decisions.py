"""Groups spans into decisions: what an agent was given, and what it chose. A tool's reply is not a choice.

A `skill.invoke` span is a decision. The tool spans inside it belong to it; where it has no outcome of its
own, they are the outcome. A tool span outside any skill is a decision if the tool answers with one (an
agent that is used as a tool). The other tool spans of one agent are a decision together: what it called
after the first reply.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipelines.core.evals.scenarios.contract import DECISION_NAMES
from pipelines.core.evals.telemetry.leaves import Fields, PathCache
from pipelines.core.evals.telemetry.spans import SKILL_NAMES
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own

TOOLS = "tools"  # as an outcome of which calls are observed has them
_TRACE = slice(2, 34)  # of a line: it begins with the trace's id


class SpanLine(NamedTuple):
    """A line as it is stored for a look: a JSON list in this order."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    skill: str
    status: str
    start_ns: int
    end_ns: int
    input: Json  # None: not told
    outcome: Json

    @property
    def is_tool(self) -> bool:
        return self.name not in SKILL_NAMES

    @property
    def is_error(self) -> bool:
        return self.status == "error"


class Decision(NamedTuple):
    input: Fields
    outcome: Fields | None  # None: it says none, or it failed
    is_error: bool
    ids: tuple[str, str]  # of trace and span
    #: The outcome is the calls that were made, not what the span says.
    is_calls: bool


class LookStatistics:
    """Counts of what was looked at in telemetry, and why something was left out."""

    def __init__(self) -> None:
        self.spans = self.without_input = self.without_outcome = self.tool_replies = self.retries = 0
        self.skills = self.regions = self.without_telling_field = self.too_large = self.known = 0

    def as_json(self) -> JsonObject:
        return {
            "spans": self.spans,
            "skills": self.skills,
            "input_shapes": self.regions,
            "left_out": {
                "tool_replies": self.tool_replies,
                "retries": self.retries,
                "spans_without_input": self.without_input,
                "spans_without_outcome": self.without_outcome,
                "shapes_without_a_constant_outcome_field": self.without_telling_field,
                "shapes_with_too_large_an_input": self.too_large,
                "decided_before": self.known,
            },
        }


class _Choice(NamedTuple):
    """A decision as it is found in its trace, before it is known what the skill's outcomes are."""

    span: SpanLine
    tools: tuple[str, ...]
    is_chain: bool = False


class _StoredChoice(NamedTuple):
    """The same, as lean as it can be: all of a look are in memory at once."""

    decision: Decision | None  # None: it has no input
    tools: tuple[str, ...]
    has_outcome: bool
    is_error: bool
    is_chain: bool
    place: tuple[int, str, str]  # the newest first


def decisions_of(lines: Iterable[bytes], looked: LookStatistics) -> dict[str, list[Decision]]:
    """By skill, the newest first, in whatever order the lines come."""
    traces: dict[bytes, list[bytes]] = {}
    for line in lines:
        traces.setdefault(line[_TRACE], []).append(line)
        looked.spans += 1
    by_skill: dict[str, list[_StoredChoice]] = {}
    interned = PathCache()
    while traces:
        _, some = traces.popitem()
        for choice in _choices([SpanLine(*loads_own(line)) for line in some], looked):  # type: ignore[misc]
            by_skill.setdefault(choice.span.skill, []).append(_store_choice(choice, interned))
    found = {
        skill: [*_decisions_of_skill(by_skill.pop(skill), interned, looked)] for skill in sorted(by_skill)
    }
    return {skill: some for skill, some in found.items() if some}


def _choices(spans: list[SpanLine], looked: LookStatistics) -> Iterator[_Choice]:
    """Of one trace."""
    if len(spans) == 1 and not spans[0].is_tool:
        yield _Choice(spans[0], ())
        return
    inside, alone = _tools(spans)
    skills = [span for span in spans if not span.is_tool]
    tries = _last_tries(skills)
    for span in tries:
        yield _Choice(span, _tool_sequence(inside.get(span.span_id, ())))
    looked.retries += len(skills) - len(tries)
    looked.tool_replies += sum(map(len, inside.values()))
    if skills:
        looked.tool_replies += len(alone)
        return
    deciding = [span for span in alone if _says_a_decision(span.outcome)]
    yield from (_Choice(span, ()) for span in _last_tries(deciding))
    siblings: dict[str | None, list[SpanLine]] = {}
    for span in alone:
        if not _says_a_decision(span.outcome):
            siblings.setdefault(span.parent_id, []).append(span)
    for some in siblings.values():
        looked.tool_replies += len(some)
        chain = _chain(sorted(some, key=_when))
        if chain is not None:
            yield chain


def _tools(spans: list[SpanLine]) -> tuple[dict[str, list[SpanLine]], list[SpanLine]]:
    """The tool spans in each skill span, by its id: of their parent, else of the innermost that was open
    from their start to their end. Then those in none."""
    inside: dict[str, list[SpanLine]] = {}
    alone: list[SpanLine] = []
    skills = {span.span_id for span in spans if not span.is_tool}
    open_now: list[SpanLine] = []
    for span in sorted(spans, key=lambda span: (span.start_ns, -span.end_ns, span.is_tool, span.span_id)):
        while open_now and open_now[-1].end_ns < span.start_ns:
            open_now.pop()
        if not span.is_tool:
            open_now.append(span)
        elif span.parent_id in skills:
            inside.setdefault(span.parent_id, []).append(span)
        elif open_now and span.end_ns <= open_now[-1].end_ns:
            inside.setdefault(open_now[-1].span_id, []).append(span)
        else:
            alone.append(span)
    return inside, alone


def _last_tries(spans: Sequence[SpanLine]) -> list[SpanLine]:
    """The same skill with the same input again in one trace is one decision: the last that did not fail."""
    if len(spans) < 2:
        return [*spans]
    tries: dict[tuple[str, bytes], SpanLine] = {}
    for span in sorted(spans, key=lambda span: (not span.is_error, *_when(span))):
        tries[span.skill, dumps(span.input)] = span
    return [*tries.values()]


def _chain(spans: list[SpanLine]) -> _Choice | None:
    """What was called after a reply, given what was asked and what came back."""
    again = next((at for at, span in enumerate(spans) if span.skill != spans[0].skill), len(spans))
    first = spans[again - 1]
    if first.is_error or first.outcome is None:
        return None
    attributes = first.input if isinstance(first.input, dict) else {}
    given: Json = {**attributes, first.skill: first.outcome}
    known = first._replace(skill=f"after {first.skill}", input=given, outcome=None)
    return _Choice(known, _tool_sequence(spans[again:]), is_chain=True)


def _tool_sequence(spans: Iterable[SpanLine]) -> tuple[str, ...]:
    """The names in order; the same tool again at once is a retry, or a list that is worked through."""
    names = [span.skill for span in sorted(spans, key=_when)]
    return tuple(name for at, name in enumerate(names) if at == 0 or names[at - 1] != name)


def _when(span: SpanLine) -> tuple[int, int, str]:
    return span.start_ns, span.end_ns, span.span_id


def _store_choice(choice: _Choice, interned: PathCache) -> _StoredChoice:
    span, tools, is_chain = choice
    decision = None
    if span.input is not None:
        outcome = None if span.outcome is None else interned.fields(span.outcome, "result")
        ids = (span.trace_id, span.span_id)
        decision = Decision(interned.fields(span.input, "input"), outcome, span.is_error, ids, is_calls=False)
    place = (-span.end_ns, span.trace_id, span.span_id)
    return _StoredChoice(decision, tools, span.outcome is not None, span.is_error, is_chain, place)


def _says_a_decision(outcome: Json) -> bool:
    return isinstance(outcome, dict) and any(name.casefold() in DECISION_NAMES for name in outcome)


def _decisions_of_skill(
    choices: list[_StoredChoice], interned: PathCache, looked: LookStatistics
) -> Iterator[Decision]:
    """Calls are the outcome of a skill none of whose spans says another, and that called something."""
    is_calls = not any(choice.has_outcome for choice in choices)
    if is_calls and not any(choice.tools for choice in choices):
        if not choices[0].is_chain:
            looked.without_outcome += sum(not choice.is_error for choice in choices)
        return
    for choice in sorted(choices, key=lambda choice: choice.place):
        decision = choice.decision
        if decision is None:
            looked.without_input += 1
            continue
        looked.without_outcome += not (is_calls or choice.has_outcome or choice.is_error)
        if is_calls:
            called = interned.fields({TOOLS: [*choice.tools]}, "result")
            decision = decision._replace(outcome=called, is_calls=True)
        yield decision._replace(outcome=None) if choice.is_error else decision
