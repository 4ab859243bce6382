"""What of a request to a model is let out of a sandbox, and what of the answer is let in.

What comes out of a sandbox chooses nothing but a gateway of its agent, one of the calls that are allowed
there, and a body. Host, key and connection are ours, and of headers only those pass that say how the body is
to be read.
"""

import hmac
import re
from typing import NamedTuple

from pipelines.core.access.key_mask import KeyMask
from pipelines.core.models.model_upstreams import is_plain_path
from pipelines.core.text.authored import quote_names
from pipelines.engine.models.model_access import ModelAccess, OpenedUpstream
from pipelines.outbound.stream_once import ModelRequest, StreamedAnswer
from pipelines.server.proxy.proxy import Scope
from pipelines.wire.names import MODELS_BASE

LONGEST_QUERY = 2_048
#: How the body is to be read. Not whose account it is, nor anything about the connection.
PASSED_ON = frozenset(
    {"accept", "content-type", "anthropic-version", "anthropic-beta", "openai-beta", "idempotency-key"}
)
PASSED_BACK = re.compile(
    r"content-type|retry-after(-ms)?|x-should-retry|(x-)?request-id|openai-(model|version|processing-ms)"
    r"|(x|anthropic)-ratelimit-[a-z-]{1,60}"
)
_OURS = {"user-agent": "pipelines-odyssey", "accept-encoding": "identity"}
_HEADER_VALUE = re.compile(rb"[!-~](?:[ -~]{0,998}[!-~])?")
_QUERY = re.compile(rb"[A-Za-z0-9._~:@!$&'()*+,;=/?%-]*")


class GatewayRefusal(Exception):
    """What the gateway says itself, to whoever asked in a sandbox."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Target(NamedTuple):
    """What a run asked for, and may."""

    access: ModelAccess
    opened: OpenedUpstream
    method: str
    path: str  # behind the base URL
    query: str  # with its question mark


def target_of(scope: Scope, access: ModelAccess | None) -> Target:
    if access is None or access.is_over:
        message = "No run is open here that may ask a model: `model_gateways` of an agent names them."
        raise GatewayRefusal(403, "model_gateway_closed", message)
    if not _has_key(scope, access.key):
        message = "The key of this run is missing or wrong: send what PIPELINES_MODEL_KEY holds."
        raise GatewayRefusal(401, "model_key_wrong", message)
    name, slash, rest = scope["raw_path"].decode("latin-1").removeprefix(f"{MODELS_BASE}/").partition("/")
    opened = access.upstreams.get(name)
    if opened is None:
        has = quote_names(access.upstreams)
        message = f"The agent may use no model gateway `{name[:80]}`; it may use {has} (`model_gateways`)."
        raise GatewayRefusal(404, "model_gateway_unknown", message)
    method, path, query = scope["method"], access.redaction.text(slash + rest), scope["query_string"]
    if not is_plain_path(path) or not opened.upstream.allows(method, path):
        calls = ", ".join(map(str, opened.upstream.allow))
        message = (
            f"{method[:20]} {path[:200]} is not allowed at the model gateway `{name}`; allowed: {calls}."
        )
        raise GatewayRefusal(404, "model_call_not_allowed", message)
    if len(query) > LONGEST_QUERY or _QUERY.fullmatch(query) is None:
        message = "The query is too long, or has characters that no URL has."
        raise GatewayRefusal(400, "model_query_invalid", message)
    asked = f"?{query.decode('ascii')}" if query else ""
    return Target(access, opened, method, path, access.redaction.text(asked))


def _has_key(scope: Scope, key: str) -> bool:
    """Every key that is sent, in whichever header its framework sends one."""
    sent = []
    for name, value in scope["headers"]:
        if name == b"authorization":
            sent.append(value[7:].strip() if value[:7].lower() == b"bearer " else value)
        elif name in (b"x-api-key", b"api-key"):
            sent.append(value)
    return bool(sent) and all(hmac.compare_digest(each, key.encode()) for each in sent)


def request_to(target: Target, scope: Scope, body: bytes) -> ModelRequest:
    hidden = target.access.redaction
    passed = {
        name.decode(): hidden.bytes(value).decode("ascii")
        for name, value in scope["headers"]
        if name.decode("latin-1") in PASSED_ON and _HEADER_VALUE.fullmatch(value)
    }
    upstream, key = target.opened.upstream, target.opened.key
    keyed = {upstream.key_header.lower(): upstream.header_value(key)} if key is not None else {}
    return ModelRequest(
        method=target.method,
        base_url=upstream.base_url,
        target=target.path + target.query,
        headers=tuple((passed | _OURS | keyed).items()),
        body=body,
    )


def check_answer(answer: StreamedAnswer, most_bytes: int) -> None:
    """Of what cannot be passed on nothing is."""
    if 300 <= answer.status < 400:
        message = f"The model answered with a redirect ({answer.status}), which is not followed: the operator"
        raise GatewayRefusal(502, "model_redirected", f"{message} should correct the upstream's base_url.")
    if answer.header("content-encoding").lower() not in ("", "identity"):
        message = "The model's answer is compressed, though that was not asked for: it cannot be passed on."
        raise GatewayRefusal(502, "model_answer_encoded", message)
    length = answer.header("content-length")
    if length.isascii() and length.isdigit() and int(length[:18]) > most_bytes:
        raise too_large_answer(most_bytes)


def too_large_answer(most_bytes: int) -> GatewayRefusal:
    limit = f"{most_bytes / 1024 / 1024:g} MiB (PIPELINES_MODEL_ANSWER_MB)"
    return GatewayRefusal(502, "model_answer_too_large", f"The model's answer is over {limit}.")


def passed_back(answer: StreamedAnswer, mask: KeyMask) -> list[tuple[bytes, bytes]]:
    """A length is told where there is one: a client then notices an answer that breaks off."""
    found = []
    for name, value in answer.headers:
        raw = mask.text(value).encode("latin-1", "replace")
        if PASSED_BACK.fullmatch(name) and _HEADER_VALUE.fullmatch(raw):
            found.append((name.encode(), raw))
    length = answer.header("content-length")
    if length.isascii() and length.isdigit() and not answer.header("transfer-encoding"):
        found.append((b"content-length", length.encode()))
    return found
