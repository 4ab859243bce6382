"""The form of an agent: fills it from the stored definition, and reads it into a body for the API."""

from dataclasses import replace
from typing import NamedTuple

from fastapi import Request

from pipelines.core.agents.agent_definition import (
    DEFAULT_CONCURRENCY,
    DEFAULT_TIMEOUT_S,
    RESPONSE_CONTRACT,
)
from pipelines.core.models.model_question import Purpose
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
#: Models that its runs ask instead of the server's, by purpose.
MODELS = {f"model_{purpose}": purpose.value for purpose in Purpose}
READING = ("tools_from", "tools_url", "tools_credential")  # only for the button that reads tools
FIELDS = (
    *(*TEXTS, *NUMBERS, *DOCUMENTS, *MODELS, *READING),
    *("mode", "status", "response_contract", SECRET, CODE),
)
#: What the page calls them, for the list of problems.
LABELS = {
    "name": "Name",
    "description": "Description",
    "mode": "How Odyssey reaches the agent",
    "endpoint_url": "Endpoint URL",
    "auth_header_name": "Auth header",
    SECRET: "Auth header value",
    CODE: "agent.py",
    "entrypoint": "Entrypoint",
    "requirements": "Requirements",
    "tools_from": "Read them from",
    "tools_url": "URL of the service",
    "tools_credential": "Credential",
    "tools_schema": "Tools",
    "ledger_schema": "Ledger schema",
    "rules": "Backend rules",
    "response_contract": "Transcript required",
    "model_simulator": "Simulator model",
    "model_judge": "Judge model",
    "model_user": "User model",
    "model_author": "Author model",
    "run_timeout_s": "Run timeout (seconds)",
    "max_concurrency": "Runs at a time",
    "status": "Status",
}
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
    own: dict[str, str] = {"mode": agent.definition.mode, "status": agent.status}
    own["response_contract"] = "yes" if agent.definition.response_contract is not None else ""
    models = agent.definition.config.models
    own |= {field: models.get(Purpose(purpose), "") for field, purpose in MODELS.items()}
    return empty_form() | filled | documents | own


class ReadForm(NamedTuple):
    body: JsonObject  # for the API
    problems: list[Problem]  # of fields that are not JSON or not numbers

    def and_others(self, problems: list[Problem]) -> list[Problem]:
        """These problems, and those that the API found in other fields."""
        own = {problem.path.split("/")[1] for problem in self.problems} | (
            {"status"} if self.problems else set()
        )
        return self.problems + [one for one in problems if one.path[1:].partition("/")[0] not in own]


async def read_agent_form(request: Request, typed: dict[str, str], agent: Agent | None = None) -> ReadForm:
    """`agent` is the one that is changed. If a field cannot be read, the body gets an invalid status, so that
    the API still reports the other problems."""
    is_change = agent is not None
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
    if typed.get("response_contract") == "yes":
        body["response_contract"] = dict(RESPONSE_CONTRACT)
    elif is_change:
        body["response_contract"] = None
    body |= _read_models(typed, agent)
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


def _read_models(typed: dict[str, str], agent: Agent | None) -> JsonObject:
    """The whole `config` with other models; nothing where they are as they were."""
    before = agent.definition.config.as_json() if agent is not None else {}
    models: JsonObject = {
        purpose: text for field, purpose in MODELS.items() if (text := typed.get(field, "").strip())
    }
    if models == before.get("models", {}):
        return {}
    rest = {name: value for name, value in before.items() if name != "models"}
    return {"config": rest | ({"models": models} if models else {})}


def at_form_field(problem: Problem) -> Problem:
    """The problem at the field of the form: a model is a field of its own there."""
    for field, purpose in MODELS.items():
        if problem.path == f"/config/models/{purpose}":
            return replace(problem, path=f"/{field}")
    return problem


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
