"""Failure rules: which tool calls get a forced reply instead of a simulated one.

Every rule counts for itself: the calls its `tool` matches, whether or not an earlier rule answered them. So
what a rule does depends on nothing but those calls and its flag, and a replay of a run fires alike.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pipelines.core.authored import Fields, as_list, as_object, did_you_mean, kind
from pipelines.core.json_text import Json, JsonObject, pointer
from pipelines.core.problems import Problem, Refused

ANY_TOOL = "*"
SUCCESS = 200

#: Which draws a rule gets. A new text changes every run with a random rule: bump it only with a new version
#: of seeds.
DRAW_SEED = "odyssey failure rules 1"


@dataclass(frozen=True, kw_only=True, slots=True)
class ForcedReply:
    """What the agent gets when a rule fires: a success with any JSON, or an HTTP error with a message."""

    code: int
    response: Json = None  # for code 200
    message: str = ""  # for every other code

    def body(self) -> Json:
        if self.code == SUCCESS:
            return self.response
        return {"error": {"code": self.code, "message": self.message}}

    def as_json(self) -> JsonObject:
        if self.code == SUCCESS:
            return {"code": self.code, "response": self.response}
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, kw_only=True, slots=True)
class AfterNCalls:
    """Fires on the n-th matching call, and on `duration` calls in all."""

    tool: str
    n: int
    duration: int
    error: ForcedReply

    def as_json(self) -> JsonObject:
        head: JsonObject = {"trigger": "after_n_calls", "tool": self.tool}
        return head | {"n": self.n, "duration": self.duration, "error": self.error.as_json()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Randomly:
    """Fires on each matching call with this probability."""

    tool: str
    probability: float
    error: ForcedReply

    def as_json(self) -> JsonObject:
        head: JsonObject = {"trigger": "random", "tool": self.tool}
        return head | {"probability": self.probability, "error": self.error.as_json()}


@dataclass(frozen=True, kw_only=True, slots=True)
class AfterStateChange:
    """Fires on the next `duration` matching calls after the call which set the flag `condition`."""

    tool: str
    condition: str
    duration: int
    error: ForcedReply

    def as_json(self) -> JsonObject:
        head: JsonObject = {"trigger": "after_state_change", "tool": self.tool}
        return head | {
            "condition": self.condition,
            "duration": self.duration,
            "error": self.error.as_json(),
        }


FailureRule: TypeAlias = AfterNCalls | Randomly | AfterStateChange


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchedRule:
    index: int  # of the rule, from 0, in the author's order
    status: int
    response: Json


class RuleProgress:
    """How far each rule of one run has come. Rebuilt after a crash by telling it the run's calls again."""

    __slots__ = ("_calls", "_open_until", "_raised", "_rules")

    def __init__(self, rules: Sequence[FailureRule], is_flagged: Callable[[str], bool]) -> None:
        """`is_flagged` is of the initial state: a flag set there opens its windows at the first call."""
        self._rules = tuple(rules)
        self._calls = [0] * len(self._rules)  # calls that each rule's tool has matched
        self._open_until = [0] * len(self._rules)  # after_state_change: last of those calls to fire on
        self._raised: set[str] = set()
        for rule in self._rules:
            if isinstance(rule, AfterStateChange) and is_flagged(rule.condition):
                self.flag_changed(rule.condition, True)

    def next_match(self, tool: str) -> MatchedRule | None:
        """Count one call, for every rule, and give the first rule in the author's order that fires on it."""
        matched = None
        for index, rule in enumerate(self._rules):
            if rule.tool not in (ANY_TOOL, tool):
                continue
            self._calls[index] += 1
            if matched is None and self._fires(index, rule):
                matched = MatchedRule(index=index, status=rule.error.code, response=rule.error.body())
        return matched

    def flag_changed(self, flag: str, value: bool) -> None:
        """Tell of a flag a call has set or cleared, once the call is done: windows open after that call.

        A window runs to its end even if the flag is cleared; setting it again opens a new one.
        """
        if value == (flag in self._raised):
            return
        if not value:
            self._raised.discard(flag)
            return
        self._raised.add(flag)
        for index, rule in enumerate(self._rules):
            if isinstance(rule, AfterStateChange) and rule.condition == flag:
                self._open_until[index] = self._calls[index] + rule.duration

    def _fires(self, index: int, rule: FailureRule) -> bool:
        number = self._calls[index]
        match rule:
            case AfterNCalls():
                return rule.n <= number < rule.n + rule.duration
            case Randomly():
                return draw(index, number) < rule.probability
            case AfterStateChange():
                return number <= self._open_until[index]


def draw(rule_index: int, call_number: int) -> float:
    """Chance of one rule on one call, in [0, 1): a hash of where it stands, not the next of a stream."""
    digest = hashlib.sha256(f"{DRAW_SEED}/{rule_index}/{call_number}".encode()).digest()
    return (int.from_bytes(digest[:8]) >> 11) / 2**53


