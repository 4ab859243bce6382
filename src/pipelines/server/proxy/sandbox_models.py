"""The model gateway inside a sandbox: `/models/{gateway}/…` forwards requests to the models of the run.

Answers are passed back unchanged, with any status. Our own refusals look like OpenAI's errors.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from time import perf_counter

from pipelines.core.access.key_mask import KeyMask
from pipelines.core.models.model_usage import AnswerUsage, ModelUsage, model_of
from pipelines.core.text.json_text import dumps
from pipelines.engine.calls.record_model_call import ModelCall
from pipelines.engine.models.model_access import ModelAccess
from pipelines.outbound.stream_once import ModelClient, StreamedAnswer, UpstreamFailed
from pipelines.server.http.http_protocol import CONNECTION, OneWriteProtocol
from pipelines.server.proxy.proxy import Receive, Scope, Send
from pipelines.server.proxy.sandbox_model_rules import (
    GatewayRefusal,
    Target,
    check_answer,
    passed_back,
    request_to,
    target_of,
    too_large_answer,
)
from pipelines.wire.errors import BodyTooLarge

log = logging.getLogger(__name__)
CUT_OFF = "the run ended or its code disconnected before the answer was complete"
_WORTH_A_RETRY = ("model_unreachable", "model_timeout")


class _Gone(Exception):
    """The code disconnected before its request was complete."""


class ModelDoor:
    def __init__(self, client: ModelClient) -> None:
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send, access: ModelAccess | None) -> None:
        try:
            target = target_of(scope, access)
        except GatewayRefusal as refusal:
            if access is not None:
                access.refuse(str(refusal))
            await _refuse(send, refusal)
            return
        call = asyncio.create_task(self._answer(target, scope, receive, send))
        target.access.begin(call)
        connection: OneWriteProtocol = scope[CONNECTION]
        # If the code disconnects or its run ends, stop waiting for the model.
        await asyncio.wait({call, connection.lost()}, return_when=asyncio.FIRST_COMPLETED)
        call.cancel()
        await asyncio.wait({call})
        if call.cancelled():
            connection.reset()
        elif (error := call.exception()) is not None:
            raise error

    async def _answer(self, target: Target, scope: Scope, receive: Receive, send: Send) -> None:
        access = target.access
        async with access.slots:
            try:
                if access.tally.calls >= access.limits.calls:
                    most = f"{access.limits.calls:,} model calls that it may make (PIPELINES_MODEL_CALLS)"
                    raise GatewayRefusal(429, "model_calls_used_up", f"This run has made all {most}.")
                body = await _body(access, receive)
            except _Gone:
                return
            except GatewayRefusal as refusal:
                access.refuse(str(refusal))
                await _refuse(send, refusal)
                return
            access.tally.calls += 1
            await _Passing(self._client, target, scope, send, body).pass_on()


class _Passing:
    """One request to an upstream, with its state so far."""

    def __init__(self, client: ModelClient, target: Target, scope: Scope, send: Send, body: bytes) -> None:
        self._client = client
        self._target = target
        self._scope = scope
        self._send = send
        self._body = body
        self._limits = target.access.limits
        self._mask = KeyMask(target.opened.key)
        self._began = target.access.now()
        self._started = perf_counter()
        self._status: int | None = None
        self._is_streamed = False
        self._seen: AnswerUsage | None = None
        self._is_answered = False  # whether the response head was sent into the sandbox

    async def pass_on(self) -> None:
        error: str | None = CUT_OFF
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                await self._exchange()
            error = None
        except TimeoutError:
            error = f"no complete answer within {self._limits.timeout_s:g} s (PIPELINES_MODEL_TIMEOUT_S)"
            await self._fail(GatewayRefusal(504, "model_timeout", f"The model gave {error}."))
        except UpstreamFailed as failed:
            error = str(failed)
            name = self._target.opened.upstream.name
            log.warning("the model gateway %s gave no answer: %s", name, failed.__cause__ or error)
            await self._fail(GatewayRefusal(502, "model_unreachable", f"The model gave no answer: {error}."))
        except GatewayRefusal as refusal:
            error = str(refusal)
            await self._fail(refusal)
        finally:
            self._record(error)

    async def _exchange(self) -> None:
        request = request_to(self._target, self._scope, self._body)
        async with self._client.open_answer(request) as answer:
            self._status = answer.status
            check_answer(answer, self._limits.answer_bytes)
            kind = answer.header("content-type").lower()
            self._is_streamed = kind.startswith("text/event-stream")
            self._seen = AnswerUsage(kind)
            headers = passed_back(answer, self._mask)
            self._is_answered = True
            await self._send({"type": "http.response.start", "status": answer.status, "headers": headers})
            async with aclosing(self._parts(answer, self._seen)) as parts:
                async for part in parts:
                    await self._send({"type": "http.response.body", "body": part, "more_body": True})
            if self._seen.is_large:
                await self._target.access.run_aside(self._seen.usage)
            await self._send({"type": "http.response.body", "body": b""})

    async def _parts(self, answer: StreamedAnswer, seen: AnswerUsage) -> AsyncGenerator[bytes]:
        """The parts of the answer to pass on, counted and inspected."""
        size = 0
        async with aclosing(answer.parts()) as parts:
            async for part in parts:
                size += len(part)
                if size > self._limits.answer_bytes:
                    raise too_large_answer(self._limits.answer_bytes)
                await self._target.access.pace.wait_for_bytes(len(part))
                masked = self._mask.masked(part)
                seen.take(masked)
                if masked:
                    yield masked
        if rest := self._mask.rest():
            seen.take(rest)
            yield rest

    async def _fail(self, refusal: GatewayRefusal) -> None:
        """Sends the error if no response has begun; else truncates the answer, so that it does not look
        complete."""
        if not self._is_answered:
            await _refuse(self._send, refusal)
            return
        connection: OneWriteProtocol = self._scope[CONNECTION]
        connection.reset()

    def _record(self, error: str | None) -> None:
        target = self._target
        call = ModelCall(
            gateway=target.opened.upstream.name,
            method=target.method,
            path=target.path,
            occurred_at=self._began,
            latency_ms=round((perf_counter() - self._started) * 1000, 3),
            status=self._status,
            is_streamed=self._is_streamed,
            usage=self._usage(),
            error=error,
        )
        target.access.record(call)

    def _usage(self) -> ModelUsage:
        """The usage under the requested model name; the name in the answer is the upstream's own variant."""
        seen = ModelUsage()
        if self._seen is not None and not self._seen.is_large:  # a large one was read, unless it was cut off
            seen = self._seen.usage()
        model = model_of(self._body) or seen.model
        if model is None:
            return seen
        return replace(seen, model=self._target.access.redaction.text(self._mask.text(model)))


async def _body(access: ModelAccess, receive: Receive) -> bytes:
    """The whole body, with the values of the agent's secrets redacted, because they must not leave the
    sandbox."""
    most = access.limits.request_bytes
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            limit = f"{most / 1024 / 1024:g} MiB (PIPELINES_MODEL_REQUEST_MB)"
            raise GatewayRefusal(413, "model_request_too_large", f"The request is over {limit}.")
        await access.pace.wait_for_bytes(len(parts[-1]))
        more = message.get("more_body", False)
    try:
        return await access.without_secrets(b"".join(parts))
    except BodyTooLarge as error:
        raise GatewayRefusal(413, "model_request_too_large", error.message) from None


async def _refuse(send: Send, refusal: GatewayRefusal) -> None:
    """Sends the error in a shape that OpenAI's and Anthropic's clients both read."""
    error = {"message": str(refusal), "type": "model_gateway_error", "param": None, "code": refusal.code}
    body = dumps({"type": "error", "error": error})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-should-retry", b"true" if refusal.code in _WORTH_A_RETRY else b"false"),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
