"""The way to an agent: dispatch a run to it, or ping it. What the agent does comes back as a value."""

import ssl
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import urlsplit

import httpcore2

from pipelines.core.agents.agent_reply import AgentReply, BadReply, parse_agent_reply
from pipelines.core.agents.reply_limits import MAX_REPLY_BYTES
from pipelines.core.agents.reply_text import reply_from_text
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.tools.live_tools import LiveCallFailed
from pipelines.outbound.address_guard import (
    AddressPolicy,
    AddressRefused,
    GuardedBackend,
    Resolver,
    system_resolver,
)
from pipelines.outbound.dispatch_outcome import (
    Dispatched,
    DispatchFailed,
    Outcome,
    encoding_complaint,
    outcome_of,
)
from pipelines.outbound.ping import PING_TIMEOUT_S, PingResult, judge_ping
from pipelines.outbound.post_once import Answer, NoAnswer, Post, post_once
from pipelines.outbound.system_tls import system_tls
from pipelines.processes.pool import HelperProcesses, Input, Job, TookTooMuch
from pipelines.wire.envelope import PING_BODY, Envelope, ErrorClass

__all__ = ["AgentClient", "AgentTarget", "DispatchFailed", "Dispatched", "Outcome", "PingResult"]

READ_ASIDE_BYTES = 256 * 1024  # replies past this are read by a helper process; less takes milliseconds
READING_S = 10.0  # of a reply by a helper process; 8 MiB made to be hard to read take three

MOST_FETCHED = 512 * 1024  # bytes of a document that is fetched for a form
_ALWAYS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # no compressed answer, so none that grows while it is read
    "Connection": "close",
    "User-Agent": "pipelines-odyssey",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentTarget:
    """Where and how an agent is reached."""

    endpoint_url: str
    auth_header_name: str | None = None
    auth_header_value: str | None = field(default=None, repr=False)  # secret
    timeout_s: float = 300.0  # for the whole dispatch, not for each read
    response_contract: JsonObject | None = None
    org_id: int = 0  # whose it is: orgs take turns where replies are large

    def auth_header(self) -> dict[str, str]:
        if not self.auth_header_name or self.auth_header_value is None:
            return {}
        return {self.auth_header_name: self.auth_header_value}

    def secrets(self) -> list[str]:
        """What must not be quoted: the header's value, and the token in `Bearer <token>` by itself."""
        value = self.auth_header_value or ""
        return [value, value.partition(" ")[2].strip()]


