"""Cassettes: recorded calls of passthrough tools, their file format, and how a call is looked up.

The lookup uses the tool, the arguments (1 and 1.0 are equal, the order of keys does not matter) and how often
the run asked the same before. The endpoint that answered is recorded, but is not part of the lookup.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Literal

from pipelines.core.text.authored import Fields, kind
from pipelines.core.text.json_text import (
    InvalidJson,
    Json,
    JsonObject,
    canonical_by_value,
    dumps,
    loads,
    loads_own,
    same,
)
from pipelines.core.text.problems import MOST_SHOWN, Problem
from pipelines.wire.records import Record, Via

LONGEST_TOOL = 128  # characters, as in a tools schema
LONGEST_FAILURE = 4_000
#: Of one line, which is read whole when it is replayed: arguments and a response of 1 MiB each, and the rest.
MAX_LINE_BYTES = 3 * 1024 * 1024
_FIELDS = (
    *("tool", "arguments", "occurrence", "status", "response", "failure", "notes"),
    *("endpoint", "endpoint_tool", "recorded_at", "masked"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedCall:
    """A call and its reply, with secrets masked."""

    tool: str  # as the agent declares it
    arguments: JsonObject
    occurrence: int = 1  # 1: the first time that a run asked it
    status: int | None = None  # None: no reply came, and `failure` has the error that the agent got
    response: Json = None
    failure: str | None = None
    notes: tuple[str, ...] = ()  # for the trace
    endpoint: str = ""  # its name
    endpoint_tool: str = ""  # the tool's name on the endpoint
    recorded_at: str = ""
    is_masked: bool = False  # something was replaced by a placeholder

    @property
    def key(self) -> str:
        return call_key(self.tool, self.arguments)

    def as_json(self) -> JsonObject:
        """A line of a cassette."""
        whole: JsonObject = {"tool": self.tool, "arguments": self.arguments, "occurrence": self.occurrence}
        if self.failure is None:
            whole |= {"status": self.status, "response": self.response}
        else:
            whole |= {"failure": self.failure}
        whole |= {"notes": list(self.notes)} if self.notes else {}
        whole |= {"endpoint": self.endpoint} if self.endpoint else {}
        whole |= {"endpoint_tool": self.endpoint_tool} if self.endpoint_tool else {}
        whole |= {"recorded_at": self.recorded_at} if self.recorded_at else {}
        return whole | ({"masked": True} if self.is_masked else {})

    def as_line(self) -> str:
        return dumps(self.as_json()).decode()

    @classmethod
    def from_stored(cls, line: str) -> "RecordedCall":
        """From what `as_line` wrote."""
        body: Any = loads_own(line)
        known = {name: body[name] for name in _FIELDS[:-1] if name in body}
        return cls(**{**known, "notes": tuple(body.get("notes", ())), "is_masked": body.get("masked", False)})


def call_key(tool: str, arguments: JsonObject) -> str:
    """Equal for calls that ask the same. Occurrences are counted by it."""
    return sha256(canonical_by_value([tool, arguments])).hexdigest()


# -- reading and writing ---------------------------------------------------------------------------------


def read_lines(lines: Iterable[bytes | str], problems: list[Problem]) -> Iterator[RecordedCall]:
    """Read a cassette (JSON lines, perhaps edited by hand) call by call, so that a large file needs little
    memory. Problems are added under "line N", up to the number that is shown. If there are any, do not use
    the calls.
    """
    stood: dict[tuple[str, int], int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if len(problems) >= MOST_SHOWN:
            break  # a file with more has one cause, repeated
        place = f"line {number}"
        call = _read_line(line, place, problems)
        if call is None:
            continue
        before = stood.setdefault((call.key, call.occurrence), number)
        if before != number:
            message = f"is the same call as line {before}: {call.tool}, occurrence {call.occurrence}"
            hint = "remove one of them, or give the later one a higher `occurrence`"
            problems.append(Problem(path=place, message=message, hint=hint))
        yield call


def _read_line(line: bytes | str, place: str, problems: list[Problem]) -> RecordedCall | None:
    if len(line) > MAX_LINE_BYTES:
        message = f"has {len(line):,} bytes; at most {MAX_LINE_BYTES:,} are allowed"
        problems.append(Problem(path=place, message=message))
        return None
    try:
        value = loads(line)
    except InvalidJson as error:
        problems.append(Problem(path=place, message=error.predicate))
        return None
    return _read(value, place, problems)


class _LineFields(Fields):
    """Fields of a line: every place is the line, which is all that an editor shows."""

    __slots__ = ()

    def at(self, key: str) -> str:
        return self.path


def _read(value: Json, place: str, problems: list[Problem]) -> RecordedCall | None:
    if not isinstance(value, dict):
        problems.append(Problem(path=place, message=f"must be a JSON object, not {kind(value)}"))
        return None
    before = len(problems)
    fields = _LineFields(value, place, problems)
    fields.refuse_unknown(_FIELDS)
    fields.require("tool", "the name of the agent's tool")
    tool = fields.text("tool", longest=LONGEST_TOOL)
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        fields.refuse("arguments", f"`arguments` must be a JSON object, not {kind(arguments)}")
    status, failure = _read_outcome(fields)
    occurrence = fields.whole_number("occurrence", 1, least=1, most=1_000_000)
    text_fields = ("endpoint", "endpoint_tool", "recorded_at")
    texts = {name: fields.text(name, longest=300) or "" for name in text_fields}
    notes = fields.texts("notes")
    if len(problems) > before or tool is None or not isinstance(arguments, dict):
        return None
    return RecordedCall(
        tool=tool,
        arguments=arguments,
        occurrence=occurrence,
        status=status,
        response=value.get("response"),
        failure=failure,
        notes=notes,
        is_masked=value.get("masked") is True,
        **texts,
    )


def _read_outcome(fields: Fields) -> tuple[int | None, str | None]:
    failure = fields.text("failure", longest=LONGEST_FAILURE)
    if not fields.has("failure"):
        if "response" not in fields.body:
            fields.refuse("response", "`response` is missing", "give the tool's reply, or `failure` instead")
        return fields.whole_number("status", 200, least=100, most=599), None
    for key in ("status", "response"):
        if key in fields.body:
            fields.refuse(key, f"a call that failed has no `{key}`", "remove `failure` or this field")
    return None, failure


# -- a call that is not there ----------------------------------------------------------------------------


def nearest_recording(
    tool: str, arguments: JsonObject, occurrence: int, recorded: Iterable[RecordedCall]
) -> str:
    """A sentence about the recorded call that is most like one that was not recorded."""
    of_tool = [call for call in recorded if call.tool == tool]
    if not of_tool:
        return f"The cassette has no call of {tool}."

    def distance(call: RecordedCall) -> tuple[int, int]:
        return len(_differences_text(arguments, call.arguments)), abs(call.occurrence - occurrence)

    nearest = min(of_tool, key=distance)
    differing = _differences_text(arguments, nearest.arguments)
    if not differing:
        times = max(call.occurrence for call in of_tool if not _differences_text(arguments, call.arguments))
        often = "once" if times == 1 else f"{times} times"
        return f"With these arguments it was recorded {often}, and this is the {_ordinal(occurrence)} time."
    described = [_difference(name, arguments, nearest.arguments) for name in differing[:3]]
    more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
    return f"The nearest recorded call of {tool} has other arguments: {'; '.join(described)}{more}."


def _differences_text(asked: JsonObject, recorded: JsonObject) -> list[str]:
    return [
        name
        for name in dict.fromkeys([*asked, *recorded])
        if (name in asked) != (name in recorded) or not same(asked[name], recorded[name])
    ]


def _difference(name: str, asked: JsonObject, recorded: JsonObject) -> str:
    if name not in recorded:
        return f"`{name}` was not given"
    return f"`{name}` was {_format_value(recorded[name])}" + (
        "" if name in asked else ", and is not given now"
    )


def _format_value(value: Json) -> str:
    text = dumps(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}…"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


# -- what has changed since ------------------------------------------------------------------------------

MOST_DIFFERENCES = 20  # listed for one call


def _cut(value: Json) -> Json:
    text = dumps(value).decode()
    return value if len(text) <= 200 else f"{text[:199]}…"


@dataclass(frozen=True, slots=True)
class Difference(Record, component=""):
    """One place."""

    path: Annotated[str, "JSONPath into the response, or `status`"]
    how: Literal["changed", "added", "removed"]
    recorded: Annotated[Json, Via(_cut)]
    now: Annotated[Json, Via(_cut)]


def differences(recorded: Json, now: Json, path: str = "$") -> Iterator[Difference]:
    """Where two responses differ, by path. Lists are compared item by item."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*recorded, *now]):
            here = path + _segment(key)
            if key not in now:
                yield Difference(here, "removed", recorded[key], None)
            elif key not in recorded:
                yield Difference(here, "added", None, now[key])
            else:
                yield from differences(recorded[key], now[key], here)
    elif isinstance(recorded, list) and isinstance(now, list):
        for index in range(max(len(recorded), len(now))):
            here = f"{path}[{index}]"
            if index >= len(now):
                yield Difference(here, "removed", recorded[index], None)
            elif index >= len(recorded):
                yield Difference(here, "added", None, now[index])
            else:
                yield from differences(recorded[index], now[index], here)
    elif not same(recorded, now):
        yield Difference(path, "changed", recorded, now)


def _segment(key: str) -> str:
    if key.isascii() and key.isidentifier():
        return f".{key}"
    return "['" + key.replace("\\", "\\\\").replace("'", "\\'") + "']"
