"""The run's tools for any MCP client: `POST {base}/mcp` (streamable HTTP), with the run's token as bearer.

Each body gets one JSON answer. There are no streams and no sessions (GET answers 405), so a client can open a
new session for each call, on any node, even after a restart.
"""

import gc
from collections.abc import Awaitable, Callable
from functools import partial

from pipelines import __version__
from pipelines.core.calls.tool_call import Reply, ToolCall
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, dumps, loads, loads_own, raw_json
from pipelines.core.tools.failure_rules import WireFault
from pipelines.core.tools.mcp_messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    MAX_BATCH,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REFUSED,
    McpError,
    McpRequest,
    ProtocolHeaders,
    called_tool,
    discovery_result,
    error_of,
    initialize_result,
    read_request,
    result_of,
    tool_result,
    tools_list_result,
)
from pipelines.engine.live.call_turns import CallTurns
from pipelines.engine.live.live_runs import LiveRun
from pipelines.server.proxy.proxy_messages import SentHeaders, WireReply, status_of_reply
from pipelines.wire.errors import (
    AskFailed,
    InvalidArguments,
    OdysseyError,
    RateLimited,
    ReplyTooLarge,
    RunNotActive,
    SimulationError,
    ToolNotDeclared,
)

#: Errors of the tool or of its arguments. The model sees them and can react.
_TOLD_TO_THE_MODEL = (InvalidArguments, SimulationError, ReplyTooLarge, AskFailed)
_SESSION = b"mcp-session-id"
_NOTHING_TO_SAY = WireReply(202, b"", None)
MOST_ANSWERED_BYTES = 8 * 1024 * 1024  # in one body: past it no further message of several is carried out
_TOO_MUCH = (
    "This message was not executed, because the answers to the messages"
    " before it are over 8 MiB. Send it alone."
)

CallTool = Callable[[LiveRun, ToolCall], Awaitable[Reply]]


class Faulted(Exception):
    """A failure rule makes the connection fail instead of answering."""

    def __init__(self, fault: WireFault, reply: Reply) -> None:
        super().__init__()
        self.fault = fault
        self.reply = reply


class McpEndpoint:
    def __init__(
        self,
        call_tool: CallTool,
        *,
        wait_before_call: Callable[[LiveRun], int],
        is_active: Callable[[LiveRun], bool],
        turns: CallTurns,
    ) -> None:
        """`wait_before_call` counts a call, or returns the seconds that it must wait.

        Reading or writing a large message blocks the loop for a tenth of a second, so it waits for the org's
        turn.
        """
        self._call_tool = call_tool
        self._wait_before_call = wait_before_call
        self._is_active = is_active
        self._turns = turns

    async def read(self, live: LiveRun, body: bytes | None) -> Json:
        return await self._turns.do(live.org_id, partial(_read, body))

    async def answer(
        self, live: LiveRun, message: Json, sent: ProtocolHeaders, headers: SentHeaders, started: float
    ) -> WireReply:
        """The answer to the result of `read`; both raise McpError."""
        if not isinstance(message, list):
            return await self._one(live, message, sent, headers, started)
        return await self._several(live, message, sent, headers, started)

    async def _several(
        self, live: LiveRun, messages: list[Json], sent: ProtocolHeaders, headers: SentHeaders, started: float
    ) -> WireReply:
        """Answers a batch, as of version 2025-03-26: one message after the other, in order."""
        if not 0 < len(messages) <= MAX_BATCH:
            raise McpError(INVALID_REQUEST, f"A batch must have 1 to {MAX_BATCH} messages.")
        answers: list[Json] = []
        room = MOST_ANSWERED_BYTES
        for message in messages:
            # One key names one call; with several in a body each would be taken for the first.
            one = headers._replace(idempotency_key=None)
            try:
                request = read_request(message, sent)
                if room <= 0 and request is not None:
                    raise error_of(request, REFUSED, _TOO_MUCH)
                reply = await self._request(live, request, one, started)
            except McpError as error:
                answers.append(error.as_json())
            else:
                answers += [raw_json(reply.body.decode())] if reply.body else []
                room -= len(reply.body)
        if not answers:
            return _NOTHING_TO_SAY
        return WireReply(200, await self._turns.do(live.org_id, partial(dumps, answers)), None)

    async def _one(
        self, live: LiveRun, message: Json, sent: ProtocolHeaders, headers: SentHeaders, started: float
    ) -> WireReply:
        return await self._request(live, read_request(message, sent), headers, started)

    async def _request(
        self, live: LiveRun, request: McpRequest | None, headers: SentHeaders, started: float
    ) -> WireReply:
        if request is None:
            return _NOTHING_TO_SAY
        if request.method == "initialize" and not request.is_stateless:
            answer, session = initialize_result(request, __version__)
            return WireReply(200, dumps(answer), None, ((_SESSION, session.encode()),))
        if request.method == "tools/call":
            return WireReply(200, await self._called(live, request, headers, started), None)
        result = await self._turns.do(live.org_id, lambda: dumps(self._result(live, request)))
        return WireReply(200, result, None)

    def _result(self, live: LiveRun, request: McpRequest) -> JsonObject:
        if request.method == "server/discover":
            return discovery_result(request, __version__)
        if request.method == "ping":
            return result_of(request, {})
        if request.method == "tools/list":
            if not self._is_active(live):
                raise _refused(request, RunNotActive())
            return tools_list_result(request, live.toolbox.tools.values())
        raise error_of(
            request, METHOD_NOT_FOUND, f"Unknown method {request.method[:80]}. This server offers only tools."
        )

    async def _called(
        self, live: LiveRun, request: McpRequest, headers: SentHeaders, started: float
    ) -> bytes:
        name, arguments = called_tool(request)
        wait_s = self._wait_before_call(live)
        if wait_s:
            raise _refused(request, RateLimited(), retry_after_s=wait_s)
        call = ToolCall(
            name, dumps(arguments), headers.actor_id, headers.idempotency_key, started, request.client
        )
        reply = await self._call_tool(live, call)
        if reply.fault is not None:
            raise Faulted(reply.fault, reply)
        if isinstance(reply.error, ToolNotDeclared):
            raise error_of(request, INVALID_PARAMS, str(reply.error), reply.error.as_json())
        if reply.error is not None and not isinstance(reply.error, _TOLD_TO_THE_MODEL):
            raise _refused(request, reply.error)
        return await self._turns.do(live.org_id, partial(_result_text, request, reply))


def told_error(error: McpError) -> WireReply:
    return WireReply(error.http_status, dumps(error.as_json()), None)


def _result_text(request: McpRequest, reply: Reply) -> bytes:
    envelope = loads_own(reply.body)
    assert isinstance(envelope, dict)
    is_error = reply.is_error or status_of_reply(reply) >= 400
    return dumps(tool_result(request, envelope["response"], is_error=is_error))


def _read(body: bytes | None) -> Json:
    if body is None:
        raise McpError(INVALID_REQUEST, "The message is over 1 MiB.")
    is_collecting = gc.isenabled()
    gc.disable()  # nothing that is read here is part of a circle: see ToolCallAnswerer._answer_large
    try:
        return loads(body)
    except InvalidJson as error:
        raise McpError(PARSE_ERROR, f"The message cannot be read: {error}.") from None
    finally:
        if is_collecting:
            gc.enable()


def _refused(request: McpRequest, error: OdysseyError, retry_after_s: int | None = None) -> McpError:
    data = error.as_json()
    if retry_after_s is not None:
        data |= {"retryable": True, "retry_after_s": retry_after_s}
    return error_of(request, REFUSED, str(error), data)
