"""Failure rules: which tool calls get a forced reply, no reply at all, or their reply late.

Every rule counts the calls that its `tool` matches, whether or not an earlier rule answered them. So a rule
depends only on those calls and its flag, and fires the same way in a replay.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pipelines.core.text.authored import Fields, as_list, as_object, did_you_mean, kind
from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import known_fields
from pipelines.wire.names import MAX_BODY_BYTES

ANY_TOOL = "*"
SUCCESS = 200

#: Which draws a rule gets. A new text changes every run with a random rule: bump it only with a new version
#: of seeds. The second: draws by task, since the first gave every task the same.
DRAW_SEED = "odyssey failure rules 2"

#: A person waits no longer for a tool either, and a run's own time limit is thirty minutes at most.
MAX_LATENCY_MS = 300_000
#: How long a connection without a reply is held: past the time-out of most HTTP clients.
DEFAULT_HOLD_MS = 30_000


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
class WireFault:
    """No reply at all: the connection is held and closed (`timeout`), or reset (`reset`).

    A retry with the same Idempotency-Key gets `code` and `body`.
    """

    kind: Literal["timeout", "reset"]
    after_ms: int  # how long a timeout holds the connection

    @property
    def code(self) -> int:
        return 504 if self.kind == "timeout" else 502

    def body(self) -> Json:
        word, message = _FAULTS[self.kind]
        return {"error": {"code": word, "message": message}}

    def as_json(self) -> JsonObject:
        return {"kind": self.kind} | ({"after_ms": self.after_ms} if self.kind == "timeout" else {})


_FAULTS = {
    "timeout": ("timeout", "The tool did not answer in time."),
    "reset": ("connection_reset", "The connection to the tool was reset."),
}
Effect: TypeAlias = ForcedReply | WireFault


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    tool: str
    error: Effect | None  # None: the call is answered as without the rule, only later
    latency_ms: int = 0  # how long the reply is held back

    def _effects(self) -> JsonObject:
        effects: JsonObject = {"error": self.error.as_json()} if self.error is not None else {}
        return effects | ({"latency_ms": self.latency_ms} if self.latency_ms else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class AfterNCalls(_Rule):
    """Fires on the n-th matching call, and on `duration` calls in all."""

    n: int
    duration: int

    def as_json(self) -> JsonObject:
        head: JsonObject = {"trigger": "after_n_calls", "tool": self.tool}
        return head | {"n": self.n, "duration": self.duration} | self._effects()


@dataclass(frozen=True, kw_only=True, slots=True)
class Randomly(_Rule):
    """Fires on each matching call with this probability."""

    probability: float

    def as_json(self) -> JsonObject:
        head: JsonObject = {"trigger": "random", "tool": self.tool}
        return head | {"probability": self.probability} | self._effects()


@dataclass(frozen=True, kw_only=True, slots=True)
class AfterStateChange(_Rule):
    """Fires on the next `duration` matching calls after the call which set the flag `condition`."""

    condition: str
    duration: int

    def as_json(self) -> JsonObject:
        head: JsonObject = {"trigger": "after_state_change", "tool": self.tool}
        return head | {"condition": self.condition, "duration": self.duration} | self._effects()


FailureRule: TypeAlias = AfterNCalls | Randomly | AfterStateChange


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchedRule:
    index: int  # of the rule, from 0, in the author's order
    error: Effect | None
    latency_ms: int


#: How many calls each rule had matched when a call arrived, that call included.
Counts: TypeAlias = tuple[int, ...]


class RuleProgress:
    """The counters of each rule in one run. After a crash they are rebuilt from the run's calls.

    Calls are counted when they arrive and matched when their turn comes, which may be later: earlier calls
    may set a flag until then.
    """

    __slots__ = ("_calls", "_chance", "_open_until", "_raised", "_rules")

    def __init__(
        self, rules: Sequence[FailureRule], is_flagged: Callable[[str], bool], *, chance: str = ""
    ) -> None:
        """`is_flagged` is of the initial state: a flag set there opens its windows at the first call.
        `chance` names what `random` rules draw from: see `chance_of`."""
        self._rules = tuple(rules)
        self._chance = chance
        self._calls = [0] * len(self._rules)  # calls that each rule's tool has matched
        self._open_until = [0] * len(self._rules)  # after_state_change: last of those calls to fire on
        self._raised: set[str] = set()
        for rule in self._rules:
            if isinstance(rule, AfterStateChange) and is_flagged(rule.condition):
                self.flag_changed(rule.condition, True, self.counts())

    def counts(self) -> Counts:
        return tuple(self._calls)

    def count(self, tool: str) -> Counts:
        """Count one call, for every rule."""
        if not self._rules:
            return ()
        for index, rule in enumerate(self._rules):
            if rule.tool == tool or rule.tool == ANY_TOOL:
                self._calls[index] += 1
        return tuple(self._calls)

    def match(self, tool: str, counts: Counts) -> MatchedRule | None:
        """The first rule in the author's order that fires on the call that was counted so."""
        for index, rule in enumerate(self._rules):
            if (rule.tool == tool or rule.tool == ANY_TOOL) and self._fires(index, rule, counts[index]):
                return MatchedRule(index=index, error=rule.error, latency_ms=rule.latency_ms)
        return None

    def depends_on_flags(self, tool: str) -> bool:
        """Whether what fires on a call of the tool is only known once the calls before it are settled."""
        return any(
            isinstance(rule, AfterStateChange) and (rule.tool == tool or rule.tool == ANY_TOOL)
            for rule in self._rules
        )

    def flag_changed(self, flag: str, value: bool, counts: Counts) -> None:
        """Record that a call set or cleared a flag: windows open after that call.

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
                self._open_until[index] = counts[index] + rule.duration

    def _fires(self, index: int, rule: FailureRule, number: int) -> bool:
        match rule:
            case AfterNCalls():
                return rule.n <= number < rule.n + rule.duration
            case Randomly():
                return draw(self._chance, index, number) < rule.probability
            case AfterStateChange():
                return number <= self._open_until[index]


FaultSeed: TypeAlias = int | Literal["repeat"]
MAX_FAULT_SEED = 2**53  # what every JSON reader keeps exactly


def read_fault_seed(fields: Fields, *, may_repeat: bool) -> FaultSeed:
    """Which draws the random rules of a batch get; "repeat" gives each repeat draws of its own."""
    if may_repeat and fields.get("fault_seed") == "repeat":
        return "repeat"
    return fields.whole_number("fault_seed", 0, least=0, most=MAX_FAULT_SEED)


def chance_of(task: str, fault_seed: int) -> str:
    """What the random rules of a run draw from: its task's fingerprint, and the batch's own number."""
    return f"{fault_seed}/{task}"


def draw(chance: str, rule_index: int, call_number: int) -> float:
    """Chance of one rule on one call, in [0, 1): a hash of where it stands, not the next of a stream."""
    digest = hashlib.sha256(f"{DRAW_SEED}/{chance}/{rule_index}/{call_number}".encode()).digest()
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


_RULES: dict[str, type[FailureRule]] = {
    "after_n_calls": AfterNCalls,
    "random": Randomly,
    "after_state_change": AfterStateChange,
}


def rule_from_stored(entry: Any) -> FailureRule:
    """The reverse of `as_json`, for rules that were accepted once."""
    stored = entry.get("error")
    error: Effect | None = None
    if stored is not None and "kind" in stored:
        error = WireFault(**{"after_ms": DEFAULT_HOLD_MS, **known_fields(WireFault, stored)})
    elif stored is not None:
        error = ForcedReply(**known_fields(ForcedReply, stored))
    rule = _RULES[entry["trigger"]]
    return rule(**{**known_fields(rule, entry), "error": error})


_OF_EVERY_RULE = ("trigger", "tool", "error", "latency_ms")
FIELDS_BY_TRIGGER = {
    "after_n_calls": (*_OF_EVERY_RULE, "n", "duration"),
    "random": (*_OF_EVERY_RULE, "probability"),
    "after_state_change": (*_OF_EVERY_RULE, "condition", "duration"),
}


def _read_rule(fields: Fields, tools: Collection[str] | None) -> FailureRule | None:
    before = len(fields.problems)
    fields.require("trigger")
    trigger = fields.choice("trigger", FIELDS_BY_TRIGGER)
    if trigger is not None:
        fields.refuse_unknown(FIELDS_BY_TRIGGER[trigger])
    tool = _read_tool(fields, tools)
    latency_ms = fields.whole_number("latency_ms", 0, least=1, most=MAX_LATENCY_MS)
    error = _read_error(fields, is_needed=not fields.has("latency_ms"))
    if isinstance(error, WireFault) and error.kind == "timeout" and latency_ms:
        fields.refuse(
            "latency_ms", "a timeout sends no reply, so `latency_ms` has no effect", "use error.after_ms"
        )
    rule: FailureRule | None = None
    match trigger:
        case "after_n_calls":
            fields.require("n")
            n, duration = fields.whole_number("n", 1, least=1), fields.whole_number("duration", 1, least=1)
            rule = AfterNCalls(tool=tool, error=error, latency_ms=latency_ms, n=n, duration=duration)
        case "random":
            probability = _read_probability(fields)
            rule = Randomly(tool=tool, error=error, latency_ms=latency_ms, probability=probability)
        case "after_state_change":
            fields.require("condition", "the name of a ledger flag")
            condition, duration = fields.text("condition"), fields.whole_number("duration", 1, least=1)
            rule = AfterStateChange(
                tool=tool, error=error, latency_ms=latency_ms, condition=condition or "", duration=duration
            )
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


def _read_error(fields: Fields, *, is_needed: bool) -> Effect | None:
    if not fields.has("error"):
        if is_needed:
            hint = '{"code": 503, "message": "…"}, or `latency_ms` for a reply that is only late'
            fields.require("error", hint)
        return None
    body = as_object(fields.get("error"), fields.at("error"), fields.problems, f"{fields.subject}`error`")
    if body is None:
        return None
    error = Fields(body, fields.at("error"), fields.problems, subject=fields.subject)
    if error.has("kind"):
        return _read_fault(error)
    error.refuse_unknown(("code", "message", "response", "kind"))
    error.require("code", 'an HTTP status, such as 503; or `kind`: "timeout" or "reset"')
    code = error.whole_number("code", 0, least=100, most=599)
    if code == 0:
        return None
    return _read_success(error) if code == SUCCESS else _read_failure(error, code)


def _read_fault(error: Fields) -> WireFault | None:
    kind = error.choice("kind", ("timeout", "reset"))
    if kind is not None:
        error.refuse_unknown(("kind", "after_ms") if kind == "timeout" else ("kind",))
    after_ms = error.whole_number("after_ms", DEFAULT_HOLD_MS, least=1, most=MAX_LATENCY_MS)
    return WireFault(kind="timeout" if kind == "timeout" else "reset", after_ms=after_ms)


def _read_success(error: Fields) -> ForcedReply:
    if "response" not in error.body:  # here null is an answer like any other
        error.refuse("response", "code 200 needs `response`", "the JSON that the agent gets as a success")
    if error.has("message"):
        error.refuse("message", "code 200 sends `response`; `message` would never be sent")
    if len(dumps(error.get("response"))) > MAX_BODY_BYTES:
        error.refuse("response", "`response` is over 1 MiB, the limit of a tool's reply")
    return ForcedReply(code=SUCCESS, response=error.get("response"))


def _read_failure(error: Fields, code: int) -> ForcedReply:
    if code < SUCCESS or code in (204, 205, 304):
        error.refuse("code", f"an HTTP reply with status {code} has no body, so it cannot carry a message")
    if error.has("response"):
        error.refuse("response", "`response` is sent with code 200 only", "put the text into `message`")
    error.require("message", f"code {code} needs the message that the agent gets")
    if len(dumps(error.get("message"))) > MAX_BODY_BYTES // 2:
        error.refuse("message", "`message` is over 512 KiB, the limit")
    return ForcedReply(code=code, message=error.text("message") or "")
