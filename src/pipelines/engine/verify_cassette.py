"""Asking live endpoints again what a cassette holds, to see whether they still answer the same.

A write must not be repeated by accident: unless it is asked for, only tools are called of which their
endpoint says that they read.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TypeAlias

from pipelines.core.authored import Fields
from pipelines.core.cassette import MOST_DIFFERENCES, RecordedCall, differences
from pipelines.core.cassette_masking import has_placeholder, masked_response
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.live_tools import FoundTool, HopFailed, LiveCall, LiveReply
from pipelines.core.problems import Problem, Refused
from pipelines.engine.manage_cassettes import calls_in_order, find_cassette
from pipelines.engine.manage_credentials import known_values
from pipelines.engine.platform import Platform
from pipelines.storage import tool_endpoints
from pipelines.storage.connection import Connection
from pipelines.wire.errors import AskFailed

AskLive: TypeAlias = Callable[[LiveCall], Awaitable[LiveReply]]
MOST_ASKED = 1_000  # calls in one verification
AT_ONCE = 4
MOST_TOLD = 100  # calls that differ
_READING_METHODS = ("GET", "HEAD")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Target:
    """Where a recorded call is asked again."""

    endpoint_id: str
    tool: FoundTool


@dataclass(kw_only=True, slots=True)
class _Report:
    same: int = 0
    differ: list[JsonObject] = field(default_factory=list)
    failed: list[JsonObject] = field(default_factory=list)
    skipped: dict[tuple[str, str], int] = field(default_factory=dict)  # tool and reason

    def add(self, told: JsonObject | None) -> None:
        if told is None:
            self.same += 1
        else:
            (self.differ if "differences" in told else self.failed).append(told)

    def as_json(self, name: str, calls: int) -> JsonObject:
        skipped: list[Json] = [
            {"tool": tool, "reason": reason, "calls": count} for (tool, reason), count in self.skipped.items()
        ]
        return {
            "cassette": name,
            "calls": calls,
            "asked": self.same + len(self.differ) + len(self.failed),
            "same": self.same,
            "differ": len(self.differ),
            "failed": len(self.failed),
            "differences": [*self.differ[:MOST_TOLD]],
            "failures": [*self.failed[:MOST_TOLD]],
            "skipped": skipped,
        }


async def verify_cassette(
    platform: Platform, ask_live: AskLive, org_id: int, name: str, body: JsonObject
) -> JsonObject:
    """What is otherwise today, by JSONPath; what was not asked, and why."""
    include_writes, limit = _read(body)
    cassette = await find_cassette(platform, org_id, name)
    verifying = _Verifying(platform, org_id, ask_live, include_writes=include_writes, limit=limit)
    verifying.secrets = await known_values(platform, org_id)
    async for stored in calls_in_order(platform, cassette):
        await verifying.look_at([RecordedCall.from_stored(call.line) for call in stored])
    return verifying.report.as_json(name, cassette.calls)


def _read(body: JsonObject) -> tuple[bool, int]:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("include_writes", "limit"))
    include_writes = fields.get("include_writes")
    if include_writes is not None and not isinstance(include_writes, bool):
        fields.refuse("include_writes", "`include_writes` must be true or false")
    limit = fields.whole_number("limit", MOST_ASKED, least=1, most=MOST_ASKED)
    if problems:
        raise Refused(problems, "the verification")
    return include_writes is True, limit


class _Verifying:
    def __init__(
        self, platform: Platform, org_id: int, ask: AskLive, *, include_writes: bool, limit: int
    ) -> None:
        self.report = _Report()
        self._platform = platform
        self._org_id = org_id
        self._ask = ask
        self._include_writes = include_writes
        self._left = limit
        self.secrets: list[str] = []
        self._targets: dict[tuple[str, str], _Target | str] = {}

    async def look_at(self, calls: list[RecordedCall]) -> None:
        """In the order of the recording, a few at a time."""
        wanted = [(call, target) async for call, target in self._wanted(calls)]
        for start in range(0, len(wanted), AT_ONCE):
            for found in await asyncio.gather(
                *(self._compared(*each) for each in wanted[start : start + AT_ONCE])
            ):
                self.report.add(found)

    async def _wanted(self, calls: list[RecordedCall]) -> AsyncIterator[tuple[RecordedCall, _Target]]:
        for call in calls:
            target = await self._target(call)
            if isinstance(target, _Target) and not self._include_writes:
                target = why_skipped(target.tool) or target
            if isinstance(target, _Target) and has_placeholder(call.arguments):
                target = "its arguments were masked when it was recorded"
            if isinstance(target, _Target) and self._left == 0:
                target = "past the limit of this verification"
            if isinstance(target, str):
                place = (call.tool, target)
                self.report.skipped[place] = self.report.skipped.get(place, 0) + 1
            else:
                self._left -= 1
                yield call, target

    async def _target(self, call: RecordedCall) -> _Target | str:
        place = (call.endpoint, call.endpoint_tool or call.tool)
        if place not in self._targets:
            find = partial(_found, org_id=self._org_id, endpoint=place[0], tool=place[1])
            self._targets[place] = await self._platform.database.read(find)
        return self._targets[place]

    async def _compared(self, call: RecordedCall, target: _Target) -> JsonObject | None:
        """What is to be told of a call; None: it is answered as it was."""
        asked = LiveCall(
            org_id=self._org_id,
            run_id=0,
            endpoint_id=target.endpoint_id,
            tool_name=target.tool.name,
            declared_name=call.tool,
            arguments=call.arguments,
        )
        told: JsonObject = {"tool": call.tool, "arguments": call.arguments, "occurrence": call.occurrence}
        try:
            async with asyncio.timeout(asked.longest_s):
                reply = await self._ask(asked)
        except (AskFailed, TimeoutError) as error:
            told_why = error.message if isinstance(error, AskFailed) else "No answer came in time."
            message = masked_response(told_why, self.secrets)
            if call.failure is not None and isinstance(error, HopFailed):
                return None
            return told | {"message": message}
        found = await asyncio.to_thread(_differences, call, reply, self.secrets)
        return told | {"differences": found} if found else None


def why_skipped(tool: FoundTool) -> str | None:
    """Why a tool is not called again without being asked to; None: its endpoint says that it only reads."""
    method = tool.call.get("method")
    if isinstance(method, str):
        method = method.upper()
        return None if method in _READING_METHODS else f"may write: its operation is {method}"
    if tool.call.get("read_only") is True:
        return None
    return "may write: its endpoint does not say that it only reads"


def _found(connection: Connection, *, org_id: int, endpoint: str, tool: str) -> _Target | str:
    found = tool_endpoints.endpoint_by_name(connection, org_id, endpoint)
    found = found or tool_endpoints.endpoint_by_id(connection, org_id, endpoint)
    if found is None:
        return f"there is no endpoint `{endpoint}` here" if endpoint else "its line names no endpoint"
    known = tool_endpoints.found_tool(connection, found.id, tool)
    if known is None:
        return f"endpoint `{endpoint}` has no tool `{tool}` any more"
    return _Target(endpoint_id=found.id, tool=known)


def _differences(call: RecordedCall, reply: LiveReply, secrets: list[str]) -> list[Json]:
    if call.failure is not None:
        before = f"no answer: {call.failure}"
        return [{"path": "status", "how": "changed", "recorded": before, "now": reply.status}]
    found: list[Json] = []
    if reply.status != call.status:
        found.append({"path": "status", "how": "changed", "recorded": call.status, "now": reply.status})
    now = masked_response(reply.response, secrets)
    found += [each.as_json() for each in islice(differences(call.response, now), MOST_DIFFERENCES)]
    return found
