"""Registering agents from Python, without writing the body of `POST /api/agents` by hand."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .api import Api, Row

PAGE = 500


def create_http_agent(
    *,
    name: str,
    endpoint_url: str,
    tools_schema: Sequence[Mapping[str, Any]],
    auth_header_name: str | None = None,
    auth_header_value: str | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    **fields: Any,
) -> Row:
    """Register an agent that runs behind an HTTP endpoint; returns the stored agent, with its `id`.

        agent = create_http_agent(
            name="Support desk",
            endpoint_url="https://agents.example.com/dispatch",
            tools_schema=[{"name": "get_order", "description": "…", "input_schema": {…}}],
            auth_header_name="Authorization",
            auth_header_value=f"Bearer {os.environ['AGENT_TOKEN']}",
        )

    `fields` are the agent's other ones: description, run_timeout_s, ledger_schema, response_contract, config,
    rules, max_concurrency, variation_delivery, status. Without `api_key` and `base_url` they come from
    PIPELINES_API_KEY (else the file `.pipelines/api-key`) and PIPELINES_URL (else http://127.0.0.1:8420).
    Raises ApiFailed, whose message has every problem that the server found.
    """
    auth = {"auth_header_name": auth_header_name, "auth_header_value": auth_header_value}
    body = {
        "name": name,
        "endpoint_url": endpoint_url,
        "tools_schema": list(tools_schema),
        **{key: value for key, value in auth.items() if value is not None},
        **fields,
    }
    created: Row = Api(api_key=api_key, base_url=base_url).post("/api/agents", body)
    return created


def create_or_update_http_agent(
    *, name: str, api_key: str | None = None, base_url: str | None = None, **fields: Any
) -> Row:
    """As `create_http_agent`, but an agent that has this name gets a new version: for scripts that run often.

    Fields that are not given stay as they are. Where several agents have the name, the newest is changed.
    """
    api = Api(api_key=api_key, base_url=base_url)
    known = find_agent(name, api=api)
    body = {"name": name, **fields}
    stored: Row = (
        api.post("/api/agents", body) if known is None else api.put(f"/api/agents/{known['id']}", body)
    )
    return stored


def create_code_agent(
    *,
    name: str,
    code: str | Mapping[str, Any],
    tools_schema: Sequence[Mapping[str, Any]],
    api_key: str | None = None,
    base_url: str | None = None,
    **fields: Any,
) -> Row:
    """Register an agent as source code that the platform runs itself, in its sandbox.

        create_code_agent(name="Refunds", code=Path("agent.py").read_text(), tools_schema=tools)

    `code` is the text of one file, or an object: `{"source": "files", "files": {"agent.py": "…"}}`,
    `{"source": "git", "url": "https://…", "ref": "main"}`. `fields` are the agent's other ones: entrypoint,
    requirements, secrets, run_timeout_s and so on. The rest is as with `create_http_agent`.
    """
    source = {"source": "paste", "text": code} if isinstance(code, str) else dict(code)
    body = {"name": name, "mode": "code", "code": source, "tools_schema": list(tools_schema), **fields}
    created: Row = Api(api_key=api_key, base_url=base_url).post("/api/agents", body)
    return created


def find_agent(name: str, *, api: Api | None = None) -> Row | None:
    """The newest agent of this name, whole, or None."""
    server = api or Api()
    cursor = ""
    while True:
        page = server.get(f"/api/agents?limit={PAGE}{cursor}")
        for agent in page["items"]:
            if agent["name"] == name:
                found: Row = server.get(f"/api/agents/{agent['id']}")
                return found
        if page["next_cursor"] is None:
            return None
        cursor = f"&cursor={quote(page['next_cursor'], safe='')}"
