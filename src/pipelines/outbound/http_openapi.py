"""An HTTP service with an OpenAPI document as a live endpoint: its operations found, and called.

What a call sends is decided in `core.openapi`; the endpoint's auth headers are put on last, here. Redirects
are not followed and no proxy is taken from the environment.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import IO

from httpx2 import URL, InvalidURL

from pipelines.core.openapi.base_url import base_path, base_url_complaint
from pipelines.core.openapi.build_request import OpenapiRequest, build_request
from pipelines.core.openapi.document import MAX_DOCUMENT_BYTES
from pipelines.core.openapi.operation import Operation
from pipelines.core.openapi.read_answer import MAX_ANSWER_BYTES, UnreadableAnswer, read_answer
from pipelines.core.openapi.styles import CannotBuild
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, dumps, loads_own
from pipelines.core.text.problems import Refused
from pipelines.core.tools.live_tools import (
    LONGEST_HOP_S,
    DiscoveredTool,
    Discovery,
    LiveCallFailed,
    LiveReply,
)
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend, Resolver, system_resolver
from pipelines.outbound.dispatch_outcome import ADDRESS_HINTS
from pipelines.outbound.kept_connections import KeptConnections, KeptRequest
from pipelines.outbound.post_once import Answer, NoAnswer, Post, post_once, readable_url
from pipelines.outbound.system_tls import system_tls
from pipelines.processes.aside import aside
from pipelines.processes.pool import HelperProcesses, Input, Job, TookTooMuch

TRANSLATING_S = 60.0  # of processor time: 20 MB of YAML take some 45 s, GitHub's 13 MB of JSON 2 s
MOST_TRANSLATED_BYTES = (
    32 * 1024 * 1024
)  # of all tools together, a dozen times that in memory; GitHub's have 7 MB
READ_ASIDE_BYTES = 64 * 1024  # answers past this are read, and arguments past this written, in a thread
FETCH_S = 60.0  # for a document

_ALWAYS = {
    "Accept-Encoding": "identity",  # no compressed answer, so none that grows while it is read
    "User-Agent": "pipelines-odyssey",
}


def http_openapi_endpoint(
    *,
    config: JsonObject,
    auth_headers: Mapping[str, str],
    policy: AddressPolicy,
    helpers: HelperProcesses,
    org_id: int = 0,
    timeout_s: float = LONGEST_HOP_S,
    resolver: Resolver = system_resolver,
    tls: ssl.SSLContext | None = None,
) -> "HttpOpenapiEndpoint":
    """`config` is `{base_url, spec_url}` or `{base_url, spec}`, the document as JSON or as text."""
    return HttpOpenapiEndpoint(
        config=config,
        auth_headers=auth_headers,
        network=GuardedBackend(policy, resolver),
        tls=tls,
        helpers=helpers,
        org_id=org_id,
        timeout_s=timeout_s,
    )


class HttpOpenapiEndpoint:
    """A LiveEndpoint. Holds connections between calls; `close` ends them."""

    def __init__(
        self,
        *,
        config: JsonObject,
        auth_headers: Mapping[str, str],
        network: GuardedBackend,
        tls: ssl.SSLContext | None,
        helpers: HelperProcesses,
        org_id: int,
        timeout_s: float,
    ) -> None:
        self._config = config
        self._auth_headers = dict(auth_headers)
        self._network = network
        self._tls = system_tls() if tls is None else tls
        self._helpers = helpers
        self._org_id = org_id
        self._timeout_s = timeout_s
        base_url = str(config.get("base_url", ""))
        self._complaint = base_url_complaint(base_url)
        self._base_path = "" if self._complaint else base_path(base_url)
        self._origin = URL("http://localhost" if self._complaint else base_url)
        self._connections = KeptConnections(self._origin, network=network, tls=self._tls)

    async def close(self) -> None:
        await self._connections.close()

    # -- finding tools

    async def discover(self) -> Discovery:
        answer = await self._document()
        try:
            return await translate_document(self._helpers, answer, org_id=self._org_id)
        finally:
            if not isinstance(answer, bytes):
                answer.close()

    async def _document(self) -> Input:
        spec = self._config.get("spec")
        if isinstance(spec, str):
            return spec.encode("utf-8", "surrogatepass")
        return dumps(spec) if spec is not None else await self._fetch(str(self._config.get("spec_url")))

    async def _fetch(self, url: str) -> Input:
        headers = {"Accept": "application/json, application/yaml, */*;q=0.5", "Connection": "close"}
        # A document may stand anywhere; what proves who asks is for the service alone.
        auth = self._auth_headers if self._is_of_service(url) else {}
        post = Post(
            url=url,
            headers=joined_headers(_ALWAYS, headers, auth),
            body=b"",
            timeout_s=FETCH_S,
            most_bytes=MAX_DOCUMENT_BYTES,
            method="GET",
        )
        answer = await post_once(post, network=self._network, tls=self._tls)
        if isinstance(answer, NoAnswer):
            raise self._no_answer(answer, "The OpenAPI document could not be fetched")
        try:
            return _document_of(answer)
        except LiveCallFailed:
            if answer.file is not None:
                answer.file.close()
            raise

    def _is_of_service(self, url: str) -> bool:
        try:
            parts = readable_url(url)
        except InvalidURL:
            return False
        return not self._complaint and _origin_of(parts) == _origin_of(self._origin)

    # -- calling one

    async def call(self, tool: DiscoveredTool, arguments: JsonObject) -> LiveReply:
        if self._complaint:
            raise LiveCallFailed(f"The endpoint's base_url {self._complaint}. Nothing was sent.")
        try:
            request = await _build_request(tool, arguments)
        except CannotBuild as error:
            raise LiveCallFailed(f"The call cannot be made: {error}. Nothing was sent.") from None
        kept_request = KeptRequest(
            method=request.method,
            target=self._base_path + request.target,
            headers=joined_headers(request.headers, _ALWAYS, self._auth_headers),
            body=request.body,
            timeout_s=self._timeout_s,
            most_bytes=MAX_ANSWER_BYTES,
        )
        answer = await self._connections.ask(kept_request)
        if isinstance(answer, NoAnswer):
            raise self._no_answer(answer, "The tool's service did not answer")
        try:
            return await self._reply(answer)
        finally:
            if answer.file is not None:
                answer.file.close()

    async def _reply(self, answer: Answer) -> LiveReply:
        if 300 <= answer.status < 400:
            raise LiveCallFailed(
                f"The tool's service answered {answer.status}, a redirect, which is not followed.",
                notes=("register the base_url at which the service itself answers",),
            )
        try:
            if answer.file is None and len(answer.body) <= READ_ASIDE_BYTES:
                return _read(answer)
            return await aside(self._org_id, _read, answer)
        except UnreadableAnswer as error:
            raise LiveCallFailed(
                f"The tool's service answered {answer.status}, and the answer cannot be used: {error}."
            ) from None

    @staticmethod
    def _no_answer(trouble: NoAnswer, what: str) -> LiveCallFailed:
        hint = ADDRESS_HINTS.get(trouble.trouble)
        reached = {
            "no": "nothing was sent",
            "maybe": "the request may have been carried out",
            "yes": "the request was received",
        }[trouble.reached]
        return LiveCallFailed(f"{what}: {trouble.detail}.", notes=(reached, *((hint,) if hint else ())))


async def _build_request(tool: DiscoveredTool, arguments: JsonObject) -> OpenapiRequest:
    operation = Operation.from_json(tool.call)
    if len(dumps(arguments)) <= READ_ASIDE_BYTES:
        return build_request(operation, arguments)
    return await asyncio.to_thread(build_request, operation, arguments)


def joined_headers(*parts: Mapping[str, str]) -> dict[str, str]:
    """Later ones in place of earlier ones of the same name in any letter case: so what is ours comes last."""
    found = {name.lower(): (name, value) for part in parts for name, value in part.items()}
    return dict(found.values())


async def translate_document(helpers: HelperProcesses, document: Input, *, org_id: int) -> Discovery:
    """The tools of a document, read by a helper process. Raises HopFailed with what is wrong with it."""
    job = Job("openapi_tools", {}, TRANSLATING_S, MOST_TRANSLATED_BYTES)
    try:
        head, *parts = await helpers.run(job, document, owner=org_id)
    except InvalidJson as error:
        raise LiveCallFailed(f"The OpenAPI document cannot be read: {error}.") from None
    except Refused as refused:
        complaints = "; ".join(problem.said() for problem in refused.problems[:5])
        raise LiveCallFailed(f"The OpenAPI document cannot be used: {complaints}.") from None
    except TookTooMuch as error:
        raise LiveCallFailed(f"The OpenAPI document was not read: {error}.") from None
    tools = []
    for part in parts:
        tools.append(DiscoveredTool.from_stored(loads_own(part)))
        await asyncio.sleep(0)  # a thousand tools are many megabytes: others have their turn in between
    return Discovery(tools=tuple(tools), notes=tuple(map(str, _as_list(loads_own(head)))))


def _as_list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


def _document_of(answer: Answer) -> Input:
    if not answer.is_success:
        reason = "a redirect, which is not followed" if 300 <= answer.status < 400 else "and no document"
        raise LiveCallFailed(
            f"The OpenAPI document could not be fetched: the answer was {answer.status}, {reason}."
        )
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise LiveCallFailed("The OpenAPI document came compressed, though that was not asked for.")
    if answer.file is None:
        return answer.body
    if _size(answer.file) > MAX_DOCUMENT_BYTES:
        raise LiveCallFailed(f"The OpenAPI document has more than {MAX_DOCUMENT_BYTES:,} bytes.")
    return answer.file


def _size(file: IO[bytes]) -> int:
    return file.seek(0, 2)


def _read(answer: Answer) -> LiveReply:
    raw = answer.body
    if answer.file is not None:
        answer.file.seek(0)
        raw = answer.file.read()
    return read_answer(answer.status, answer.headers, raw)


def _origin_of(url: URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
