"""The earlier calls of a run as a model sees them: the newest ones, shortened, and a digest of all.

Only what reached the simulated backend counts. An injected failure never did, and would tell of failure
rules.
"""

from collections import deque
from hashlib import sha256
from typing import NamedTuple

from pipelines.core.simulation.by_model.added_text import without_text
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.tools.trace_row import TraceRow
from pipelines.wire.names import Source

MOST_CALLS = 50
MOST_CHARACTERS = 24_000  # of all that are told
LONGEST_ARGUMENTS = 1_000
LONGEST_RESPONSE = 2_000
CUT = " … (cut)"
#: What it takes in memory at most, about.
MOST_BYTES = MOST_CALLS * (LONGEST_ARGUMENTS + LONGEST_RESPONSE)
_REACHED = (Source.ODYSSEY.value, Source.PASSTHROUGH.value)


class _ReportedCall(NamedTuple):
    tool: str
    arguments: str
    status: int
    response: str

    def as_json(self) -> JsonObject:
        """As text where it was cut: half a value cannot be read."""
        return {
            "tool": self.tool,
            "arguments": _value(self.arguments),
            "status": self.status,
            "response": _value(self.response),
        }


class CallsSoFar:
    """Grows with every call that is folded into its run. `added` is a text that an eval variation put into
    replies: the backend never said it, and a run without it must ask the same."""

    __slots__ = ("_added", "_digest", "_told")

    def __init__(self, added: str | None = None) -> None:
        self._added = added
        self._digest = sha256()
        self._told: deque[_ReportedCall] = deque(maxlen=MOST_CALLS)

    def take(self, row: TraceRow) -> None:
        """A row of the log, once its outcome is known."""
        if row.call_number is None or row.http_status is None or row.source not in _REACHED:
            return
        response = row.response or "null"
        if self._added is not None:
            response = dumps(without_text(loads_own(response), self._added)).decode()
        arguments = row.arguments or "{}"
        call_key = (row.tool_name or "", arguments, str(row.http_status), response, row.updates or "")
        self._digest.update("\x1f".join(call_key).encode())
        self._told.append(
            _ReportedCall(
                row.tool_name or "",
                _cut(arguments, LONGEST_ARGUMENTS),
                row.http_status,
                _cut(response, LONGEST_RESPONSE),
            )
        )

    @property
    def digest(self) -> str:
        """Of every call so far: what the world is now follows from it and from the task."""
        return self._digest.hexdigest()

    def reported_calls(self) -> list[Json]:
        """The oldest first, as many of the newest as there is room for."""
        kept: list[_ReportedCall] = []
        room_left = MOST_CHARACTERS
        for one in reversed(self._told):
            room_left -= len(one.arguments) + len(one.response)
            if room_left < 0:
                break
            kept.append(one)
        return [one.as_json() for one in reversed(kept)]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + CUT


def _value(text: str) -> Json:
    return text if text.endswith(CUT) else loads_own(text)
