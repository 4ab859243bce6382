"""What becomes of a POST to an agent: refused, a ping answered, or a dispatch read, handled and answered.

One order for all forms (routes.py): who is it, is it a ping, is it a dispatch, then the agent. No I/O here:
the forms read requests and write answers.
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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..wire.envelope import BadEnvelope, Envelope
from .context import set_current

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

log = logging.getLogger(__name__)
MAX_BODY_BYTES = 16 * 1024 * 1024  # a long conversation is sent whole with each of its turns
MAX_AT_ONCE = 64  # sync handlers under way in an async server; each has a thread
HIDDEN = "[hidden]"

#: What an agent says at the end: its final response, or that with `messages` and `metadata`.
Response: TypeAlias = str | Mapping[str, Any]
Handler: TypeAlias = Callable[[Envelope], Response | Awaitable[Response]]


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def refused(status: int, detail: str, *headers: tuple[str, str]) -> Answer:
    return Answer(status, json.dumps({"detail": detail}).encode(), headers)


NOT_HERE = refused(404, "dispatches are taken at another path")
NOT_POST = refused(405, "a dispatch is a POST", ("Allow", "POST"))
TOO_LARGE = refused(413, "the body is too large for a dispatch")
_NOT_AUTHORIZED = refused(401, "missing or invalid bearer token", ("WWW-Authenticate", "Bearer"))
_PONG = Answer(200, b'{"ok": true}')


def token_of(agent_token_env: str | None) -> bytes | None:
    """The token that callers must send; None for an agent that asks for none."""
    if agent_token_env is None:
        return None
    token = os.environ.get(agent_token_env, "").strip()
    if not token:
        raise RuntimeError(
            f"{agent_token_env} is not set: without a token anybody who reaches this agent could run it. Set"
            f" it (export {agent_token_env}=$(python -c 'import secrets; print(secrets.token_urlsafe(32))'))"
            f" and register the agent with the auth header Authorization: Bearer <the token>. For an agent"
            f" that only this machine can reach, pass agent_token_env=None."
        )
    return token.encode()


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Takes the dispatches of one agent."""

    handler: Handler
    token: bytes | None
    max_body_bytes: int = MAX_BODY_BYTES

    def refusal_of(self, authorization: bytes | None) -> Answer | None:
        """Comes first, before the body is even read: a ping with a wrong token must not look well."""
        if self.token is None:
            return None
        scheme, _, given = (authorization or b"").partition(b" ")
        is_right = compare_digest(given.strip(), self.token)
        return None if is_right and scheme.lower() == b"bearer" else _NOT_AUTHORIZED

    def read(self, body: bytes, headers: Mapping[str, str]) -> Envelope | Answer:
        """The dispatch, or what to answer instead: to a ping, or to something that is no dispatch."""
        try:
            content = json.loads(body)
        except (ValueError, RecursionError) as error:
            return refused(400, f"the body is not JSON: {error}")
        if not isinstance(content, dict):
            return refused(400, "the body is not a JSON object")
        if content.keys() == {"ping"} and content["ping"] is True:
            return _PONG
        try:
            return Envelope.from_request(content, headers)
        except BadEnvelope as error:
            return refused(400, str(error))

    def handle(self, envelope: Envelope) -> Answer:
        """The agent's answer, its envelope bound meanwhile. An async agent runs on a loop that lasts."""
        with set_current(envelope):
            made = self._made(envelope)
            if isinstance(made, Answer):
                return made
            from .one_loop import run_on_one_loop  # brings asyncio, which takes long to load

            return run_on_one_loop(lambda: self._awaited(made, envelope))

    async def async_handle(self, envelope: Envelope) -> Answer:
        """The same in a running loop; a handler that is not async works in a thread, with this context."""
        import asyncio

        with set_current(envelope):
            if _is_async(self.handler):
                made = self._made(envelope)
            else:
                loop = asyncio.get_running_loop()
                made = await loop.run_in_executor(_threads(), copy_context().run, self._made, envelope)
            return made if isinstance(made, Answer) else await self._awaited(made, envelope)

    def _made(self, envelope: Envelope) -> Answer | Awaitable[Response]:
        try:
            result = self.handler(envelope)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # an agent that breaks must not take the server with it
            return self._broken(error, envelope)
        return result if isinstance(result, Awaitable) else self._answer(result, envelope)

    async def _awaited(self, made: Awaitable[Response], envelope: Envelope) -> Answer:
        try:
            result = await made
        except (Exception, SystemExit) as error:  # noqa: BLE001  # as above
            return self._broken(error, envelope)
        return self._answer(result, envelope)

    def _answer(self, result: Any, envelope: Envelope) -> Answer:
        whole = {"final_response": result} if isinstance(result, str) else result
        if not isinstance(whole, Mapping):
            kind = type(result).__name__
            return self._told(
                f"the handler returned {kind}: return a string, or {{final_response, …}}", envelope
            )
        final_response = whole.get("final_response")
        if not isinstance(final_response, str) or not final_response.strip():
            return self._told("the agent gave no final_response: it must be a non-empty string", envelope)
        try:
            return Answer(200, json.dumps(dict(whole), allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError) as error:
            return self._told(f"what the handler returned cannot be written as JSON: {error}", envelope)

    def _broken(self, error: BaseException, envelope: Envelope) -> Answer:
        story = "".join(traceback.format_exception(error))
        log.error("run %s: the agent failed\n%s", envelope.run_id, self._hidden(story, envelope))
        return refused(500, self._hidden(f"{type(error).__name__}: {error}", envelope))

    def _told(self, detail: str, envelope: Envelope) -> Answer:
        shown = self._hidden(detail, envelope)
        log.error("run %s: %s", envelope.run_id, shown)
        return refused(500, shown)

    def _hidden(self, text: str, envelope: Envelope) -> str:
        """Errors are stored and shown: secrets that an agent put into one are taken out."""
        for secret in (envelope.run_token, (self.token or b"").decode()):
            text = text.replace(secret, HIDDEN) if secret else text
        return text


def _is_async(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004  # an object whose __call__ is async
    )


_executor: "list[ThreadPoolExecutor]" = []
if hasattr(os, "register_at_fork"):  # a fork takes the executor along, but not its threads
    os.register_at_fork(after_in_child=_executor.clear)


def _threads() -> "ThreadPoolExecutor":
    """The loop's default ones are few (six on two cores), and an agent works for minutes."""
    if not _executor:
        from concurrent.futures import ThreadPoolExecutor

        _executor.append(ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="odyssey-agent"))
    return _executor[0]
