"""Parses tool endpoints: a name, a type, the config of that type, and how to authenticate.

All problems are collected. Whether credentials exist is for whoever knows the org (`credentials` lists
them with their places); whether anybody answers at an address is found out when it is asked.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.core.endpoints.credential_reference import CredentialReference, read_credential
from pipelines.core.endpoints.endpoint_code import CODE_FIELDS, read_code_config, read_env_vars
from pipelines.core.openapi.base_url import base_url_complaint
from pipelines.core.text.authored import Fields, as_object
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem
from pipelines.core.text.web_address import LONGEST_URL, header_complaint, url_complaint
from pipelines.core.tools.passthrough_binding import ENDPOINT_TYPES

NAME_RULE = r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,127}$"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{0,127}")
MAX_SPEC_BYTES = 20 * 1024 * 1024
MOST_ARGS = 100
DEFAULT_HEADER = "X-API-Key"

OPENAPI, MCP, CODE = "http_openapi", "mcp_server", "code"
_FIELDS_BY_TYPE = {
    OPENAPI: ("base_url", "spec_url", "spec"),
    MCP: ("url", "command", "args", "env_vars"),
    CODE: CODE_FIELDS,
}
CONFIG_FIELDS = tuple(dict.fromkeys(name for names in _FIELDS_BY_TYPE.values() for name in names))
#: What of a config can be large. It is kept apart, since a call does not need a spec.
LARGE_FIELDS = ("spec", "source", "files", "zip")
_AUTH_FIELDS = {"none": (), "api_key": ("header", "credential"), "bearer": ("credential",)}


class SplitConfig(NamedTuple):
    small: JsonObject
    large: JsonObject  # empty where nothing is


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointDefinition:
    name: str
    type: str
    config: JsonObject = field(repr=False)  # in its normal form, whole
    auth: JsonObject | None = None  # None: nothing is sent
    credentials: tuple[CredentialReference, ...] = ()

    def split_config(self) -> SplitConfig:
        large = {name: value for name, value in self.config.items() if name in LARGE_FIELDS}
        return SplitConfig({key: value for key, value in self.config.items() if key not in large}, large)


def read_endpoint(body: JsonObject) -> tuple[EndpointDefinition | None, list[Problem]]:
    """The endpoint as far as it can be read, and all that is wrong with it.

    The config's fields may stand beside `name` and `type` instead of inside `config`.
    """
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    name = _read_name(fields)
    fields.require("type", "one of " + ", ".join(ENDPOINT_TYPES))
    type = fields.choice("type", ENDPOINT_TYPES)
    config_fields = _config_fields(fields, type)
    if type is None or config_fields is None:
        return None, problems
    references: list[CredentialReference] = []
    config = _READERS[type](config_fields, references)
    auth = _read_auth(fields, references, takes_auth=type == OPENAPI or "url" in config)
    if name is None:
        return None, problems
    definition = EndpointDefinition(
        name=name, type=type, config=config, auth=auth, credentials=tuple(references)
    )
    return definition, problems


def _read_name(fields: Fields) -> str | None:
    fields.require("name", "unique in your org; agents name it as `endpoint_name`")
    name = fields.text("name")
    if name is not None and _NAME.fullmatch(name) is None:
        hint = "a letter or digit, then up to 127 letters, digits, `.`, `_` or `-`, such as orders-api"
        fields.refuse("name", f"the name does not match {NAME_RULE}", hint)
    return name


def _config_fields(fields: Fields, type: str | None) -> Fields | None:
    """Where the fields of the config are: under `config`, or at the top."""
    known = _FIELDS_BY_TYPE[type] if type is not None else CONFIG_FIELDS
    if "config" not in fields.body:
        # Of a type that is not known nothing more can be said than what no type has.
        fields.refuse_unknown(("name", "type", "auth", *known))
        rest = {key: value for key, value in fields.body.items() if key in known}
        return Fields(rest, "", fields.problems)
    fields.refuse_unknown(("name", "type", "auth", "config"))
    body = as_object(fields.get("config"), fields.at("config"), fields.problems, "`config`")
    if body is None:
        return None
    config = Fields(body, fields.at("config"), fields.problems)
    config.refuse_unknown(known)
    return config


def _read_openapi(fields: Fields, wanted: list[CredentialReference]) -> JsonObject:
    fields.require("base_url", "where the service answers, such as https://api.example.com/v2")
    config: JsonObject = {"base_url": _read_url(fields, "base_url", is_base=True)}
    if fields.has("spec_url") == fields.has("spec"):
        wrong = "gives both `spec_url` and `spec`" if fields.has("spec") else "gives no OpenAPI document"
        hint = "give `spec_url`, the URL of the document, or `spec`, the document as text or JSON"
        fields.problems.append(Problem(path=fields.path, message=f"the config {wrong}", hint=hint))
    if fields.has("spec_url"):
        config["spec_url"] = _read_url(fields, "spec_url")
    if fields.has("spec"):
        config["spec"] = _read_spec(fields)
    return config


def _read_spec(fields: Fields) -> str:
    """As text, however it was sent: how it is read is for whoever translates it."""
    spec = fields.get("spec")
    text = dumps(spec).decode() if isinstance(spec, dict) else fields.text("spec")
    if text is None:
        return ""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_SPEC_BYTES:
        most = MAX_SPEC_BYTES >> 20
        fields.refuse("spec", f"`spec` has {size / (1 << 20):.1f} MiB; at most {most} MiB are allowed")
    return text


def _read_mcp(fields: Fields, wanted: list[CredentialReference]) -> JsonObject:
    if fields.has("url") == fields.has("command"):
        wrong = "gives both `url` and `command`" if fields.has("url") else "gives neither `url` nor `command`"
        hint = "give `url` of a running server (streamable HTTP), or the `command` that starts one over stdio"
        fields.problems.append(Problem(path=fields.path, message=f"the config {wrong}", hint=hint))
    if fields.has("url"):
        for key in ("args", "env_vars"):
            if fields.has(key):
                fields.refuse(key, f"`{key}` is for `command`, not for `url`", "use `auth` for a secret")
        return {"url": _read_url(fields, "url")}
    args = fields.texts("args")
    if len(args) > MOST_ARGS:
        fields.refuse("args", f"`args` has {len(args)} entries; at most {MOST_ARGS} are allowed")
    command = fields.text("command", longest=LONGEST_URL)
    return {"command": command, "args": [*args], "env_vars": read_env_vars(fields, wanted)}


def _read_url(fields: Fields, key: str, *, is_base: bool = False) -> str | None:
    url = fields.text(key, longest=LONGEST_URL)
    if url is None:
        return None
    complaint = url_complaint(url) or (base_url_complaint(url) if is_base else None)
    if complaint is None and "#" in url:
        complaint = "has a fragment (#), which is never sent"
    if complaint is not None:
        fields.refuse(key, f"`{key}` {complaint}", "such as https://api.example.com/v2")
    return url


def _read_auth(fields: Fields, wanted: list[CredentialReference], *, takes_auth: bool) -> JsonObject | None:
    if not fields.has("auth"):
        return None
    value = fields.get("auth")
    # "none" alone is the contract's own spelling.
    whole: Json = {"type": value} if isinstance(value, str) else value
    body = as_object(whole, fields.at("auth"), fields.problems, "`auth`")
    if body is None:
        return None
    auth = Fields(body, fields.at("auth"), fields.problems)
    auth.require("type", "none, api_key or bearer")
    type = auth.choice("type", tuple(_AUTH_FIELDS))
    if type is None:
        return None
    auth.refuse_unknown(("type", *_AUTH_FIELDS[type]))
    if type == "none":
        return None
    if not takes_auth:
        fields.refuse("auth", "`auth` is for endpoints with a URL", "pass credentials as `env_vars` instead")
        return None
    credential = read_credential(auth, "credential", wanted)
    if type == "bearer":
        return {"type": type, "credential": credential}
    return {"type": type, "header": _read_header(auth), "credential": credential}


def _read_header(auth: Fields) -> str:
    name = auth.text("header") or DEFAULT_HEADER
    complaint = header_complaint(name)
    if complaint is not None:
        auth.refuse("header", complaint, "such as X-API-Key")
    return name


_READERS = {OPENAPI: _read_openapi, MCP: _read_mcp, CODE: read_code_config}