class AgentClient:
    """Holds no connections and nothing of any call, so one serves all runs and needs no closing."""

    def __init__(
        self,
        policy: AddressPolicy,
        helpers: HelperProcesses | None = None,
        *,
        resolver: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._network = GuardedBackend(policy, resolver)
        self._helpers = helpers or HelperProcesses()
        self._tls = system_tls() if tls is None else tls
        self._tls.set_alpn_protocols(["http/1.1"])

    async def refusal(self, endpoint_url: str) -> AddressRefused | None:
        """Why the policy is against an endpoint, for when it is registered. A name not known yet may pass."""
        parts = urlsplit(endpoint_url)
        try:
            await self._network.allowed_addresses(parts.hostname or "", parts.port or 0)
        except AddressRefused as refused:
            return refused
        except httpcore2.ConnectError:
            pass
        return None

    async def dispatch(self, target: AgentTarget, envelope: Envelope) -> Outcome:
        """Send one dispatch, once."""
        if complaint := _proxy_complaint(envelope.odyssey_proxy_url):
            return DispatchFailed(
                error_class=ErrorClass.PROXY_MISCONFIGURED,
                detail=f"the proxy URL {complaint}",
                reached="no",
                hint="set PIPELINES_PUBLIC_URL to the base URL at which agents reach this server",
            )
        answer, latency_ms = await self._post(
            target, dumps(envelope.body()), envelope.headers(), target.timeout_s
        )
        try:
            return outcome_of(
                answer,
                reply=await self._reply(answer, target.org_id),
                contract=target.response_contract,
                secrets=[*target.secrets(), envelope.run_token],
                latency_ms=latency_ms,
            )
        finally:
            _close(answer)

    async def _reply(self, answer: Answer | NoAnswer, org_id: int) -> AgentReply | BadReply | None:
        """What a success says; None where there is none."""
        if isinstance(answer, NoAnswer) or not answer.is_success:
            return None
        return encoding_complaint(answer) or await read_reply(
            self._helpers, answer.file or answer.body, answer.headers.get("content-type"), owner=org_id
        )

    async def ping(self, target: AgentTarget) -> PingResult:
        """Whether the agent is there and takes our auth header; no run begins."""
        answer, latency_ms = await self._post(
            target,
            dumps(dict(PING_BODY)),
            {"Content-Type": "application/json"},
            min(PING_TIMEOUT_S, target.timeout_s),
        )
        _close(answer)
        return judge_ping(
            answer,
            latency_ms=latency_ms,
            has_auth_header=bool(target.auth_header()),
            secrets=target.secrets(),
        )

    async def fetch(self, target: AgentTarget) -> bytes:
        """A small document at a URL, without a redirect. Raises LiveCallFailed."""
        post = Post(
            url=target.endpoint_url,
            headers=_joined(_ALWAYS, {"Accept": "application/json"}, target.auth_header()),
            body=b"",
            timeout_s=PING_TIMEOUT_S,
            most_bytes=MOST_FETCHED,
            method="GET",
        )
        answer = await post_once(post, network=self._network, tls=self._tls)
        try:
            return _fetched(answer)
        finally:
            _close(answer)

    async def _post(
        self, target: AgentTarget, body: bytes, headers: dict[str, str], timeout_s: float
    ) -> tuple[Answer | NoAnswer, float]:
        post = Post(
            url=target.endpoint_url,
            headers=_joined(_ALWAYS, headers, target.auth_header()),
            body=body,
            timeout_s=timeout_s,
            most_bytes=MAX_REPLY_BYTES,
        )
        started = perf_counter()
        answer = await post_once(post, network=self._network, tls=self._tls)
        return answer, round((perf_counter() - started) * 1000, 3)


def _fetched(answer: Answer | NoAnswer) -> bytes:
    if isinstance(answer, NoAnswer):
        raise LiveCallFailed(f"the URL could not be read: {answer.detail}")
    if not answer.is_success:
        told = "a redirect, which is not followed" if 300 <= answer.status < 400 else "and no document"
        raise LiveCallFailed(f"the URL could not be read: the answer was {answer.status}, {told}")
    body = answer.body
    if answer.file is not None:
        answer.file.seek(0)
        body = answer.file.read(MOST_FETCHED + 1)
    if len(body) > MOST_FETCHED:
        raise LiveCallFailed(f"the answer has more than {MOST_FETCHED:,} bytes")
    return body


def _close(answer: Answer | NoAnswer) -> None:
    if isinstance(answer, Answer) and answer.file is not None:
        answer.file.close()


async def read_reply(
    helpers: HelperProcesses, raw: Input, content_type: str | None, *, owner: int
) -> AgentReply | BadReply:
    """Eight megabytes made to be hard to read take seconds, in which nobody else would be served."""
    if isinstance(raw, bytes) and len(raw) <= READ_ASIDE_BYTES:
        return parse_agent_reply(raw, content_type)
    job = Job("agent_reply", {"content_type": content_type}, READING_S, 4 * MAX_REPLY_BYTES)
    try:
        (text,) = await helpers.run(job, raw, owner=owner)
    except TookTooMuch as error:
        return BadReply(detail=f"the reply was not read: {error}", hint="send fewer or shorter messages")
    return reply_from_text(text)


def _joined(*parts: dict[str, str]) -> dict[str, str]:
    """All headers, later ones in place of earlier ones of the same name in any letter case."""
    joined = {name.lower(): (name, value) for part in parts for name, value in part.items()}
    return dict(joined.values())


def _proxy_complaint(url: str) -> str | None:
    if not url.isascii() or not url.isprintable() or " " in url:
        return "has characters that no URL has"
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        return f"is not a URL: {error}"
    return None if is_usable else "must start with http:// or https:// and name a host"
