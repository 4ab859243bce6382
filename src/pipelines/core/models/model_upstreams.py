"""Parses the operator's list of models that uploaded code may reach.

What is not in the list cannot be asked for. An upstream names a host, and which calls to it are let through:
a key for models mostly opens files, fine-tuning and accounts too, and those are nobody's business in a run.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pipelines.core.code.code_secrets import CREDENTIAL_NAME, NAME_RULE
from pipelines.core.text.authored import Fields, as_object
from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.text.url_host import host_complaint
from pipelines.wire.names import ENV_MODEL_URL
from pipelines.wire.records import Hidden, Record

KINDS = ("openai", "anthropic")
MOST_UPSTREAMS = 100
#: Shorter ones stand in other texts by chance, and could not be kept out of an answer that repeats them.
SHORTEST_KEY, LONGEST_KEY = 8, 4_096
NAME_EXAMPLE = "such as `openai` or `local-llama`: small letters, digits, `-` and `_`, at most 40"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")
_CONNECTION_HEADERS = frozenset(
    {
        *("host", "connection", "content-length", "content-type", "transfer-encoding"),
        *("te", "trailer", "upgrade", "expect"),
    }
)
#: Of a path that every program reads alike: nothing encoded, no `.` or `..`, no empty part.
_SEGMENT = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._~:@-]+"
_PATH = re.compile(rf"(?:/{_SEGMENT})*")
_ALLOWED = re.compile(rf"(GET|POST) ((?:/{_SEGMENT})*(?:/\*)?)")
_ALLOW_EXAMPLE = "such as `POST /chat/completions` or `GET /models/*`, where `*` is one last part of any name"
_FIELDS = ("kind", "base_url", "key_environment", "key_credential", "key_header", "allow")


@dataclass(frozen=True, kw_only=True, slots=True)
class AllowedCall:
    method: str
    path: str  # behind the base URL; `*` as its last part is any one

    def covers(self, method: str, path: str) -> bool:
        if method != self.method:
            return False
        if not self.path.endswith("/*"):
            return path == self.path
        head, _, last = path.rpartition("/")
        return bool(last) and head == self.path[:-2]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _calls(*written: str) -> tuple[AllowedCall, ...]:
    return tuple(AllowedCall(method=method, path=path) for method, path in map(str.split, written))


#: What agents need. Nothing that was stored by others is read by these.
DEFAULT_CALLS: Mapping[str, tuple[AllowedCall, ...]] = {
    "openai": _calls(
        "POST /chat/completions",
        "POST /completions",
        "POST /responses",
        "POST /embeddings",
        "GET /models",
        "GET /models/*",
    ),
    "anthropic": _calls(
        "POST /v1/messages", "POST /v1/messages/count_tokens", "GET /v1/models", "GET /v1/models/*"
    ),
}
_DEFAULT_HEADERS = {"openai": "Authorization", "anthropic": "x-api-key"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelUpstream(Record, component=""):
    """A model."""

    name: str
    kind: str
    #: Authors may not know where it is, nor whose key is sent.
    base_url: Hidden[str]  # without a slash at its end
    key_header: Hidden[str]
    key: Hidden[str | None] = field(default=None, repr=False)  # out of the operator's environment
    key_credential: Hidden[str | None] = None  # or this credential of the org whose run it is
    allow: Hidden[tuple[AllowedCall, ...]]

    @property
    def url_variable(self) -> str:
        return f"{ENV_MODEL_URL}{self.name.upper().replace('-', '_')}"

    def header_value(self, key: str) -> str:
        return f"Bearer {key}" if self.key_header.lower() == "authorization" else key

    def allows(self, method: str, path: str) -> bool:
        return any(call.covers(method, path) for call in self.allow)


def is_plain_path(path: str) -> bool:
    """
    >>> [is_plain_path(path) for path in ("/a/b-1", "/a/../b", "/a//b", "/a%2e", "/a/")]
    [True, False, False, False, False]
    """
    return _PATH.fullmatch(path) is not None


def key_complaint(key: str) -> str | None:
    """Why a key cannot be sent, or kept out of answers; never the key itself."""
    if not key.isascii() or not key.isprintable() or " " in key:
        return "has characters that are not allowed in a key; check for a line break at the end"
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        few = f"has {len(key)} characters; keys have from {SHORTEST_KEY} to {LONGEST_KEY:,}"
        return f"{few}; for an upstream without a key remove this field"
    return None


def read_upstreams(
    body: Json, *, environment: Mapping[str, str], problems: list[Problem]
) -> tuple[ModelUpstream, ...]:
    """The upstreams of `{name: {kind, base_url, …}}`, and what is wrong with it added to `problems`."""
    entries = as_object(body, "", problems, "the list of models")
    if entries is None:
        return ()
    if len(entries) > MOST_UPSTREAMS:
        problems.append(Problem(path="", message=f"the list has over {MOST_UPSTREAMS} upstreams"))
        return ()
    found: list[ModelUpstream] = []
    variables: dict[str, str] = {}
    for name, entry in entries.items():
        upstream = _read_upstream(name, entry, environment, problems)
        if upstream is None:
            continue
        other = variables.setdefault(upstream.url_variable, name)
        if other != name:
            message = f"`{name}` and `{other}` would share the variable {upstream.url_variable}"
            problems.append(Problem(path=pointer([name]), message=message, hint="rename one of them"))
        found.append(upstream)
    return tuple(found)


def _read_upstream(
    name: str, entry: Json, environment: Mapping[str, str], problems: list[Problem]
) -> ModelUpstream | None:
    path = pointer([name])
    if _NAME.fullmatch(name) is None:
        message = f"`{name[:80]}` is not a valid upstream name"
        problems.append(Problem(path=path, message=message, hint=NAME_EXAMPLE))
        return None
    body = as_object(entry, path, problems, f"the upstream `{name}`")
    if body is None:
        return None
    fields = Fields(body, path, problems, subject=f"upstream `{name}`: ")
    fields.refuse_unknown(_FIELDS)
    fields.require("kind", "`openai` for everything that speaks its API: vLLM, Ollama, llama.cpp, …")
    kind = fields.choice("kind", KINDS) or KINDS[0]
    upstream = ModelUpstream(
        name=name,
        kind=kind,
        base_url=_read_base_url(fields),
        key_header=_read_key_header(fields) or _DEFAULT_HEADERS[kind],
        key=_read_key(fields, environment),
        key_credential=_read_credential(fields),
        allow=_read_allow(fields) or DEFAULT_CALLS[kind],
    )
    if fields.has("key_environment") and fields.has("key_credential"):
        fields.refuse("key_credential", "give `key_environment` or `key_credential`, not both")
    if fields.has("key_header") and not (fields.has("key_environment") or fields.has("key_credential")):
        fields.refuse("key_header", "there is no key to send: add `key_environment` or `key_credential`")
    return upstream


def _read_base_url(fields: Fields) -> str:
    key, example = "base_url", "such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1"
    fields.require(key, example)
    url = fields.text(key, longest=2_048)
    if url is None:
        return ""
    complaint = _url_complaint(url)
    if complaint is not None:
        fields.refuse(key, f"`{key}` {complaint}", example)
    return url.rstrip("/")


def _url_complaint(url: str) -> str | None:
    if not url.isascii() or not url.isprintable() or " " in url:
        return "has characters that are not allowed in a URL"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in ("http", "https"):
        return "must start with http:// or https://"
    if parts.username is not None or parts.password is not None:
        return "contains credentials; use `key_environment` or `key_credential` instead"
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "must end with its path, without `?` and `#`"
    if not is_plain_path(parts.path.rstrip("/")):
        return "has a path with empty, encoded or relative parts"
    return host_complaint(parts)


def _read_key(fields: Fields, environment: Mapping[str, str]) -> str | None:
    """Complaints never repeat the value."""
    name = fields.text("key_environment")
    if name is None:
        return None
    value = environment.get(name, "")
    if not value.strip():
        message = f"the environment variable `{name[:80]}` is not set for the server"
        fields.refuse("key_environment", message, "give the name of a variable, never the key itself")
    elif (complaint := key_complaint(value)) is not None:
        fields.refuse("key_environment", f"the value of `{name[:80]}` {complaint}")
    return value


def _read_credential(fields: Fields) -> str | None:
    name = fields.text("key_credential")
    if name is not None and CREDENTIAL_NAME.fullmatch(name) is None:
        fields.refuse("key_credential", f"`{name[:80]}` is not a valid credential name: {NAME_RULE}")
    return name


def _read_key_header(fields: Fields) -> str | None:
    name = fields.text("key_header")
    if name is None:
        return None
    example = "such as Authorization, x-api-key or api-key"
    if _HEADER_NAME.fullmatch(name) is None:
        fields.refuse("key_header", f"`{name[:80]}` is not a valid HTTP header name", example)
    elif name.lower() in _CONNECTION_HEADERS or name.lower().startswith("proxy-"):
        fields.refuse("key_header", f"the header `{name}` belongs to the connection", example)
    return name


def _read_allow(fields: Fields) -> tuple[AllowedCall, ...]:
    calls = []
    for index, written in enumerate(fields.texts("allow")):
        match = _ALLOWED.fullmatch(written)
        if match is None or not match[2]:
            path = fields.at("allow") + pointer([index])
            message = f"{fields.subject}`{written[:80]}` is not a call that can be allowed"
            fields.problems.append(Problem(path=path, message=message, hint=_ALLOW_EXAMPLE))
        else:
            calls.append(AllowedCall(method=match[1], path=match[2]))
    return tuple(calls)
