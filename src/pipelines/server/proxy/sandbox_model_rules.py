"""Rules for model requests that leave a sandbox, and for the answers that enter it.

The code in the sandbox chooses only a gateway of its agent, one of the allowed calls, and the body. The
server sets host, key and connection. Only headers that describe the body are passed on.
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
#: Headers that describe the body; none about the account or the connection.
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
    """An error of the gateway itself, sent into the sandbox."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Target(NamedTuple):
    """The allowed target of a run's request."""

    access: ModelAccess
    opened: OpenedUpstream
    method: str
    path: str  # behind the base URL
    query: str  # with its question mark


def target_of(scope: Scope, access: ModelAccess | None) -> Target:
    if access is None or access.is_over:
        message = "This run may not ask a model. List the allowed gateways in `model_gateways` of the agent."
        raise GatewayRefusal(403, "model_gateway_closed", message)
    if not _has_key(scope, access.key):
        message = "The key of this run is missing or wrong. Send the value of PIPELINES_MODEL_KEY."
        raise GatewayRefusal(401, "model_key_wrong", message)
    name, slash, rest = scope["raw_path"].decode("latin-1").removeprefix(f"{MODELS_BASE}/").partition("/")
    opened = access.upstreams.get(name)
    if opened is None:
        has = quote_names(access.upstreams)
        message = (
            f"The agent may not use the model gateway `{name[:80]}`. It may use {has} (`model_gateways`)."
        )
        raise GatewayRefusal(404, "model_gateway_unknown", message)
    method, path, query = scope["method"], access.redaction.text(slash + rest), scope["query_string"]
    if not is_plain_path(path) or not opened.upstream.allows(method, path):
        calls = ", ".join(map(str, opened.upstream.allow))
        message = f"The model gateway `{name}` does not allow {method[:20]} {path[:200]}. It allows {calls}."
        raise GatewayRefusal(404, "model_call_not_allowed", message)
    if len(query) > LONGEST_QUERY or _QUERY.fullmatch(query) is None:
        message = "The query is too long, or contains characters that are not valid in a URL."
        raise GatewayRefusal(400, "model_query_invalid", message)
    query_text = f"?{query.decode('ascii')}" if query else ""
    return Target(access, opened, method, path, access.redaction.text(query_text))


def _has_key(scope: Scope, key: str) -> bool:
    """Whether the request sends the run's key, in any of the usual headers."""
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
    """Raises GatewayRefusal if the answer cannot be passed on."""
    if 300 <= answer.status < 400:
        message = f"The model answered with a redirect ({answer.status}), which is not followed. The operator"
        raise GatewayRefusal(502, "model_redirected", f"{message} should correct the upstream's base_url.")
    if answer.header("content-encoding").lower() not in ("", "identity"):
        message = (
            "The model's answer is compressed, although the request did not"
            " ask for compression. It cannot be passed on."
        )
        raise GatewayRefusal(502, "model_answer_encoded", message)
    length = answer.header("content-length")
    if length.isascii() and length.isdigit() and int(length[:18]) > most_bytes:
        raise too_large_answer(most_bytes)


def too_large_answer(most_bytes: int) -> GatewayRefusal:
    limit = f"{most_bytes / 1024 / 1024:g} MiB (PIPELINES_MODEL_ANSWER_MB)"
    return GatewayRefusal(502, "model_answer_too_large", f"The model's answer is over {limit}.")


def passed_back(answer: StreamedAnswer, mask: KeyMask) -> list[tuple[bytes, bytes]]:
    """The response headers. They keep the length if there is one, so that a client notices a truncated
    answer."""
    found = []
    for name, value in answer.headers:
        raw = mask.text(value).encode("latin-1", "replace")
        if PASSED_BACK.fullmatch(name) and _HEADER_VALUE.fullmatch(raw):
            found.append((name.encode(), raw))
    length = answer.header("content-length")
    if length.isascii() and length.isdigit() and not answer.header("transfer-encoding"):
        found.append((b"content-length", length.encode()))
    return found
