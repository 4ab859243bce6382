"""The call oracle: tool calls that must, or must not, appear in the trace.

    {"must": [{"tool": "get_order"}, {"tool": "refund_order", "arguments": {"order_id": "4521"}, "count": 1}],
     "must_not": ["cancel_order"], "in_order": true}

A bare array is `must`; a bare name is a call with any arguments; `*` is any tool.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pipelines.core.matchers.matching import check_expectation, matches
from pipelines.core.oracles.trace import EvidenceRow
from pipelines.core.oracles.wording import format_value
from pipelines.core.text.authored import Fields, did_you_mean, kind
from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem, Refused

CHECK = "expected_calls"
ANY_TOOL = "*"
MAX_CALLS = 200
_SHAPE = 'for example {"must": [{"tool": "refund_order", "arguments": {"order_id": "4521"}}]}'


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedCall:
    tool: str
    arguments: Json = None  # an expectation; None is any
    count: Json = None  # an expectation on how many there are in all; None is at least one of its own
    only_successful: bool

    def names(self, row: EvidenceRow) -> bool:
        return self.tool in (ANY_TOOL, row.tool)

    def covers(self, row: EvidenceRow) -> bool:
        if not self.names(row) or (self.only_successful and not row.succeeded):
            return False
        return self.arguments is None or matches(self.arguments, row.arguments)

    def describe(self) -> str:
        tool = "any tool" if self.tool == ANY_TOOL else self.tool
        return f"{tool} with {format_value(self.arguments)}" if self.arguments else tool


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedCalls:
    must: tuple[ExpectedCall, ...] = ()
    must_not: tuple[ExpectedCall, ...] = ()
    in_order: bool = False


def parse_expected_calls(
    body: Json, *, tools: Collection[str] | None = None, path: str = "/expected_calls"
) -> ExpectedCalls:
    """The oracle, or Refused with everything wrong with it. Without `tools` their names are not checked."""
    problems: list[Problem] = []
    calls = read_expected_calls(body, tools=tools, path=path, problems=problems)
    if problems:
        raise Refused(problems, CHECK)
    return calls


def read_expected_calls(
    body: Json, *, tools: Collection[str] | None, path: str, problems: list[Problem]
) -> ExpectedCalls:
    """The valid parts; problems of the others are added to `problems`."""
    if isinstance(body, list):
        must = tuple(_read_list(body, path, problems, tools, is_must=True))
        if not body:
            problems.append(Problem(path=path, message=f"`{CHECK}` is empty", hint=_SHAPE))
        return ExpectedCalls(must=must)
    if not isinstance(body, dict):
        message = f"`{CHECK}` must be a JSON object or array, not {kind(body)}"
        problems.append(Problem(path=path, message=message, hint=_SHAPE))
        return ExpectedCalls()
    fields = Fields(body, path, problems)
    fields.refuse_unknown(("must", "must_not", "in_order"))
    if not body.get("must") and not body.get("must_not"):
        problems.append(Problem(path=path, message=f"`{CHECK}` is empty", hint=_SHAPE))
    return ExpectedCalls(
        must=tuple(_read_list(body.get("must"), fields.at("must"), problems, tools, is_must=True)),
        must_not=tuple(
            _read_list(body.get("must_not"), fields.at("must_not"), problems, tools, is_must=False)
        ),
        in_order=_read_flag(fields, "in_order", False),
    )


def _read_list(
    body: Json, path: str, problems: list[Problem], tools: Collection[str] | None, *, is_must: bool
) -> Iterator[ExpectedCall]:
    if body is None:
        return
    if not isinstance(body, list):
        problems.append(
            Problem(path=path, message=f"must be an array of calls, not {kind(body)}", hint=_SHAPE)
        )
        return
    if len(body) > MAX_CALLS:
        message = f"{len(body):,} calls are listed; at most {MAX_CALLS} are allowed"
        problems.append(Problem(path=path, message=message))
        return
    for index, entry in enumerate(body):
        place = path + pointer([index])
        whole: Json = {"tool": entry} if isinstance(entry, str) else entry
        if not isinstance(whole, dict):
            message = f"a call is a tool's name or {{tool, arguments, …}}, not {kind(entry)}"
            problems.append(Problem(path=place, message=message))
            continue
        yield _read_call(Fields(whole, place, problems), tools, is_must=is_must)


def _read_call(fields: Fields, tools: Collection[str] | None, *, is_must: bool) -> ExpectedCall:
    fields.refuse_unknown(("tool", "arguments", "only_successful", *(["count"] if is_must else [])))
    fields.require("tool", f'a tool\'s name, or "{ANY_TOOL}" for any tool')
    tool = fields.text("tool")
    if tool is not None and tools is not None and tool != ANY_TOOL and tool not in tools:
        hint = did_you_mean(tool, tools) or f'use a declared tool, or "{ANY_TOOL}" for any'
        fields.refuse("tool", f"the agent declares no tool `{tool}`", hint)
    arguments = fields.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        fields.refuse(
            "arguments", f"`arguments` must be an object of arguments by name, not {kind(arguments)}"
        )
        arguments = None
    fields.problems.extend(check_expectation(arguments, path=fields.at("arguments")))
    return ExpectedCall(
        tool=tool or ANY_TOOL,
        arguments=arguments,
        count=_read_count(fields) if is_must else None,
        # A required call must succeed; a forbidden call must not even be tried.
        only_successful=_read_flag(fields, "only_successful", is_must),
    )


def _read_count(fields: Fields) -> Json:
    count = fields.get("count")
    if count is None:
        return None
    fields.problems.extend(check_expectation(count, path=fields.at("count")))
    is_number = isinstance(count, int) and not isinstance(count, bool) and count >= 1
    is_range = isinstance(count, dict) and bool(count) and count.keys() <= {"$gte", "$lte"}
    if not is_number and not is_range:
        hint = "a whole number of 1 or more; calls that must not be made belong under `must_not`"
        fields.refuse("count", '`count` must be a number, or a range such as {"$gte": 1, "$lte": 3}', hint)
    return count


def _read_flag(fields: Fields, key: str, default: bool) -> bool:
    value = fields.get(key)
    if value is None or isinstance(value, bool):
        return default if value is None else value
    fields.refuse(key, f"`{key}` must be true or false, not {kind(value)}")
    return default
