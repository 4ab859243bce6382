"""How an agent answers a POST: refuse it, answer a ping, or read, handle and answer a dispatch.

The order is the same for every server form (routes.py): authorization, ping, dispatch, agent. There is no I/O
here: the forms read requests and write answers.
"""

import inspect
import json
import logging
import os
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any, NamedTuple, TypeAlias

from ..wire.envelope import BadEnvelope, Envelope
from .context import set_current
from .threads import LazyThreadPool

log = logging.getLogger(__name__)
MAX_BODY_BYTES = 16 * 1024 * 1024  # a long conversation is sent whole with each of its turns
MAX_AT_ONCE = 64  # sync handlers under way in an async server; each has a thread
MASK = "[hidden]"

#: What an agent says at the end: its final response, or that with `messages` and `metadata`.
Response: TypeAlias = str | Mapping[str, Any]
Handler: TypeAlias = Callable[[Envelope], Response | Awaitable[Response]]


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def error_answer(status: int, detail: str, *headers: tuple[str, str]) -> Answer:
    return Answer(status, json.dumps({"detail": detail}).encode(), headers)


WRONG_PATH = error_answer(404, "dispatches are accepted at another path")
WRONG_METHOD = error_answer(405, "send a dispatch with POST", ("Allow", "POST"))
TOO_LARGE = error_answer(413, "the body is too large for a dispatch")
_NOT_AUTHORIZED = error_answer(401, "missing or invalid bearer token", ("WWW-Authenticate", "Bearer"))
_PONG = Answer(200, b'{"ok": true}')


def required_token(agent_token_env: str | None) -> bytes | None:
    """The token that callers must send; None if the agent needs none."""
    if agent_token_env is None:
        return None
    token = os.environ.get(agent_token_env, "").strip()
    if not token:
        raise RuntimeError(
            f"{agent_token_env} is not set: without a token anyone who can reach this agent could run it. Set"
            f" it (export {agent_token_env}=$(python -c 'import secrets; print(secrets.token_urlsafe(32))'))"
            f" and register the agent with the auth header Authorization: Bearer <the token>. For an agent"
            f" that only this machine can reach, pass agent_token_env=None."
        )
    return token.encode()


@dataclass(frozen=True, kw_only=True, slots=True)
class Dispatcher:
    """Handles the dispatches of one agent."""

    handler: Handler
    token: bytes | None
    max_body_bytes: int = MAX_BODY_BYTES

    def check_authorization(self, authorization: bytes | None) -> Answer | None:
        """The answer to an unauthorized request, or None. First of all: a ping needs the token too."""
        if self.token is None:
            return None
        scheme, _, given = (authorization or b"").partition(b" ")
        is_right = compare_digest(given.strip(), self.token)
        return None if is_right and scheme.lower() == b"bearer" else _NOT_AUTHORIZED

    def read(self, body: bytes, headers: Mapping[str, str]) -> Envelope | Answer:
        """The dispatch, or the answer to a ping or to an invalid request."""
        try:
            content = json.loads(body)
        except (ValueError, RecursionError) as error:
            return error_answer(400, f"the body is not JSON: {error}")
        if not isinstance(content, dict):
            return error_answer(400, "the body is not a JSON object")
        if content.keys() == {"ping"} and content["ping"] is True:
            return _PONG
        try:
            return Envelope.from_request(content, headers)
        except BadEnvelope as error:
            return error_answer(400, str(error))

    def handle(self, envelope: Envelope) -> Answer:
        """Run the agent with its envelope bound. An async agent runs on the shared event loop."""
        with set_current(envelope):
            result = self._call_handler(envelope)
            if isinstance(result, Answer):
                return result
            from .shared_loop import run_on_shared_loop  # brings asyncio, which takes long to load

            return run_on_shared_loop(lambda: self._await_result(result, envelope))

    async def async_handle(self, envelope: Envelope) -> Answer:
        """The same in a running loop. A sync handler runs in a thread, with this context."""
        import asyncio

        with set_current(envelope):
            if _is_async(self.handler):
                result = self._call_handler(envelope)
            else:
                loop = asyncio.get_running_loop()
                result = await loop.run_in_executor(
                    _handler_executor.executor(), copy_context().run, self._call_handler, envelope
                )
            return result if isinstance(result, Answer) else await self._await_result(result, envelope)

    def _call_handler(self, envelope: Envelope) -> Answer | Awaitable[Response]:
        try:
            result = self.handler(envelope)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # an agent that breaks must not take the server with it
            return self._report_failure(error, envelope)
        return result if isinstance(result, Awaitable) else self._make_answer(result, envelope)

    async def _await_result(self, made: Awaitable[Response], envelope: Envelope) -> Answer:
        try:
            result = await made
        except (Exception, SystemExit) as error:  # noqa: BLE001  # as above
            return self._report_failure(error, envelope)
        return self._make_answer(result, envelope)

    def _make_answer(self, result: Any, envelope: Envelope) -> Answer:
        whole = {"final_response": result} if isinstance(result, str) else result
        if not isinstance(whole, Mapping):
            kind = type(result).__name__
            return self._report_invalid(
                f"the handler returned {kind}: return a string, or {{final_response, …}}", envelope
            )
        final_response = whole.get("final_response")
        if not isinstance(final_response, str) or not final_response.strip():
            return self._report_invalid(
                "the agent gave no final_response: it must be a non-empty string", envelope
            )
        try:
            return Answer(200, json.dumps(dict(whole), allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError) as error:
            return self._report_invalid(
                f"what the handler returned cannot be written as JSON: {error}", envelope
            )

    def _report_failure(self, error: BaseException, envelope: Envelope) -> Answer:
        story = "".join(traceback.format_exception(error))
        log.error("run %s: the agent failed\n%s", envelope.run_id, self._mask_secrets(story, envelope))
        return error_answer(500, self._mask_secrets(f"{type(error).__name__}: {error}", envelope))

    def _report_invalid(self, detail: str, envelope: Envelope) -> Answer:
        masked_detail = self._mask_secrets(detail, envelope)
        log.error("run %s: %s", envelope.run_id, masked_detail)
        return error_answer(500, masked_detail)

    def _mask_secrets(self, text: str, envelope: Envelope) -> str:
        """Remove secrets from an error text: errors are stored and shown."""
        for secret in (envelope.run_token, (self.token or b"").decode()):
            text = text.replace(secret, MASK) if secret else text
        return text


def _is_async(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004  # an object whose __call__ is async
    )


#: A pool of its own: the loop's default pool is small, and an agent may work for minutes.
_handler_executor = LazyThreadPool(MAX_AT_ONCE, "odyssey-agent")
