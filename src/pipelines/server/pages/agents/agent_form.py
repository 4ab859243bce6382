"""The form of an agent: fills it from the stored definition, and reads it into a body for the API."""

from typing import NamedTuple

from fastapi import Request

from pipelines.core.agents.agent_definition import DEFAULT_CONCURRENCY, DEFAULT_TIMEOUT_S
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.server.pages.form_fields import read_json_text
from pipelines.storage.agents.agents import Agent
from pipelines.web.pretty_json import pretty_json

#: Omitted from the body if empty, so that the API applies its defaults.
TEXTS = ("name", "description", "endpoint_url", "auth_header_name", "entrypoint", "requirements")
NUMBERS = ("run_timeout_s", "max_concurrency")
DOCUMENTS = ("tools_schema", "ledger_schema", "rules")
SECRET = "auth_header_value"
CODE = "code"
UNREADABLE = "unreadable"  # a status that no agent has
FIELDS = (*TEXTS, *NUMBERS, *DOCUMENTS, "mode", "status", SECRET, CODE)
FOR_CODE = ("entrypoint", "requirements", CODE)
FOR_HTTP = ("endpoint_url", "auth_header_name", SECRET)
EXAMPLE_TOOLS = """[
  {
    "name": "get_order",
    "description": "Get an order by its id.",
    "input_schema": {
      "type": "object",
      "properties": {"order_id": {"type": "string"}},
      "required": ["order_id"]
    }
  }
]"""


def empty_form() -> dict[str, str]:
    return dict.fromkeys(FIELDS, "") | {
        "mode": "external_http",
        "status": "published",
        "run_timeout_s": str(DEFAULT_TIMEOUT_S),
        "max_concurrency": str(DEFAULT_CONCURRENCY),
        "tools_schema": EXAMPLE_TOOLS,
    }


def form_of(agent: Agent) -> dict[str, str]:
    """Leaves out the secret, which is never shown, and the code, which is too large for a field."""
    stored = agent.definition.as_stored()
    filled = {
        name: str(stored.get(name) if stored.get(name) is not None else "") for name in (*TEXTS, *NUMBERS)
    }
    documents = {
        name: pretty_json(stored[name]) if stored.get(name) is not None else "" for name in DOCUMENTS
    }
    return empty_form() | filled | documents | {"mode": agent.definition.mode, "status": agent.status}


class ReadForm(NamedTuple):
    body: JsonObject  # for the API
    problems: list[Problem]  # of fields that are not JSON or not numbers

    def and_others(self, problems: list[Problem]) -> list[Problem]:
        """These problems, and those that the API found in other fields."""
        own = {problem.path.split("/")[1] for problem in self.problems} | (
            {"status"} if self.problems else set()
        )
        return self.problems + [one for one in problems if one.path[1:].partition("/")[0] not in own]


async def read_agent_form(request: Request, typed: dict[str, str], *, is_change: bool) -> ReadForm:
    """If a field cannot be read, the body gets an invalid status, so that the API still reports the other
    problems."""
    mode = typed.get("mode") or "external_http"
    body: JsonObject = {"mode": mode, "status": typed.get("status") or "published"}
    problems: list[Problem] = []
    unused = FOR_HTTP if mode == "code" else FOR_CODE
    for name in TEXTS:
        text = typed.get(name, "").strip()
        if text and name not in unused:
            body[name] = text
        elif is_change and name not in unused:
            body[name] = "" if name == "description" else None
    if typed.get(SECRET) and SECRET not in unused:
        body[SECRET] = typed[SECRET]
    if typed.get(CODE, "").strip() and CODE not in unused:
        body[CODE] = {"source": "paste", "text": typed[CODE].replace("\r\n", "\n")}
    for name in NUMBERS:
        _read_number(typed, name, body, problems)
    for name in DOCUMENTS:
        try:
            body |= await _document(request, typed, name, is_change=is_change)
        except Refused as refused:
            problems += refused.problems
    if problems:
        body["status"] = UNREADABLE
    return ReadForm(body, problems)


def _read_number(typed: dict[str, str], name: str, body: JsonObject, problems: list[Problem]) -> None:
    text = typed.get(name, "").strip()
    if not text:
        return
    if text.isascii() and text.isdigit() and len(text) <= 12:
        body[name] = int(text)
    else:
        problems.append(Problem(path=f"/{name}", message="must be a whole number"))


async def _document(request: Request, typed: dict[str, str], name: str, *, is_change: bool) -> JsonObject:
    text = typed.get(name, "").strip()
    empty: Json = [] if name == "tools_schema" else None
    if text:
        return {name: await read_json_text(request, text, f"/{name}")}
    return {name: empty} if is_change else {}