def parse_failure_rules(
    body: Json, *, tools: Collection[str] | None, path: str = "/failure_rules"
) -> tuple[FailureRule, ...]:
    """The rules, or Refused with everything wrong with them. Without `tools` their names are not checked."""
    problems: list[Problem] = []
    rules = read_failure_rules(body, tools=tools, path=path, problems=problems)
    if problems:
        raise Refused(problems, "failure_rules")
    return rules


def read_failure_rules(
    body: Json, *, tools: Collection[str] | None, path: str, problems: list[Problem]
) -> tuple[FailureRule, ...]:
    """The rules that can be read; what is wrong with the others is added to `problems`."""
    if body is None:
        return ()
    rules = []
    for index, entry in enumerate(as_list(body, path, problems, "failure_rules") or ()):
        place = path + pointer([index])
        rule_body = as_object(entry, place, problems, f"failure rule {index}")
        if rule_body is not None:
            fields = Fields(rule_body, place, problems, subject=f"failure rule {index}: ")
            rule = _read_rule(fields, tools)
            if rule is not None:
                rules.append(rule)
    return tuple(rules)


_OF_EVERY_RULE = ("trigger", "tool", "error")
_FIELDS = {
    "after_n_calls": (*_OF_EVERY_RULE, "n", "duration"),
    "random": (*_OF_EVERY_RULE, "probability"),
    "after_state_change": (*_OF_EVERY_RULE, "condition", "duration"),
}


def _read_rule(fields: Fields, tools: Collection[str] | None) -> FailureRule | None:
    before = len(fields.problems)
    fields.require("trigger")
    trigger = fields.choice("trigger", _FIELDS)
    if trigger is not None:
        fields.refuse_unknown(_FIELDS[trigger])
    tool = _read_tool(fields, tools)
    error = _read_error(fields)
    rule: FailureRule | None = None
    match trigger:
        case "after_n_calls":
            fields.require("n")
            n, duration = fields.whole_number("n", 1, least=1), fields.whole_number("duration", 1, least=1)
            rule = AfterNCalls(tool=tool, n=n, duration=duration, error=error)
        case "random":
            rule = Randomly(tool=tool, probability=_read_probability(fields), error=error)
        case "after_state_change":
            fields.require("condition", "the name of a ledger flag")
            condition, duration = fields.text("condition"), fields.whole_number("duration", 1, least=1)
            rule = AfterStateChange(tool=tool, condition=condition or "", duration=duration, error=error)
    return rule if len(fields.problems) == before else None


def _read_tool(fields: Fields, tools: Collection[str] | None) -> str:
    fields.require("tool", f'a tool\'s name, or "{ANY_TOOL}" for any tool')
    tool = fields.text("tool")
    if tool is not None and tools is not None and tool != ANY_TOOL and tool not in tools:
        hint = did_you_mean(tool, tools) or f'use a declared tool, or "{ANY_TOOL}" for any'
        fields.refuse("tool", f"the agent declares no tool `{tool}`", hint)
    return tool or ""


def _read_probability(fields: Fields) -> float:
    value = fields.get("probability")
    if not fields.require("probability", "a number from 0 to 1"):
        return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        fields.refuse("probability", f"`probability` must be a number from 0 to 1, not {kind(value)}")
    elif not 0 <= value <= 1:
        fields.refuse("probability", f"`probability` must be from 0 to 1, not {value}")
    else:
        return value
    return 0


def _read_error(fields: Fields) -> ForcedReply:
    nothing = ForcedReply(code=SUCCESS)
    if not fields.require("error", '{"code": 503, "message": "…"}'):
        return nothing
    body = as_object(fields.get("error"), fields.at("error"), fields.problems, f"{fields.subject}`error`")
    if body is None:
        return nothing
    error = Fields(body, fields.at("error"), fields.problems, subject=fields.subject)
    error.refuse_unknown(("code", "message", "response"))
    error.require("code", "an HTTP status, such as 503")
    code = error.whole_number("code", 0, least=100, most=599)
    if code == 0:
        return nothing
    return _read_success(error) if code == SUCCESS else _read_failure(error, code)


def _read_success(error: Fields) -> ForcedReply:
    if "response" not in error.body:  # here null is an answer like any other
        error.refuse("response", "code 200 needs `response`", "the JSON that the agent gets as a success")
    if error.has("message"):
        error.refuse("message", "code 200 answers with `response`; `message` would never be sent")
    return ForcedReply(code=SUCCESS, response=error.get("response"))


def _read_failure(error: Fields, code: int) -> ForcedReply:
    if code < SUCCESS or code in (204, 205, 304):
        error.refuse("code", f"an HTTP reply with status {code} has no body to carry a message")
    if error.has("response"):
        error.refuse("response", "`response` is sent with code 200 only", "put the text into `message`")
    error.require("message", f"code {code} needs the message that the agent gets")
    return ForcedReply(code=code, message=error.text("message") or "")
