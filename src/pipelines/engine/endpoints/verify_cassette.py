"""Asking live endpoints again what a cassette holds, to see whether they still answer the same.

A write must not be repeated by accident: unless it is asked for, only tools are called of which their
endpoint says that they read. With writes, each call waits for the one before, so that a read sees the write
that it was recorded after.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Annotated, NamedTuple, TypeAlias

from pipelines.core.calls.cassette import MOST_DIFFERENCES, Difference, RecordedCall, differences
from pipelines.core.calls.cassette_masking import has_placeholder, mask_arguments, mask_response
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.live_tools import DiscoveredTool, LiveCall, LiveCallFailed, LiveReply
from pipelines.engine.access.manage_credentials import known_values
from pipelines.engine.endpoints.manage_cassettes import calls_in_order, find_cassette
from pipelines.engine.platform import Platform
from pipelines.processes.aside import aside
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.cassettes import StoredCall
from pipelines.storage.database.connection import Connection
from pipelines.wire.errors import AskFailed
from pipelines.wire.records import Record

AskLive: TypeAlias = Callable[[LiveCall], Awaitable[LiveReply]]
MOST_ASKED = 1_000  # calls in one verification
AT_ONCE = 4
LONGEST_S = 600.0  # then no further call is begun
MOST_LISTED = 100  # calls that differ
_READING_METHODS = ("GET", "HEAD")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Target:
    """Where a recorded call is asked again."""

    endpoint_id: str
    tool: DiscoveredTool


class _CassetteCall(NamedTuple):
    call: RecordedCall
    is_masked: bool  # its arguments are no longer what was sent


@dataclass(frozen=True, kw_only=True, slots=True)
class _AskedCall(Record):
    tool: str
    arguments: JsonObject
    occurrence: Annotated[int, "1: the first time that a run asked it"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedCall(_AskedCall):
    """A call that is answered otherwise today."""

    differences: Annotated[tuple[Difference, ...], "at most 20"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedCall(_AskedCall, component=""):
    """A call without an answer."""

    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedCalls(Record, component=""):
    """Calls that were not asked again."""

    tool: str
    reason: str
    calls: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CassetteVerification(Record):
    """What live endpoints answer today, held against a cassette."""

    cassette: str
    calls: Annotated[int, "on the cassette"]
    asked: int
    same: int
    differ: int
    failed: Annotated[int, "no answer came"]
    differences: Annotated[tuple[ChangedCall, ...], "of at most 100 calls"]
    failures: Annotated[tuple[FailedCall, ...], "at most 100"]
    skipped: tuple[SkippedCalls, ...]


@dataclass(kw_only=True, slots=True)
class _Report:
    same: int = 0
    differ: list[ChangedCall] = field(default_factory=list)
    failed: list[FailedCall] = field(default_factory=list)
    skipped: dict[tuple[str, str], int] = field(default_factory=dict)  # tool and reason

    def add(self, found: ChangedCall | FailedCall | None) -> None:
        if found is None:
            self.same += 1
        elif isinstance(found, ChangedCall):
            self.differ.append(found)
        else:
            self.failed.append(found)

    def skip(self, tool: str, reason: str) -> None:
        self.skipped[tool, reason] = self.skipped.get((tool, reason), 0) + 1


async def verify_cassette(
    platform: Platform, ask_live: AskLive, org_id: int, name: str, body: JsonObject
) -> CassetteVerification:
    """What is otherwise today, by JSONPath; what was not asked, and why."""
    include_writes, limit = _read_request(body)
    cassette = await find_cassette(platform, org_id, name)
    verifying = _Verification(platform, org_id, ask_live, include_writes=include_writes, limit=limit)
    verifying.secrets = await known_values(platform, org_id)
    async for stored in calls_in_order(platform, cassette):
        await verifying.verify(await aside(org_id, _read_calls, stored))
    report = verifying.report
    return CassetteVerification(
        cassette=name,
        calls=cassette.calls,
        asked=report.same + len(report.differ) + len(report.failed),
        same=report.same,
        differ=len(report.differ),
        failed=len(report.failed),
        differences=tuple(report.differ[:MOST_LISTED]),
        failures=tuple(report.failed[:MOST_LISTED]),
        skipped=tuple(
            SkippedCalls(tool=tool, reason=reason, calls=count)
            for (tool, reason), count in report.skipped.items()
        ),
    )


def _read_calls(stored: list[StoredCall]) -> list["_CassetteCall"]:
    """Off the loop: a megabyte of lines, or one of several."""
    calls = (RecordedCall.from_stored(each.line) for each in stored)
    return [_CassetteCall(call, has_placeholder(call.arguments)) for call in calls]


def _read_request(body: JsonObject) -> tuple[bool, int]:
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


class _Verification:
    def __init__(
        self, platform: Platform, org_id: int, ask: AskLive, *, include_writes: bool, limit: int
    ) -> None:
        self.report = _Report()
        self._platform = platform
        self._org_id = org_id
        self._ask = ask
        self._include_writes = include_writes
        self._at_once = 1 if include_writes else AT_ONCE
        self._left = limit
        self._until = time.monotonic() + LONGEST_S
        self.secrets: list[str] = []
        self._targets: dict[tuple[str, str], _Target | str] = {}

    async def verify(self, calls: list[_CassetteCall]) -> None:
        """In the order of the recording, a few at a time."""
        calls_to_ask = [(call, target) async for call, target in self._calls_to_ask(calls)]
        for start in range(0, len(calls_to_ask), self._at_once):
            some = calls_to_ask[start : start + self._at_once]
            if time.monotonic() >= self._until:
                for call, _ in some:
                    self.report.skip(call.tool, f"past the {LONGEST_S:.0f} s of this verification")
                continue
            for found in await asyncio.gather(*(self._compare(*each) for each in some)):
                self.report.add(found)

    async def _calls_to_ask(self, calls: list[_CassetteCall]) -> AsyncIterator[tuple[RecordedCall, _Target]]:
        for call, is_masked in calls:
            target = await self._target(call)
            if isinstance(target, _Target) and not self._include_writes:
                target = why_skipped(target.tool) or target
            if isinstance(target, _Target) and is_masked:
                target = "its arguments were masked when it was recorded"
            if isinstance(target, _Target) and self._left == 0:
                target = "past the limit of this verification"
            if isinstance(target, str):
                self.report.skip(call.tool, target)
            else:
                self._left -= 1
                yield call, target

    async def _target(self, call: RecordedCall) -> _Target | str:
        place = (call.endpoint, call.endpoint_tool or call.tool)
        if place not in self._targets:
            find = partial(_find_target, org_id=self._org_id, endpoint=place[0], tool=place[1])
            self._targets[place] = await self._platform.database.read(find)
        return self._targets[place]

    async def _compare(self, call: RecordedCall, target: _Target) -> ChangedCall | FailedCall | None:
        """What is to be told of a call; None: it is answered as it was."""
        live_call = LiveCall(
            org_id=self._org_id,
            run_id=0,
            endpoint_id=target.endpoint_id,
            tool_name=target.tool.name,
            declared_name=call.tool,
            arguments=call.arguments,
        )
        try:
            async with (
                self._platform.probing.slot(SlotHolder(self._org_id)),
                asyncio.timeout(live_call.longest_s),
            ):
                reply = await self._ask(live_call)
        except (AskFailed, TimeoutError) as error:
            if call.failure is not None and isinstance(error, LiveCallFailed):
                return None
            message = error.message if isinstance(error, AskFailed) else "No answer came in time."
            return await aside(self._org_id, _failed_call, call, message, self.secrets)
        return await aside(self._org_id, _differences, call, reply, self.secrets)


def why_skipped(tool: DiscoveredTool) -> str | None:
    """Why a tool is not called again without being asked to; None: its endpoint says that it only reads."""
    method = tool.call.get("method")
    if isinstance(method, str):
        method = method.upper()
        return None if method in _READING_METHODS else f"may write: its operation is {method}"
    if tool.call.get("read_only") is True:
        return None
    return "may write: its endpoint does not say that it only reads"


def _find_target(connection: Connection, *, org_id: int, endpoint: str, tool: str) -> _Target | str:
    found = tool_endpoints.endpoint_by_name(connection, org_id, endpoint)
    found = found or tool_endpoints.endpoint_by_id(connection, org_id, endpoint)
    if found is None:
        return f"there is no endpoint `{endpoint}` here" if endpoint else "its line names no endpoint"
    known = tool_endpoints.found_tool(connection, found.id, tool)
    if known is None:
        return f"endpoint `{endpoint}` has no tool `{tool}` any more"
    return _Target(endpoint_id=found.id, tool=known)


def _differences(call: RecordedCall, reply: LiveReply, secrets: list[str]) -> ChangedCall | None:
    """Between what is on the cassette and what would be recorded now: whoever asked has hidden the endpoint's
    own credentials, as when it was recorded. Only then are all the org's hidden, in what is told."""
    found: list[Difference] = []
    if call.failure is not None:
        found.append(Difference("status", "changed", f"no answer: {call.failure}", reply.status))
    else:
        if reply.status != call.status:
            found.append(Difference("status", "changed", call.status, reply.status))
        found += islice(differences(call.response, mask_response(reply.response)), MOST_DIFFERENCES)
    if not found:
        return None
    hidden = (
        Difference(
            str(mask_response(each.path, secrets)),
            each.how,
            mask_response(each.recorded, secrets),
            mask_response(each.now, secrets),
        )
        for each in found
    )
    return ChangedCall(
        tool=call.tool,
        arguments=mask_arguments(call.arguments, secrets),
        occurrence=call.occurrence,
        differences=tuple(hidden),
    )


def _failed_call(call: RecordedCall, message: str, secrets: list[str]) -> FailedCall:
    return FailedCall(
        tool=call.tool,
        arguments=mask_arguments(call.arguments, secrets),
        occurrence=call.occurrence,
        message=str(mask_response(message, secrets)),
    )
