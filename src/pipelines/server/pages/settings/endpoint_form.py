"""The form of a tool endpoint: its fields, the body that they make for the API, and problems by field."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.core.endpoints.endpoint_config import CODE, MCP, OPENAPI
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.server.pages.form_fields import problems_by_field

TYPES = (
    (OPENAPI, "an HTTP service with an OpenAPI document"),
    (MCP, "an MCP server at a URL"),
    (CODE, "Python functions"),
)
AUTHS = (("none", "none"), ("bearer", "a bearer token"), ("api_key", "an API key in a header"))
#: What the page calls the fields. They have a prefix, because the page has other forms.
LABELS = {
    "endpoint_name": "Name",
    "endpoint_type": "Type",
    "base_url": "Base URL",
    "spec_url": "URL of the OpenAPI document",
    "spec": "Or the document itself",
    "mcp_url": "URL of the MCP server",
    "source": "Python source",
    "requirements": "Requirements",
    "env_vars": "Credentials as variables",
    "allow_hosts": "Hosts that the functions may reach",
    "auth_type": "Authentication",
    "auth_header": "Header of the API key",
    "auth_credential": "Credential",
}
_LISTS = ("requirements", "env_vars", "allow_hosts")  # one a line
_BY_TYPE = {
    OPENAPI: {"base_url": "base_url", "spec_url": "spec_url", "spec": "spec"},
    MCP: {"mcp_url": "url"},
    CODE: {"source": "source", **{name: name for name in _LISTS}},
}
#: From the paths of the API to the fields of the form.
_FIELDS = {
    "/name": "endpoint_name",
    "/type": "endpoint_type",
    "/config/url": "mcp_url",
    **{f"/config/{name}": name for name in ("base_url", "spec_url", "spec", "source", *_LISTS)},
    "/auth/type": "auth_type",
    "/auth/header": "auth_header",
    "/auth/credential": "auth_credential",
}


def empty_form() -> dict[str, str]:
    return dict.fromkeys(LABELS, "") | {"endpoint_type": OPENAPI, "auth_type": "none"}


def filled_form(typed: Mapping[str, str]) -> dict[str, str]:
    return empty_form() | {name: value for name, value in typed.items() if name in LABELS}


def endpoint_body(form: Mapping[str, str]) -> JsonObject:
    """The body of `POST /api/tool-endpoints`. Fields of another type are left out."""
    type = form["endpoint_type"]
    config: JsonObject = {}
    for field, key in _BY_TYPE.get(type, {}).items():
        text = form[field].replace("\r\n", "\n").strip()
        if text:
            listed: list[Json] = [line.strip() for line in text.splitlines() if line.strip()]
            config[key] = listed if field in _LISTS else text
    auth: JsonObject = {"type": form["auth_type"]}
    if form["auth_type"] != "none":
        auth["credential"] = form["auth_credential"].strip()
    if form["auth_type"] == "api_key" and form["auth_header"].strip():
        auth["header"] = form["auth_header"].strip()
    takes_auth = type != CODE
    body: JsonObject = {"name": form["endpoint_name"].strip(), "type": type, "config": config}
    return body | {"auth": auth} if takes_auth else body


def form_problems(problems: Sequence[Problem]) -> dict[str, Any]:
    """By field; those of no field, such as a missing document, are under ""."""
    moved = [_at_field(problem) for problem in problems]
    return problems_by_field(moved, LABELS)


def _at_field(problem: Problem) -> Problem:
    for path, field in _FIELDS.items():
        if problem.path == path or problem.path.startswith(f"{path}/"):
            rest = problem.path[len(path) :]
            return Problem(path=f"/{field}{rest}", message=problem.message, hint=problem.hint)
    return problem
